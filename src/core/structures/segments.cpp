#include "segments.hpp"

#include "aligned.hpp"
#include "lazy_kbest.hpp"
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

// Cells alpha[e][y] have even numbers, in[s][y] odd ones, the later positions first: of equals the shorter segment comes
// first. The root is fed by every alpha[T][y].
class SegmentGraph {
  public:
    SegmentGraph(const SegmentScores& x, SegmentProgramme<MaxPlus<double>>& programme) : x_(x), p_(programme) {}

    std::int64_t root() const { return 2 * (x_.T + 1) * x_.Y; }
    bool ends(std::int64_t node) const { return node % 2 == 0; }
    std::int64_t position(std::int64_t node) const { return x_.T - node / 2 / x_.Y; }
    std::int64_t label(std::int64_t node) const { return node / 2 % x_.Y; }
    double best(std::int64_t node) const {
        return (ends(node) ? p_.alpha : p_.in)[position(node) * p_.stride() + label(node)];
    }
    double value(std::int64_t, double offer) const { return offer; }

    template <class Add> void edges(std::int64_t node, Add&& add) const {
        const auto offer = [&](std::int64_t tail, double weight) {
            if (const double score = best(tail) + weight; score > impossible) add(tail, -1, weight, score);
        };
        if (node == root()) {
            for (std::int64_t y = 0; y < x_.Y; ++y) offer(number(x_.T, y), x_.end[y]);
            return;
        }
        const std::int64_t at = position(node), y = label(node);
        if (ends(node))
            for (std::int64_t l = 1; l <= std::min(x_.L, at); ++l) offer(number(at - l, y) + 1, p_.score(at - l, l, y));
        else if (at == 0)
            add(-1, -1, 0, best(node));
        else
            for (std::int64_t b = 0; b < x_.Y; ++b) offer(number(at, b), x_.pair[b * x_.Y + y]);
    }

  private:
    std::int64_t number(std::int64_t at, std::int64_t y) const { return 2 * ((x_.T - at) * x_.Y + y); }

    const SegmentScores& x_;
    SegmentProgramme<MaxPlus<double>>& p_;
};

} // namespace

void best_segments(const SegmentScores& x, std::int64_t k, std::vector<Segment>& segments,
                   std::vector<std::int64_t>& bounds, std::vector<double>& scores) {
    SegmentProgramme<MaxPlus<double>> programme(x);
    programme.forward();
    SegmentGraph graph(x, programme);
    std::int64_t end = 0;
    LazyKBest<SegmentGraph, double>(graph).unfold(
        graph.root(), k, [&](double score) { scores.push_back(score); },
        [&](std::int64_t node) {
            const std::int64_t at = graph.position(node);
            if (graph.ends(node)) {
                end = at;
                return;
            }
            segments.push_back({static_cast<std::int32_t>(at), static_cast<std::int32_t>(end - at),
                                static_cast<std::int32_t>(graph.label(node))});
            if (at > 0) return;
            std::reverse(segments.begin() + (bounds.empty() ? 0 : bounds.back()), segments.end());
            bounds.push_back(std::ssize(segments));
        });
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
