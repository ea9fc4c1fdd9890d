#include "crf.hpp"

#include "score.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace chaffinch::learners {

namespace {

void gather(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* values, const float* w,
            std::int64_t S, float* out) {
    scorers::score_rows(ptr, ids, w, S, out, values);
}

void gather(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* values, const double* w,
            std::int64_t S, double* out) {
    for (std::size_t t = 0; t + 1 < ptr.size(); ++t) {
        double* here = out + static_cast<std::int64_t>(t) * S;
        std::fill_n(here, S, 0.0);
        for (std::int64_t k = ptr[t]; k < ptr[t + 1]; ++k) {
            const double v = values ? static_cast<double>(values[k]) : 1.0;
            for (std::int64_t y = 0; y < S; ++y) here[y] += v * w[ids[k] * S + y];
        }
    }
}

} // namespace

template <class Real> CrfOracle<Real>::CrfOracle(const CrfShape& shape, const CrfData& data) : shape_(shape), data_(data) {}

template <class Real> void CrfOracle<Real>::weigh(const Real* w, Real scale) {
    w_ = w, scale_ = scale, shrink_ = 0;
    Real* chain = machine::room(chain_, shape_.chain_size());
    const Real* from = w + shape_.pair();
    for (std::int64_t k = 0; k < shape_.chain_size(); ++k) chain[k] = scale * from[k];
    prepare();
}

template <class Real>
void CrfOracle<Real>::weigh_shrunk(const Real* u, Real shrink, Real least)
    requires std::same_as<Real, float>
{
    w_ = u, scale_ = 1, shrink_ = shrink, least_ = least;
    Real* chain = machine::room(chain_, shape_.chain_size());
    const Real* from = u + shape_.pair();
    for (std::int64_t k = 0; k < shape_.chain_size(); ++k) chain[k] = from[k] - std::clamp(from[k], -shrink, shrink);
    prepare();
}

// The potentials of the chain, from chain_.
template <class Real> void CrfOracle<Real>::prepare() {
    Real* chain = chain_.data();
    if (data_.chain)
        for (std::int64_t k = 0; k < shape_.chain_size(); ++k) chain[k] += static_cast<Real>(data_.chain[k]);
    if (data_.states.Q() > 0) return weigh_states();
    structures::ChainPotentials<Real> p{.Y = shape_.Y, .order = shape_.order, .pair = chain, .pair_stride = shape_.S()};
    p.start = chain + (shape_.start() - shape_.pair());
    p.end = chain + (shape_.end() - shape_.pair());
    if (shape_.order == 2) {
        p.triple = chain + (shape_.triple() - shape_.pair());
        p.first = chain + (shape_.first() - shape_.pair());
        p.last = chain + (shape_.last() - shape_.pair());
    }
    marginals_.prepare(p);
}

// pair [Q][R], start [R], end [R] with rows of R = padded(Q), from the labels' of the states.
template <class Real> void CrfOracle<Real>::weigh_states() {
    const LabelStates& s = data_.states;
    const std::int64_t Q = s.Q(), R = machine::padded(Q), S = shape_.S();
    constexpr Real never = -std::numeric_limits<Real>::infinity();
    Real* out = machine::room(state_chain_, (Q + 2) * R);
    std::fill_n(out, (Q + 2) * R, Real(0));
    const Real *pair = chain_.data(), *start = pair + shape_.Y * S, *end = start + S;
    for (std::int64_t p = 0; p < Q; ++p) {
        for (std::int64_t q = 0; q < Q; ++q) out[p * R + q] = s.follows[p * Q + q] ? pair[s.label[p] * S + s.label[q]] : never;
        out[Q * R + p] = s.starts[p] ? start[s.label[p]] : never;
        out[(Q + 1) * R + p] = end[s.label[p]];
    }
    marginals_.prepare({.Y = Q, .pair = out, .pair_stride = R, .start = out + Q * R, .end = out + (Q + 1) * R});
}

template <class Real> void CrfOracle<Real>::score(std::int64_t n) {
    n_ = n;
    const std::int64_t T = data_.length(n), S = shape_.S();
    const auto ptr = data_.ptr.subspan(static_cast<std::size_t>(data_.begin(n)), static_cast<std::size_t>(T + 1));
    if constexpr (std::same_as<Real, float>) {
        if (shrink_ > 0) {
            scorers::score_shrunk_rows(ptr, data_.ids, w_, S, shrink_, least_, machine::room(scores_, T * S),
                                       machine::room(active_, T * S), data_.values);
            return score_rest();
        }
    }
    gather(ptr, data_.ids, data_.values, w_, S, machine::room(scores_, T * S));
    score_rest();
}

template <class Real> void CrfOracle<Real>::choose(std::int64_t n) {
    n_ = n;
    const std::int64_t cells = data_.length(n) * shape_.S();
    std::fill_n(machine::room(scores_, cells), cells, Real(0));
}

template <class Real> void CrfOracle<Real>::score(std::int64_t n, const Real* first, const Real* second) {
    n_ = n;
    const std::int64_t cells = data_.length(n) * shape_.S();
    Real* scores = machine::room(scores_, cells);
    for (std::int64_t k = 0; k < cells; ++k) scores[k] = first[k] + second[k];
    score_rest();
}

template <class Real>
void CrfOracle<Real>::score_by_halves(std::int64_t n)
    requires std::same_as<Real, float>
{
    n_ = n;
    const std::int64_t T = data_.length(n), S = shape_.S();
    const auto ptr = data_.ptr.subspan(static_cast<std::size_t>(data_.begin(n)), static_cast<std::size_t>(T + 1));
    scorers::score_halved_rows(ptr, data_.ids, w_, S, machine::room(scores_, T * S), data_.values);
    score_rest();
}

// Applies scale, offsets, costs and bigrams.
template <class Real> void CrfOracle<Real>::score_rest() {
    const std::int64_t T = data_.length(n_), begin = data_.begin(n_), S = shape_.S(), Y = shape_.Y;
    Real* scores = scores_.data();
    if (scale_ != 1)
        for (std::int64_t k = 0; k < T * S; ++k) scores[k] *= scale_;
    if (data_.offset)
        for (std::int64_t t = 0; t < T; ++t)
            for (std::int64_t y = 0; y < Y; ++y)
                scores[t * S + y] += static_cast<Real>(data_.offset[(begin + t) * Y + y]);
    if (data_.cost)
        for (std::int64_t t = 0; t < T; ++t) {
            const float* cost = data_.cost + data_.y[begin + t] * Y;
            for (std::int64_t y = 0; y < Y; ++y) scores[t * S + y] += static_cast<Real>(cost[y]);
        }
    const std::size_t L = shape_.observations.size();
    if (L == 0) return;
    Real* pairs = machine::room(bigram_scores_, (T - 1) * Y * Y);
    std::fill_n(pairs, (T - 1) * Y * Y, Real(0));
    for (std::int64_t t = 1; t < T; ++t)
        for (std::size_t l = 0; l < L; ++l) {
            const std::int64_t o = data_.observed[(begin + t) * static_cast<std::int64_t>(L) + static_cast<std::int64_t>(l)];
            if (o < 0) continue;
            const Real* row = w_ + shape_.bigrams(l) + o * shape_.bigram_stride();
            Real* here = pairs + (t - 1) * Y * Y;
            for (std::int64_t k = 0; k < Y * Y; ++k) here[k] += scale_ * row[k];
        }
}

template <class Real> double CrfOracle<Real>::log_z(CrfParts<Real>* expected) {
    return shape_.local ? summed_locally(expected) : summed(expected, nullptr);
}

template <class Real> double CrfOracle<Real>::gold(CrfParts<Real>* expected) {
    if (data_.allowed) return summed(expected, data_.allowed + data_.begin(n_) * shape_.Y);
    return data_.soft ? soft_gold(expected) : hard_gold(expected);
}

template <class Real> double CrfOracle<Real>::summed(CrfParts<Real>* expected, const std::uint8_t* allowed) {
    const std::int64_t T = data_.length(n_), S = shape_.S();
    if (T == 0) return 0;
    if (data_.states.Q() > 0) return summed_by_state(expected, allowed);
    const bool bigrams = !shape_.observations.empty();
    const structures::ChainSentence<Real> x{.unary = scores_.data(),
                                .T = T,
                                .stride = S,
                                .allowed = allowed,
                                .pairs = bigrams ? bigram_scores_.data() : nullptr};
    if (!expected) return marginals_.log_z(x).value;
    clear(*expected);
    Real* chain = expected->chain.data();
    structures::ChainExpectations<Real> out{.unary = expected->nodes.data(), .unary_stride = S, .pair = chain, .pair_stride = S};
    if (bigrams) out.pairs = expected->bigrams.data();
    if (shape_.order == 2) {
        out.triple = chain + (shape_.triple() - shape_.pair());
        out.first = chain + (shape_.first() - shape_.pair());
        out.last = chain + (shape_.last() - shape_.pair());
    }
    const double value = marginals_(x, out).value;
    std::copy_n(expected->nodes.data(), S, chain + (shape_.start() - shape_.pair()));
    std::copy_n(expected->nodes.data() + (T - 1) * S, S, chain + (shape_.end() - shape_.pair()));
    return value;
}

// The same over states, first order: scores are those of the states' labels, expectations are added up by label.
template <class Real> double CrfOracle<Real>::summed_by_state(CrfParts<Real>* expected, const std::uint8_t* allowed) {
    const LabelStates& s = data_.states;
    const std::int64_t T = data_.length(n_), S = shape_.S(), Y = shape_.Y, Q = s.Q(), R = machine::padded(Q);
    const bool bigrams = !shape_.observations.empty();
    Real* unary = machine::room(state_scores_, T * R);
    std::fill_n(unary, T * R, Real(0));
    if (allowed) state_allowed_.resize(static_cast<std::size_t>(T * Q));
    for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t q = 0; q < Q; ++q) {
            unary[t * R + q] = scores_[t * S + s.label[q]];
            if (allowed) state_allowed_[static_cast<std::size_t>(t * Q + q)] = allowed[t * Y + s.label[q]];
        }
    Real* pairs = bigrams ? machine::room(state_pairs_, (T - 1) * Q * Q) : nullptr;
    for (std::int64_t t = 0; bigrams && t + 1 < T; ++t)
        for (std::int64_t p = 0; p < Q; ++p)
            for (std::int64_t q = 0; q < Q; ++q)
                pairs[(t * Q + p) * Q + q] = bigram_scores_[(t * Y + s.label[p]) * Y + s.label[q]];
    const structures::ChainSentence<Real> x{.unary = unary,
                                            .T = T,
                                            .stride = R,
                                            .allowed = allowed ? state_allowed_.data() : nullptr,
                                            .pairs = pairs};
    if (!expected) return marginals_.log_z(x).value;
    clear(*expected);
    Real* nodes = machine::room(state_nodes_, T * R);
    Real* arcs = machine::room(state_expected_, Q * R + (bigrams ? (T - 1) * Q * Q : 0));
    std::fill_n(nodes, T * R, Real(0));
    std::fill_n(arcs, Q * R + (bigrams ? (T - 1) * Q * Q : 0), Real(0));
    structures::ChainExpectations<Real> out{.unary = nodes, .unary_stride = R, .pair = arcs, .pair_stride = R};
    if (bigrams) out.pairs = arcs + Q * R;
    const double value = marginals_(x, out).value;
    for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t q = 0; q < Q; ++q) expected->nodes[t * S + s.label[q]] += nodes[t * R + q];
    Real* chain = expected->chain.data();
    for (std::int64_t p = 0; p < Q; ++p)
        for (std::int64_t q = 0; q < Q; ++q) chain[s.label[p] * S + s.label[q]] += arcs[p * R + q];
    for (std::int64_t t = 0; bigrams && t + 1 < T; ++t)
        for (std::int64_t p = 0; p < Q; ++p)
            for (std::int64_t q = 0; q < Q; ++q)
                expected->bigrams[(t * Y + s.label[p]) * Y + s.label[q]] += out.pairs[(t * Q + p) * Q + q];
    std::copy_n(expected->nodes.data(), S, chain + (shape_.start() - shape_.pair()));
    std::copy_n(expected->nodes.data() + (T - 1) * S, S, chain + (shape_.end() - shape_.pair()));
    return value;
}

// One softmax per position, each given the gold label before it.
template <class Real> double CrfOracle<Real>::summed_locally(CrfParts<Real>* expected) {
    const std::int64_t T = data_.length(n_), S = shape_.S(), Y = shape_.Y;
    const std::int32_t* y = data_.y.data() + data_.begin(n_);
    if (expected) clear(*expected);
    double sum = 0;
    for (std::int64_t t = 0; t < T; ++t) {
        const std::int64_t at = t == 0 ? shape_.start() : shape_.pair() + y[t - 1] * S;
        const Real* into = chain_.data() + (at - shape_.pair());
        const std::int64_t bigrams = t == 0 || shape_.observations.empty() ? -1 : ((t - 1) * Y + y[t - 1]) * Y;
        Real* row = scores_.data() + t * S;
        Real* p = machine::room(local_, S);
        Real top = -std::numeric_limits<Real>::infinity();
        for (std::int64_t b = 0; b < Y; ++b) {
            p[b] = row[b] + into[b] + (bigrams < 0 ? Real(0) : bigram_scores_[bigrams + b]);
            top = std::max(top, p[b]);
        }
        Real z = 0;
        for (std::int64_t b = 0; b < Y; ++b) z += p[b] = std::exp(p[b] - top);
        sum += static_cast<double>(top) + std::log(static_cast<double>(z));
        if (!expected) continue;
        for (std::int64_t b = 0; b < Y; ++b) {
            p[b] /= z;
            expected->nodes[t * S + b] = p[b];
            expected->chain[at - shape_.pair() + b] += p[b];
            if (bigrams >= 0) expected->bigrams[bigrams + b] = p[b];
        }
    }
    return sum;
}

template <class Real> double CrfOracle<Real>::hard_gold(CrfParts<Real>* expected) {
    const std::int64_t T = data_.length(n_), S = shape_.S(), Y = shape_.Y;
    if (T == 0) return 0;
    const std::int32_t* y = data_.y.data() + data_.begin(n_);
    if (expected) clear(*expected);
    double sum = 0;
    // at: an index into w after the unary rows
    const auto chain = [&](std::int64_t at) {
        sum += static_cast<double>(chain_[at - shape_.pair()]);
        if (expected) expected->chain[at - shape_.pair()] += 1;
    };
    for (std::int64_t t = 0; t < T; ++t) {
        sum += static_cast<double>(scores_[t * S + y[t]]);
        if (expected) expected->nodes[t * S + y[t]] = 1;
        if (t == 0) continue;
        chain(shape_.pair() + y[t - 1] * S + y[t]);
        if (!shape_.observations.empty()) {
            const std::int64_t at = (t - 1) * Y * Y + y[t - 1] * Y + y[t];
            sum += static_cast<double>(bigram_scores_[at]);
            if (expected) expected->bigrams[at] = 1;
        }
        if (shape_.order == 2 && t >= 2) chain(shape_.triple() + (y[t - 2] * Y + y[t - 1]) * Y + y[t]);
    }
    chain(shape_.start() + y[0]);
    if (!shape_.local) chain(shape_.end() + y[T - 1]);
    if (shape_.order == 2 && T > 1) {
        chain(shape_.first() + y[0] * Y + y[1]);
        chain(shape_.last() + y[T - 2] * Y + y[T - 1]);
    }
    return sum;
}

// E_q s(x, y) for labels drawn independently at each position: q(a, b) = q_{t-1}(a) q_t(b).
template <class Real> double CrfOracle<Real>::soft_gold(CrfParts<Real>* expected) {
    const std::int64_t T = data_.length(n_), S = shape_.S(), Y = shape_.Y;
    if (T == 0) return 0;
    const float* q = data_.soft + data_.begin(n_) * Y;
    if (expected) clear(*expected);
    double sum = 0;
    const auto part = [&](Real p, Real score, Real* into) {
        sum += static_cast<double>(p) * static_cast<double>(score);
        if (expected) *into += p;
    };
    const auto chain = [&](std::int64_t at, Real p) {
        const std::int64_t k = at - shape_.pair();
        part(p, chain_[k], expected ? &expected->chain[k] : nullptr);
    };
    for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t b = 0; b < Y; ++b) {
            const Real p = static_cast<Real>(q[t * Y + b]);
            if (p == 0) continue;
            part(p, scores_[t * S + b], expected ? &expected->nodes[t * S + b] : nullptr);
            if (t == 0) chain(shape_.start() + b, p);
            if (t == T - 1) chain(shape_.end() + b, p);
            for (std::int64_t a = 0; t > 0 && a < Y; ++a) {
                const Real pa = p * static_cast<Real>(q[(t - 1) * Y + a]);
                if (pa == 0) continue;
                chain(shape_.pair() + a * S + b, pa);
                if (!shape_.observations.empty()) {
                    const std::int64_t at = ((t - 1) * Y + a) * Y + b;
                    part(pa, bigram_scores_[at], expected ? &expected->bigrams[at] : nullptr);
                }
                if (shape_.order == 1) continue;
                if (t == 1) chain(shape_.first() + a * Y + b, pa);
                if (t == T - 1) chain(shape_.last() + a * Y + b, pa);
                for (std::int64_t c = 0; t > 1 && c < Y; ++c)
                    chain(shape_.triple() + (c * Y + a) * Y + b, pa * static_cast<Real>(q[(t - 2) * Y + c]));
            }
        }
    return sum;
}

template <class Real> void CrfOracle<Real>::clear(CrfParts<Real>& parts) {
    const std::int64_t T = data_.length(n_), S = shape_.S(), Y = shape_.Y;
    std::fill_n(machine::room(parts.nodes, T * S), T * S, Real(0));
    std::fill_n(machine::room(parts.chain, shape_.chain_size()), shape_.chain_size(), Real(0));
    if (!shape_.observations.empty()) {
        const std::int64_t cells = (T - 1) * Y * Y;
        std::fill_n(machine::room(parts.bigrams, cells), cells, Real(0));
    }
}

template class CrfOracle<float>;
template class CrfOracle<double>;

} // namespace chaffinch::learners
