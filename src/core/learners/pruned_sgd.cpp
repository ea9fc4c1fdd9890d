#include "pruned_sgd.hpp"

#include "clones.hpp"
#include "crf_objective.hpp"
#include "decaying_steps.hpp"
#include "stop.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace chaffinch::learners {

// w[r] += step * v * delta[label of r], for the rows of n features of values v; null: all are 1.
CHAFFINCH_HOT void scatter_labels(const std::int64_t* ptr, const std::uint16_t* labels, const std::int32_t* ids,
                                  std::int64_t n, const float* delta, float step, const float* values, float* w) {
    for (std::int64_t k = 0; k < n; ++k) {
        const float by = values ? step * values[k] : step;
        for (std::int64_t r = ptr[ids[k]]; r < ptr[ids[k] + 1]; ++r) w[r] += by * delta[labels[r]];
    }
}

CHAFFINCH_HOT void scale_all(std::int64_t n, float s, float* w) {
    for (std::int64_t k = 0; k < n; ++k) w[k] *= s;
}

namespace {

// The chain block of rows of S as pair [Y][Y], start [Y] and end [Y] in one.
template <class Value> std::vector<Value> without_padding(const Value* chain, std::int64_t Y) {
    if (!chain) return {};
    const std::int64_t S = machine::padded(Y);
    std::vector<Value> out;
    for (std::int64_t row = 0; row < Y + 2; ++row) out.insert(out.end(), chain + row * S, chain + row * S + Y);
    return out;
}

} // namespace

PrunedSgd::PrunedSgd(const CrfData& data, std::int64_t F, std::int64_t Y, const PrunedSettings& settings,
                     const std::uint8_t* held)
    : data_(data), F_(F), Y_(Y), settings_(settings), given_(without_padding(data.chain, Y)),
      held_(without_padding(held, Y)), delta_(static_cast<std::size_t>(Y)),
      order_(static_cast<std::size_t>(data.N())), random_(settings.seed) {
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    w_.ptr.assign(static_cast<std::size_t>(F + 1), 0);
    w_.chain.assign(static_cast<std::size_t>(Y * Y + 2 * Y), 0.0f);
    std::vector<std::int64_t> at(static_cast<std::size_t>(data.T() + 1));
    std::iota(at.begin(), at.end(), std::int64_t{0});
    spread(at, std::vector<std::uint16_t>(data.y.begin(), data.y.end()));
}

std::vector<std::int64_t> PrunedSgd::state() const {
    std::vector<std::int64_t> s(order_);
    s.push_back(met_);
    s.push_back(std::bit_cast<std::int64_t>(random_.state()));
    return s;
}

void PrunedSgd::restore(std::span<const std::int64_t> s) {
    std::copy_n(s.begin(), order_.size(), order_.begin());
    met_ = s[order_.size()];
    random_ = machine::Random(std::bit_cast<std::uint64_t>(s[order_.size() + 1]));
}

double PrunedSgd::epoch() {
    machine::shuffle(std::span(order_), random_);
    DecayingSteps steps(settings_.rate, settings_.c2, data_.N(), settings_.epochs);
    const auto rescale = [&](double s) {
        scale_all(static_cast<std::int64_t>(w_.unary.size()), static_cast<float>(s), w_.unary.data());
        scale_all(static_cast<std::int64_t>(w_.chain.size()), static_cast<float>(s), w_.chain.data());
    };
    double loss = 0;
    for (const std::int64_t n : order_) {
        const std::int64_t met = met_++;
        const std::int64_t T = data_.length(n), begin = data_.begin(n);
        if (T == 0) continue;
        machine::check_stop();
        build(n, steps.scale());
        bool survive = true;
        for (std::int64_t t = 0; t < T && survive; ++t) survive = lattice_.find(t, data_.y[begin + t]) >= 0;
        const double k_n = static_cast<double>(data_.importance(n));
        const float step = steps.step(met, k_n);
        loss += k_n * (survive ? whole(n, step) : apart(n, step));
        if (steps.worn()) rescale(steps.scale()), steps.renew();
    }
    rescale(steps.scale());
    return loss;
}

void PrunedSgd::widen() {
    std::vector<std::int64_t> at(static_cast<std::size_t>(data_.T() + 1), 0);
    std::vector<std::uint16_t> likely;
    for (std::int64_t n = 0; n < data_.N(); ++n) {
        machine::check_stop();
        build(n, 1);
        for (std::int64_t t = 0; t < data_.length(n); ++t) {
            const auto states = lattice_.states(t);
            likely.insert(likely.end(), states.begin(), states.end());
            at[static_cast<std::size_t>(data_.begin(n) + t + 1)] = static_cast<std::int64_t>(likely.size());
        }
    }
    spread(at, likely);
}

structures::LatticeWeights PrunedSgd::lattice_weights(double scale) const {
    const float* pair = w_.chain.data();
    return {.rows = {w_.ptr, w_.labels, w_.unary},
            .Y = Y_,
            .start = pair + Y_ * Y_,
            .end = pair + Y_ * Y_ + Y_,
            .pair = pair,
            .scale = static_cast<float>(scale),
            .given = given_.empty() ? nullptr : given_.data()};
}

void PrunedSgd::build(std::int64_t n, double scale) {
    const auto begin = static_cast<std::size_t>(data_.begin(n)), T = static_cast<std::size_t>(data_.length(n));
    lattice_.build(lattice_weights(scale), data_.ptr.subspan(begin, T + 1), data_.ids, settings_.pruning, data_.values);
}

// Takes the step of the chain's loss over the states; returns the loss.
double PrunedSgd::whole(std::int64_t n, float step) {
    const std::int64_t T = data_.length(n), begin = data_.begin(n);
    const std::int32_t* y = data_.y.data() + begin;
    double gold = 0;
    for (std::int64_t t = 0; t < T; ++t) {
        gold += lattice_.score(t, lattice_.find(t, y[t]));
        if (t > 0) gold += lattice_.pair(static_cast<std::uint16_t>(y[t - 1]), static_cast<std::uint16_t>(y[t]));
        const auto states = lattice_.states(t);
        for (std::size_t i = 0; data_.cost && i < states.size(); ++i)
            lattice_.raise(t, static_cast<std::int64_t>(i), static_cast<double>(data_.cost[y[t] * Y_ + states[i]]));
    }
    const double log_z = lattice_.sum();
    float* pair = w_.chain.data();
    const auto move = [&](std::int64_t at, float by) {
        if (held_.empty() || !held_[static_cast<std::size_t>(at)]) pair[at] += by;
    };
    for (std::int64_t t = 0; t < T; ++t) {
        const auto states = lattice_.states(t);
        std::ranges::fill(delta_, 0.0f);
        for (std::size_t j = 0; j < states.size(); ++j)
            delta_[states[j]] = static_cast<float>(lattice_.node(t, static_cast<std::int64_t>(j)));
        delta_[y[t]] -= 1;
        scatter(begin + t, step);
        for (const std::uint16_t label : states) {
            if (t == 0) move(Y_ * Y_ + label, step * delta_[label]);
            if (t == T - 1) move(Y_ * Y_ + Y_ + label, step * delta_[label]);
        }
        if (t == 0) continue;
        const auto before = lattice_.states(t - 1);
        for (std::size_t i = 0; i < before.size(); ++i)
            for (std::size_t j = 0; j < states.size(); ++j)
                move(before[i] * Y_ + states[j],
                     step * static_cast<float>(lattice_.arc(t, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j))));
        move(y[t - 1] * Y_ + y[t], -step);
    }
    return log_z - gold;
}

// Takes the step of the tokens' own losses; returns the loss.
double PrunedSgd::apart(std::int64_t n, float step) {
    const std::int64_t T = data_.length(n), begin = data_.begin(n);
    double loss = 0;
    for (std::int64_t t = 0; t < T; ++t) {
        const std::int32_t y = data_.y[begin + t];
        const float* own = lattice_.own(t);
        std::copy_n(own, Y_, delta_.data());
        loss -= std::log(std::max(static_cast<double>(own[y]), 1e-30));
        delta_[y] -= 1;
        scatter(begin + t, step);
    }
    return loss;
}

void PrunedSgd::scatter(std::int64_t token, float step) {
    const std::int64_t from = data_.ptr[token], n = data_.ptr[token + 1] - from;
    scatter_labels(w_.ptr.data(), w_.labels.data(), data_.ids.data() + from, n, delta_.data(), step,
                   data_.values ? data_.values + from : nullptr, w_.unary.data());
}

// Gives every feature weights for the labels that are likely at its tokens, in addition to those it has.
// likely: the labels of token t at at[t] .. at[t+1]
void PrunedSgd::spread(const std::vector<std::int64_t>& at, const std::vector<std::uint16_t>& likely) {
    const FeatureTokens index = transposed(data_.ptr, data_.ids, F_);
    Weights wider;
    wider.ptr.assign(1, 0);
    std::vector<std::int64_t> met(static_cast<std::size_t>(Y_), -1); // the last feature that the label was seen with
    std::vector<float> value(static_cast<std::size_t>(Y_));
    std::vector<std::uint16_t> row;
    for (std::int64_t f = 0; f < F_; ++f) {
        row.clear();
        const auto meet = [&](std::uint16_t label, float weight) {
            if (met[label] == f) return;
            met[label] = f, value[label] = weight;
            row.push_back(label);
        };
        for (std::int64_t r = w_.ptr[f]; r < w_.ptr[f + 1]; ++r) meet(w_.labels[r], w_.unary[r]);
        for (std::int64_t k = index.ptr[f]; k < index.ptr[f + 1]; ++k)
            for (std::int64_t r = at[index.tokens[k]]; r < at[index.tokens[k] + 1]; ++r) meet(likely[r], 0.0f);
        std::ranges::sort(row);
        wider.labels.insert(wider.labels.end(), row.begin(), row.end());
        for (const std::uint16_t label : row) wider.unary.push_back(value[label]);
        wider.ptr.push_back(static_cast<std::int64_t>(wider.labels.size()));
    }
    wider.chain = std::move(w_.chain);
    w_ = std::move(wider);
}

} // namespace chaffinch::learners
