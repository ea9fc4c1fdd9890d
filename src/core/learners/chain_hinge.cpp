#include "chain_hinge.hpp"

#include "clones.hpp"
#include "stop.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace chaffinch::learners {

namespace {

constexpr std::int64_t longest_kept = 128; // inner products of longer sentences are computed again at each visit
constexpr float never = -std::numeric_limits<float>::infinity();

double wide(float value) { return static_cast<double>(value); }

} // namespace

// to[y] = max over y' of from[y'] + pair[y'][y]; S is a whole number of lanes.
CHAFFINCH_HOT void row_reach(const float* from, const float* pair, std::int64_t Y, std::int64_t S, float* to) {
    std::fill_n(to, S, never);
    for (std::int64_t a = 0; a < Y; ++a) {
        const float here = from[a];
        const float* row = pair + a * S;
        for (std::int64_t y = 0; y < S; ++y) {
            const float there = here + row[y];
            to[y] = there > to[y] ? there : to[y];
        }
    }
}

template <class Observations>
ChainHinge<Observations>::ChainHinge(Observations observations, std::span<const std::int64_t> sentences,
                                     std::span<const std::int32_t> gold, const ChainCells& cells,
                                     const ChainMasks& masks, bool slack)
    : observations_(std::move(observations)), sentences_(sentences), gold_(gold), cells_(cells), masks_(masks),
      slack_(slack), gram_at_(sentences.size() - 1) {
    for (std::size_t n = 0; n + 1 < sentences.size(); ++n) {
        machine::check_stop();
        const std::int64_t from = sentences[n], T = sentences[n + 1] - from;
        gram_at_[n] = T <= longest_kept ? static_cast<std::int64_t>(grams_.size()) : -1;
        if (T > longest_kept) continue;
        grams_.resize(grams_.size() + static_cast<std::size_t>(T * T));
        observations_.gram(from, T, grams_.data() + gram_at_[n]);
    }
}

template <class Observations> void ChainHinge<Observations>::prepare(const float* w) {
    const std::int64_t Y = cells_.Y, S = cells_.S;
    const float *pair = w + cells_.pair, *start = w + cells_.start, *end = w + cells_.end;
    stale_ = false;
    if (!slack_) {
        viterbi_.prepare({.Y = Y,
                          .pair = pair,
                          .pair_stride = S,
                          .start = start,
                          .end = end,
                          .transitions = masks_.transitions,
                          .start_allowed = masks_.start,
                          .end_allowed = masks_.end});
        return;
    }
    std::copy_n(pair, Y * S, machine::room(pair_, Y * S));
    std::copy_n(start, S, machine::room(start_, S));
    std::copy_n(end, S, machine::room(end_, S));
    for (std::int64_t a = 0; a < Y; ++a) {
        for (std::int64_t y = 0; y < Y; ++y)
            if (masks_.transitions && !masks_.transitions[a * Y + y]) pair_[a * S + y] = never;
        if (masks_.start && !masks_.start[a]) start_[a] = never;
        if (masks_.end && !masks_.end[a]) end_[a] = never;
    }
}

template <class Observations> void ChainHinge<Observations>::score(const float* w, std::int64_t n) {
    const std::int64_t T = length(n);
    observations_.score(from(n), T, w, cells_.S, machine::room(unary_, T * cells_.S));
}

template <class Observations> WorstAnswer ChainHinge<Observations>::search(const float* w, std::int64_t n) {
    const std::int64_t T = length(n);
    score(w, n);
    if (stale_) prepare(w);
    if (static_cast<std::int64_t>(labels_.size()) < T) labels_.resize(static_cast<std::size_t>(T));
    const std::int32_t* y = gold(n);
    if (!(slack_ ? search_slack(w, n) : search_margin(n))) { // no labelling is allowed: no violation
        std::copy_n(y, T, labels_.data());
        return {};
    }
    WorstAnswer found;
    for (std::int64_t t = 0; t < T; ++t) found.cost += labels_[t] != y[t];
    found.height = found.cost + scale(found.cost) * over(w, n, labels_.data());
    return found;
}

template <class Observations> bool ChainHinge<Observations>::search_margin(std::int64_t n) {
    const std::int64_t T = length(n), S = cells_.S;
    float* augmented = machine::room(augmented_, T * S);
    const std::int32_t* y = gold(n);
    for (std::int64_t t = 0; t < T; ++t) {
        for (std::int64_t a = 0; a < S; ++a) augmented[t * S + a] = unary_[t * S + a] + 1.0f;
        augmented[t * S + y[t]] = unary_[t * S + y[t]];
    }
    return viterbi_({.unary = augmented, .T = T, .stride = S}, labels_.data()).blocked < 0;
}

template <class Observations> bool ChainHinge<Observations>::search_slack(const float* w, std::int64_t n) {
    const std::int64_t T = length(n), S = cells_.S, Y = cells_.Y, row = (T + 1) * S;
    const std::int32_t* y = gold(n);
    float* best = machine::room(best_, T * row); // [T][T+1][S]
    float* reached = machine::room(augmented_, S);
    std::fill_n(best, T * row, never);
    for (std::int64_t a = 0; a < Y; ++a) best[(a != y[0]) * S + a] = unary_[a] + start_[a];
    for (std::int64_t t = 1; t < T; ++t)
        for (std::int64_t c = 0; c <= t; ++c) {
            row_reach(best + (t - 1) * row + c * S, pair_.data(), Y, S, reached);
            for (std::int64_t a = 0; a < Y; ++a) {
                if (a != y[t])
                    best[t * row + (c + 1) * S + a] = unary_[t * S + a] + reached[a];
                else
                    best[t * row + c * S + a] = unary_[t * S + a] + reached[a];
            }
        }
    // The product of the cost and the margin that is missed is highest; the gold answer's is 0.
    double right = wide(w[cells_.start + y[0]]) + wide(w[cells_.end + y[T - 1]]), top = 0;
    for (std::int64_t t = 0; t < T; ++t)
        right += wide(unary_[t * S + y[t]]) + (t > 0 ? wide(w[cells_.pair + y[t - 1] * S + y[t]]) : 0.0);
    std::int64_t count = 0, label = y[T - 1];
    for (std::int64_t c = 1; c <= T; ++c)
        for (std::int64_t a = 0; a < Y; ++a) {
            const double score = wide(best[(T - 1) * row + c * S + a]) + wide(end_[a]);
            const double product = static_cast<double>(c) * (1 + score - right);
            if (score > wide(never) && product > top) top = product, count = c, label = a;
        }
    std::copy_n(y, T, labels_.data());
    if (count == 0) return true;
    for (std::int64_t t = T - 1;; --t) {
        labels_[t] = static_cast<std::int32_t>(label);
        if (t == 0) return true;
        count -= label != y[t];
        const float* source = best + (t - 1) * row + count * S;
        std::int64_t before = 0;
        float most = never;
        for (std::int64_t a = 0; a < Y; ++a) {
            const float score = source[a] + pair_[a * S + label];
            if (score > most) most = score, before = a;
        }
        label = before;
    }
}

template <class Observations>
double ChainHinge<Observations>::over(const float* w, std::int64_t n, const std::int32_t* z) const {
    const std::int64_t T = length(n), S = cells_.S;
    const std::int32_t* y = gold(n);
    const float *pair = w + cells_.pair, *start = w + cells_.start, *end = w + cells_.end;
    double sum = wide(start[z[0]]) - wide(start[y[0]]) + wide(end[z[T - 1]]) - wide(end[y[T - 1]]);
    for (std::int64_t t = 0; t < T; ++t) {
        sum += wide(unary_[t * S + z[t]]) - wide(unary_[t * S + y[t]]);
        if (t > 0) sum += wide(pair[z[t - 1] * S + z[t]]) - wide(pair[y[t - 1] * S + y[t]]);
    }
    return sum;
}

template <class Observations> const float* ChainHinge<Observations>::inner_products(std::int64_t n) {
    if (gram_at_[static_cast<std::size_t>(n)] >= 0) return grams_.data() + gram_at_[static_cast<std::size_t>(n)];
    const std::int64_t T = length(n);
    gram_.resize(static_cast<std::size_t>(T * T));
    observations_.gram(from(n), T, gram_.data());
    return gram_.data();
}

template <class Observations>
void ChainHinge<Observations>::move(std::int64_t n, std::span<const std::int32_t* const> answers,
                                    std::span<const double> steps, float* w) {
    const std::int64_t T = length(n), S = cells_.S;
    float* nodes = machine::room(nodes_, T * S);
    std::fill_n(nodes, T * S, 0.0f);
    const std::int32_t* y = gold(n);
    float *pair = w + cells_.pair, *start = w + cells_.start, *end = w + cells_.end;
    for (std::size_t k = 0; k < answers.size(); ++k) {
        const auto step = static_cast<float>(steps[k]);
        const std::int32_t* z = answers[k];
        if (step == 0) continue;
        for (std::int64_t t = 0; t < T; ++t) {
            nodes[t * S + y[t]] += step;
            nodes[t * S + z[t]] -= step;
            if (t == 0 || (z[t - 1] == y[t - 1] && z[t] == y[t])) continue;
            pair[y[t - 1] * S + y[t]] += step;
            pair[z[t - 1] * S + z[t]] -= step;
        }
    }
    for (std::int64_t a = 0; a < S; ++a) {
        start[a] += nodes[a];
        end[a] += nodes[(T - 1) * S + a];
    }
    observations_.add(from(n), T, nodes, 1.0f, S, w);
}

template <class Observations> double ChainHinge<Observations>::sq_norm(const float* w, std::int64_t size) const {
    double sum = observations_.sq_norm(w, cells_.S);
    for (std::int64_t k = cells_.pair; k < size; ++k) sum += wide(w[k]) * wide(w[k]);
    return sum;
}

template class ChainHinge<scorers::SparseObservations>;
template class ChainHinge<scorers::DenseObservations>;
template class ChainHinge<scorers::MonomialObservations>;

} // namespace chaffinch::learners
