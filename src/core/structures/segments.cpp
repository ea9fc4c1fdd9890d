#include "segments.hpp"

#include "aligned.hpp"
#include "semiring.hpp"
#include "stop.hpp"

#include <algorithm>
#include <cmath>

namespace chaffinch::structures {

namespace {

// The recursions over any semiring whose numbers are logarithms.
template <class Ring> class SegmentProgramme {
  public:
    SegmentProgramme(const SegmentScores& x) : x_(x), S_(machine::padded(x.Y)) {
        in.assign((x.T + 1) * S_, Ring::zero);
        alpha.assign((x.T + 1) * S_, Ring::zero);
        out.assign((x.T + 1) * S_, Ring::zero);
        beta.assign((x.T + 1) * S_, Ring::zero);
        pair_.assign(x.Y * S_, Ring::zero);
        turned_.assign(x.Y * S_, Ring::zero);
        for (std::int64_t a = 0; a < x.Y; ++a)
            for (std::int64_t b = 0; b < x.Y; ++b) pair_[a * S_ + b] = turned_[b * S_ + a] = x.pair[a * x.Y + b];
    }

    std::int64_t stride() const { return S_; }
    double score(std::int64_t t, std::int64_t l, std::int64_t y) const {
        return x_.segment[(t * x_.L + l - 1) * x_.Y + y];
    }

    void forward() {
        std::copy(x_.start.begin(), x_.start.end(), in.begin());
        for (std::int64_t e = 1; e <= x_.T; ++e) {
            machine::check_stop();
            double* here = &alpha[e * S_];
            for (std::int64_t l = 1; l <= std::min(x_.L, e); ++l)
                for (std::int64_t y = 0; y < x_.Y; ++y)
                    here[y] = Ring::plus(here[y], Ring::times(in[(e - l) * S_ + y], score(e - l, l, y)));
            ring_.absorb(Sources<double>{x_.Y, here, 1, pair_.data(), S_}, &in[e * S_], S_);
        }
    }

    void backward() {
        std::copy(x_.end.begin(), x_.end.end(), beta.begin() + x_.T * S_);
        for (std::int64_t s = x_.T - 1; s >= 0; --s) {
            machine::check_stop();
            double* here = &out[s * S_];
            for (std::int64_t l = 1; l <= std::min(x_.L, x_.T - s); ++l)
                for (std::int64_t y = 0; y < x_.Y; ++y)
                    here[y] = Ring::plus(here[y], Ring::times(score(s, l, y), beta[(s + l) * S_ + y]));
            ring_.absorb(Sources<double>{x_.Y, here, 1, turned_.data(), S_}, &beta[s * S_], S_);
        }
    }

    machine::AlignedVector<double> in, alpha, out, beta; // [T+1][S]

  private:
    const SegmentScores& x_;
    std::int64_t S_;
    machine::AlignedVector<double> pair_, turned_; // [Y][S]
    Ring ring_;
};

// The k best ways to end at a position with a label: which segment came last, and which entry of which cell before it.
struct Entry {
    double score;
    std::int32_t length, label_before, rank; // label_before = -1: the first segment
    bool better(const Entry& o) const {
        if (score != o.score) return score > o.score;
        if (length != o.length) return length < o.length;
        return label_before != o.label_before ? label_before < o.label_before : rank < o.rank;
    }
};

} // namespace

std::int64_t best_segments(const SegmentScores& x, std::int64_t k, std::vector<Segment>& segments,
                           std::vector<std::int64_t>& bounds, std::vector<double>& scores) {
    std::vector<std::vector<Entry>> cells((x.T + 1) * x.Y);
    std::vector<Entry> offers;
    const auto keep = [&](std::vector<Entry>& into) {
        const auto n = std::min<std::ptrdiff_t>(k, static_cast<std::ptrdiff_t>(offers.size()));
        std::partial_sort(offers.begin(), offers.begin() + n, offers.end(),
                          [](const Entry& a, const Entry& b) { return a.better(b); });
        into.assign(offers.begin(), offers.begin() + n);
    };
    for (std::int64_t e = 1; e <= x.T; ++e)
        for (std::int64_t y = 0; y < x.Y; ++y) {
            machine::check_stop();
            offers.clear();
            for (std::int64_t l = 1; l <= std::min(x.L, e); ++l) {
                const double segment = x.segment[((e - l) * x.L + l - 1) * x.Y + y];
                const auto offer = [&](double before, std::int64_t label, std::size_t rank) {
                    const double score = before + segment;
                    if (score > impossible)
                        offers.push_back({score, static_cast<std::int32_t>(l), static_cast<std::int32_t>(label),
                                          static_cast<std::int32_t>(rank)});
                };
                if (e == l) offer(x.start[y], -1, 0);
                else
                    for (std::int64_t b = 0; b < x.Y; ++b) {
                        const auto& cell = cells[(e - l) * x.Y + b];
                        for (std::size_t r = 0; r < cell.size(); ++r) offer(cell[r].score + x.pair[b * x.Y + y], b, r);
                    }
            }
            keep(cells[e * x.Y + y]);
        }
    offers.clear();
    for (std::int64_t y = 0; y < x.Y; ++y) {
        const auto& cell = cells[x.T * x.Y + y];
        for (std::size_t r = 0; r < cell.size(); ++r)
            if (cell[r].score + x.end[y] > impossible)
                offers.push_back({cell[r].score + x.end[y], 0, static_cast<std::int32_t>(y), static_cast<std::int32_t>(r)});
    }
    std::vector<Entry> finals;
    keep(finals);
    for (const Entry& final : finals) {
        const auto first = static_cast<std::ptrdiff_t>(segments.size());
        std::int64_t e = x.T;
        for (Entry at = final; at.label_before >= 0;) {
            const Entry& here = cells[e * x.Y + at.label_before][at.rank];
            segments.push_back({static_cast<std::int32_t>(e - here.length), here.length, at.label_before});
            e -= here.length;
            at = here;
        }
        std::reverse(segments.begin() + first, segments.end());
        bounds.push_back(static_cast<std::int64_t>(segments.size()));
        scores.push_back(final.score);
    }
    return static_cast<std::int64_t>(finals.size());
}

double sum_segments(const SegmentScores& x, std::span<double> segment, std::span<double> pair, std::span<double> start,
                    std::span<double> end) {
    using Ring = LogSum<double>;
    SegmentProgramme<Ring> p(x);
    p.forward();
    p.backward();
    const std::int64_t S = p.stride();
    double log_z = Ring::zero;
    for (std::int64_t y = 0; y < x.Y; ++y) log_z = Ring::plus(log_z, Ring::times(p.alpha[x.T * S + y], x.end[y]));
    for (const auto block : {segment, pair, start, end}) std::ranges::fill(block, 0.0);
    if (log_z == Ring::zero) return log_z;
    for (std::int64_t t = 0; t < x.T; ++t)
        for (std::int64_t l = 1; l <= std::min(x.L, x.T - t); ++l)
            for (std::int64_t y = 0; y < x.Y; ++y)
                segment[(t * x.L + l - 1) * x.Y + y] =
                    std::exp(p.in[t * S + y] + p.score(t, l, y) + p.beta[(t + l) * S + y] - log_z);
    for (std::int64_t s = 1; s < x.T; ++s)
        for (std::int64_t a = 0; a < x.Y; ++a)
            for (std::int64_t b = 0; b < x.Y; ++b)
                pair[a * x.Y + b] += std::exp(p.alpha[s * S + a] + x.pair[a * x.Y + b] + p.out[s * S + b] - log_z);
    for (std::int64_t y = 0; y < x.Y; ++y) {
        start[y] = std::exp(x.start[y] + p.out[y] - log_z);
        end[y] = std::exp(p.alpha[x.T * S + y] + x.end[y] - log_z);
    }
    return log_z;
}

} // namespace chaffinch::structures
