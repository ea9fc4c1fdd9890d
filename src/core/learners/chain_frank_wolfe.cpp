#include "chain_frank_wolfe.hpp"

#include "clones.hpp"
#include "stop.hpp"

#include <algorithm>
#include <utility>

namespace chaffinch::learners {

// n is a whole number of lanes in all of these.
CHAFFINCH_HOT double row_dot(const float* a, const float* b, std::int64_t n) {
    float sum[machine::lanes] = {};
    for (std::int64_t k = 0; k < n; k += machine::lanes)
        for (std::int64_t l = 0; l < machine::lanes; ++l) sum[l] += a[k + l] * b[k + l];
    double total = 0;
    for (const float s : sum) total += static_cast<double>(s);
    return total;
}

CHAFFINCH_HOT void row_add(const float* from, float step, std::int64_t n, float* to) {
    for (std::int64_t k = 0; k < n; ++k) to[k] += step * from[k];
}

CHAFFINCH_HOT void row_negate(const float* from, std::int64_t n, float* to) {
    for (std::int64_t k = 0; k < n; ++k) to[k] = -from[k];
}

template <class Observations>
ChainFrankWolfe<Observations>::ChainFrankWolfe(ChainHinge<Observations> hinge, std::int64_t size,
                                               std::span<const double> C, bool average)
    : hinge_(std::move(hinge)), cells_(hinge_.cells()), C_(C.begin(), C.end()), average_(average),
      w_(static_cast<std::size_t>(size)),
      nodes_(static_cast<std::size_t>(hinge_.from(hinge_.sentences()) * cells_.S)),
      pairs_(C.size() * static_cast<std::size_t>(cells_.Y * cells_.S)), losses_(C.size()) {
    if (!average) return;
    mean_nodes_.resize(nodes_.size());
    mean_pairs_.resize(pairs_.size());
    mean_losses_.resize(losses_.size());
    since_.resize(losses_.size());
}

template <class Observations>
void ChainFrankWolfe<Observations>::run(std::span<const std::int64_t> order, std::span<double> gaps) {
    for (const std::int64_t n : order) machine::check_stop(), visit(n, gaps[n]);
}

template <class Observations> void ChainFrankWolfe<Observations>::visit(std::int64_t n, double& gap) {
    const Block here = block(n, nodes_, pairs_, losses_);
    const std::int64_t T = here.T, S = cells_.S, Y = cells_.Y;
    const double C = C_[static_cast<std::size_t>(n)];
    step_ += 1;
    if (T == 0) return;
    const auto [top, cost] = hinge_.search(w_.data(), n);
    gap = std::max(0.0, C * (top - (*here.loss - aligned(w_.data(), here))));

    Block change{here.from, T, machine::room(change_nodes_, T * S), machine::room(change_pairs_, Y * S), nullptr};
    row_negate(here.nodes, T * S, change.nodes);
    row_negate(here.pairs, Y * S, change.pairs);
    const std::int32_t *y = hinge_.gold(n), *z = hinge_.labels();
    for (std::int64_t t = 0; t < T; ++t) {
        change.nodes[t * S + y[t]] += 1;
        change.nodes[t * S + z[t]] -= 1;
        if (t == 0) continue;
        change.pairs[y[t - 1] * S + y[t]] += 1;
        change.pairs[z[t - 1] * S + z[t]] -= 1;
    }
    const double length = C * C * squared_length(n, change);
    if (gap <= 0 || (length <= 0 && cost <= *here.loss)) return;
    const double step = length <= 0 ? 1.0 : std::min(1.0, gap / length);
    if (average_) leave(n, steps_weight(since_[n], step_));
    row_add(change.nodes, static_cast<float>(step), T * S, here.nodes);
    row_add(change.pairs, static_cast<float>(step), Y * S, here.pairs);
    *here.loss += step * (cost - *here.loss);
    move(change, static_cast<float>(step * C), w_.data());
    hinge_.changed();
}

template <class Observations> MarginObjective ChainFrankWolfe<Observations>::measured(std::span<double> gaps) {
    machine::AlignedVector<float> w(w_.size());
    double losses = 0, hinges = 0;
    if (average_) {
        mean(w, losses);
    } else {
        std::ranges::copy(w_, w.begin());
        for (std::size_t n = 0; n < losses_.size(); ++n) losses += C_[n] * losses_[n];
    }
    hinge_.changed();
    for (std::size_t n = 0; n < losses_.size(); ++n) {
        const Block here = block(static_cast<std::int64_t>(n), nodes_, pairs_, losses_);
        if (here.T == 0) continue;
        machine::check_stop();
        const double top = hinge_.search(w.data(), static_cast<std::int64_t>(n)).height;
        hinges += C_[n] * top;
        if (!average_) gaps[n] = std::max(0.0, C_[n] * (top - (*here.loss - aligned(w.data(), here))));
    }
    hinge_.changed();
    const double sq_norm = hinge_.sq_norm(w.data(), static_cast<std::int64_t>(w.size()));
    return {sq_norm / 2 + hinges, losses - sq_norm / 2};
}

template <class Observations> void ChainFrankWolfe<Observations>::weights(std::span<float> out) {
    double losses = 0;
    if (average_)
        mean(out, losses);
    else
        std::ranges::copy(w_, out.begin());
}

template <class Observations>
auto ChainFrankWolfe<Observations>::block(std::int64_t n, machine::AlignedVector<float>& nodes, machine::AlignedVector<float>& pairs,
                                          std::vector<double>& losses) -> Block {
    const std::int64_t from = hinge_.from(n);
    return {from, hinge_.length(n), nodes.data() + from * cells_.S, pairs.data() + n * cells_.Y * cells_.S,
            losses.data() + n};
}

// s . d of a block, given the scores of its sentence.
template <class Observations> double ChainFrankWolfe<Observations>::aligned(const float* w, const Block& b) const {
    const std::int64_t S = cells_.S;
    return row_dot(hinge_.unary(), b.nodes, b.T * S) + row_dot(w + cells_.pair, b.pairs, cells_.Y * S) +
           row_dot(w + cells_.start, b.nodes, S) + row_dot(w + cells_.end, b.nodes + (b.T - 1) * S, S);
}

template <class Observations>
void ChainFrankWolfe<Observations>::move(const Block& change, float step, float* w) {
    const std::int64_t S = cells_.S;
    hinge_.observations().add(change.from, change.T, change.nodes, step, S, w);
    row_add(change.pairs, step, cells_.Y * S, w + cells_.pair);
    row_add(change.nodes, step, S, w + cells_.start);
    row_add(change.nodes + (change.T - 1) * S, step, S, w + cells_.end);
}

// |F_n d|^2 = sum over t, s of G[t][s] d_t . d_s, and the squares of pairs, start and end.
template <class Observations>
double ChainFrankWolfe<Observations>::squared_length(std::int64_t n, const Block& change) {
    const std::int64_t S = cells_.S, T = change.T;
    const float* G = hinge_.inner_products(n);
    double sum = row_dot(change.pairs, change.pairs, cells_.Y * S);
    for (std::int64_t t = 0; t < T; ++t) {
        const float* d = change.nodes + t * S;
        const double own = row_dot(d, d, S);
        if (own == 0) continue;
        sum += own * (static_cast<double>(G[t * T + t]) + (t == 0) + (t == T - 1));
        for (std::int64_t s = 0; s < t; ++s) {
            const auto g = static_cast<double>(G[t * T + s]);
            if (g != 0) sum += 2 * g * row_dot(d, change.nodes + s * S, S);
        }
    }
    return sum;
}

// Adds the current values to the running sums of the mean.
template <class Observations> void ChainFrankWolfe<Observations>::leave(std::int64_t n, double share) {
    const Block here = block(n, nodes_, pairs_, losses_);
    const Block sum = block(n, mean_nodes_, mean_pairs_, mean_losses_);
    row_add(here.nodes, static_cast<float>(share), here.T * cells_.S, sum.nodes);
    row_add(here.pairs, static_cast<float>(share), cells_.Y * cells_.S, sum.pairs);
    *sum.loss += share * *here.loss;
    since_[n] = step_;
}

template <class Observations> void ChainFrankWolfe<Observations>::mean(std::span<float> w, double& losses) {
    const double now = step_ + 1, total = steps_weight(0, now);
    std::ranges::fill(w, 0.0f);
    losses = 0;
    for (std::size_t n = 0; n < losses_.size() && total > 0; ++n) {
        const auto i = static_cast<std::int64_t>(n);
        const Block here = block(i, nodes_, pairs_, losses_), sum = block(i, mean_nodes_, mean_pairs_, mean_losses_);
        if (here.T == 0) continue;
        const double share = steps_weight(since_[n], now);
        const std::int64_t rows = here.T * cells_.S, pairs = cells_.Y * cells_.S;
        Block both{here.from, here.T, machine::room(change_nodes_, rows), machine::room(change_pairs_, pairs), nullptr};
        std::copy_n(sum.nodes, rows, both.nodes);
        std::copy_n(sum.pairs, pairs, both.pairs);
        row_add(here.nodes, static_cast<float>(share), rows, both.nodes);
        row_add(here.pairs, static_cast<float>(share), pairs, both.pairs);
        move(both, static_cast<float>(C_[n] / total), w.data());
        losses += C_[n] * (*sum.loss + share * *here.loss) / total;
    }
}

template class ChainFrankWolfe<scorers::SparseObservations>;
template class ChainFrankWolfe<scorers::DenseObservations>;
template class ChainFrankWolfe<scorers::MonomialObservations>;

} // namespace chaffinch::learners
