#include "lattice.hpp"

#include "clones.hpp"
#include "exp.hpp"
#include "lazy_kbest.hpp"
#include "semiring.hpp"
#include "stop.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace chaffinch::structures {

// out[y] = the sum of the rows' weights of y, each times its value.  values [n]: null: all are 1   out [S]: overwritten
CHAFFINCH_HOT void gather_labels(const LabelRows& rows, const std::int32_t* ids, const float* values, std::int64_t n,
                                 std::int64_t S, float* out) {
    for (std::int64_t y = 0; y < S; ++y) out[y] = 0;
    for (std::int64_t k = 0; k < n; ++k) {
        if (k + 4 < n) {
            __builtin_prefetch(rows.labels.data() + rows.ptr[ids[k + 4]]);
            __builtin_prefetch(rows.weights.data() + rows.ptr[ids[k + 4]]);
        }
        const std::int64_t from = rows.ptr[ids[k]], to = rows.ptr[ids[k] + 1];
        if (values)
            for (std::int64_t r = from; r < to; ++r) out[rows.labels[r]] += values[k] * rows.weights[r];
        else
            for (std::int64_t r = from; r < to; ++r) out[rows.labels[r]] += rows.weights[r];
    }
}

// scores := softmax of scale * scores; the log of its denominator, so that  scale * score = log(softmax) + result.
CHAFFINCH_HOT float softmax_row(std::int64_t Y, float scale, float* scores) {
    float top = -std::numeric_limits<float>::infinity();
    for (std::int64_t y = 0; y < Y; ++y) {
        scores[y] *= scale;
        top = scores[y] > top ? scores[y] : top;
    }
    for (std::int64_t y = 0; y < Y; ++y) scores[y] -= top;
    machine::exp_rows(scores, Y, scores);
    float z = 0;
    for (std::int64_t y = 0; y < Y; ++y) z += scores[y];
    const float inverse = 1 / z;
    for (std::int64_t y = 0; y < Y; ++y) scores[y] *= inverse;
    return top + std::log(z);
}

void Lattice::build(const LatticeWeights& w, std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids,
                    const Pruning& pruning, const float* values) {
    w_ = w;
    T_ = static_cast<std::int64_t>(ptr.size()) - 1;
    S_ = machine::padded(w.Y);
    machine::room(own_, T_ * S_);
    ptr_.assign(1, 0);
    states_.clear(), scores_.clear();
    for (std::int64_t t = 0; t < T_; ++t) {
        if (t % 64 == 0) machine::check_stop();
        float* row = own_.data() + t * S_;
        gather_labels(w.rows, ids.data() + ptr[t], values ? values + ptr[t] : nullptr, ptr[t + 1] - ptr[t], S_, row);
        const double log_z = static_cast<double>(softmax_row(w.Y, w.scale, row));
        choose(t, pruning);
        for (std::int64_t s = ptr_[t]; s < ptr_[t + 1]; ++s) {
            const std::uint16_t y = states_[s];
            double score = std::log(static_cast<double>(row[y])) + log_z;
            if (t == 0) score += static_cast<double>(w.scale * w.start[y]);
            if (t == T_ - 1) score += static_cast<double>(w.scale * w.end[y]);
            if (w.given && t == 0) score += static_cast<double>(w.given[w.Y * w.Y + y]);
            if (w.given && t == T_ - 1) score += static_cast<double>(w.given[w.Y * w.Y + w.Y + y]);
            scores_.push_back(score);
        }
    }
}

// The states of t; at least the likeliest label is one.
void Lattice::choose(std::int64_t t, const Pruning& pruning) {
    const float* p = own(t);
    const auto from = static_cast<std::ptrdiff_t>(states_.size());
    const float least = std::max(std::min(pruning.threshold, *std::max_element(p, p + w_.Y)), 1e-30f);
    for (std::int64_t y = 0; y < w_.Y; ++y)
        if (p[y] >= least) states_.push_back(static_cast<std::uint16_t>(y));
    if (static_cast<std::ptrdiff_t>(states_.size()) == from) states_.push_back(0); // the scores overflowed
    const auto begin = states_.begin() + from;
    if (states_.end() - begin > pruning.most) {
        const auto likelier = [p](std::uint16_t a, std::uint16_t b) { return p[a] != p[b] ? p[a] > p[b] : a < b; };
        std::nth_element(begin, begin + pruning.most, states_.end(), likelier);
        states_.resize(static_cast<std::size_t>(from + pruning.most));
        std::sort(states_.begin() + from, states_.end());
    }
    ptr_.push_back(static_cast<std::int64_t>(states_.size()));
}

std::span<const std::uint16_t> Lattice::states(std::int64_t t) const {
    return {states_.data() + ptr_[t], static_cast<std::size_t>(size(t))};
}

std::int64_t Lattice::find(std::int64_t t, std::int32_t label) const {
    const auto there = states(t);
    const auto at = std::ranges::lower_bound(there, label);
    return at != there.end() && *at == label ? at - there.begin() : -1;
}

double Lattice::pair(std::uint16_t a, std::uint16_t b) const {
    const double given = w_.given ? static_cast<double>(w_.given[a * w_.Y + b]) : 0.0;
    return static_cast<double>(w_.scale * w_.pair[a * w_.Y + b]) + given;
}

// Forward and backward in real space: each token's alphas and betas are divided by their largest, whose logs add up. Not
// a ChainProgramme, whose rows are as long as the labels: here a token has a handful of states of its own.
double Lattice::sum() {
    if (T_ == 0) return 0;
    const std::size_t n = states_.size();
    alpha_.assign(n, 0), beta_.assign(n, 0), nodes_.assign(n, 0), scale_.assign(static_cast<std::size_t>(T_), 0);
    arcs_.assign(static_cast<std::size_t>(T_), 0), exps_.clear();
    double log_z = 0;
    for (std::int64_t t = 0; t < T_; ++t) {
        const double top = *std::max_element(scores_.begin() + ptr_[t], scores_.begin() + ptr_[t + 1]);
        if (top == impossible) return impossible;
        double* here = alpha_.data() + ptr_[t];
        arcs_[t] = static_cast<std::int64_t>(exps_.size());
        if (t == 0)
            std::fill_n(here, size(t), 1.0);
        else
            for (std::int64_t i = 0; i < size(t - 1); ++i)
                for (std::int64_t j = 0; j < size(t); ++j) {
                    exps_.push_back(std::exp(pair(states(t - 1)[i], states(t)[j])));
                    here[j] += alpha_[ptr_[t - 1] + i] * exps_.back();
                }
        double largest = 0;
        for (std::int64_t j = 0; j < size(t); ++j) {
            nodes_[ptr_[t] + j] = std::exp(score(t, j) - top); // kept for the backward pass
            largest = std::max(largest, here[j] *= nodes_[ptr_[t] + j]);
        }
        if (!(largest > 0)) return impossible;
        for (std::int64_t j = 0; j < size(t); ++j) here[j] /= largest;
        scale_[t] = largest;
        log_z += std::log(largest) + top;
    }
    const double z = std::accumulate(alpha_.begin() + ptr_[T_ - 1], alpha_.end(), 0.0);
    std::fill(beta_.begin() + ptr_[T_ - 1], beta_.end(), 1 / z);
    for (std::int64_t t = T_ - 1; t > 0; --t)
        for (std::int64_t i = 0; i < size(t - 1); ++i)
            for (std::int64_t j = 0; j < size(t); ++j)
                beta_[ptr_[t - 1] + i] += exps_[arcs_[t] + i * size(t) + j] * nodes_[ptr_[t] + j] *
                                          beta_[ptr_[t] + j] / scale_[t];
    for (std::int64_t t = 1; t < T_; ++t) // an arc is alpha * exps * beta from here on
        for (std::int64_t j = 0; j < size(t); ++j) {
            const double into = nodes_[ptr_[t] + j] * beta_[ptr_[t] + j] / scale_[t];
            for (std::int64_t i = 0; i < size(t - 1); ++i) exps_[arcs_[t] + i * size(t) + j] *= into;
        }
    for (std::size_t s = 0; s < n; ++s) nodes_[s] = alpha_[s] * beta_[s];
    return log_z + std::log(z);
}

double Lattice::arc(std::int64_t t, std::int64_t i, std::int64_t j) const {
    return alpha_[ptr_[t - 1] + i] * exps_[arcs_[t] + i * size(t) + j];
}

// State j of token t has the number t Y + j; the root, fed by the states of the last token, comes last.
class LatticeGraph {
  public:
    LatticeGraph(const Lattice& lattice, std::vector<double>& alpha) : x_(lattice), Y_(lattice.labels()), alpha_(alpha) {
        alpha_.clear();
        for (std::int64_t t = 0; t < x_.T(); ++t)
            for (std::int64_t j = 0; j < x_.size(t); ++j) {
                double top = impossible;
                edges(t * Y_ + j, [&](std::int64_t, std::int64_t, double, double offer) { top = std::max(top, offer); });
                alpha_.push_back(top);
            }
    }

    std::int64_t root() const { return x_.T() * Y_; }
    std::int64_t position(std::int64_t node) const { return node / Y_; }
    std::int64_t state(std::int64_t node) const { return node % Y_; }
    double best(std::int64_t node) const { return alpha(position(node), state(node)); }
    double value(std::int64_t, double offer) const { return offer; }

    template <class Add> void edges(std::int64_t node, Add&& add) const {
        const std::int64_t t = position(node), j = state(node);
        if (t == 0) {
            if (x_.score(0, j) > impossible) add(-1, -1, 0, x_.score(0, j));
            return;
        }
        for (std::int64_t i = 0; i < x_.size(t - 1); ++i) {
            const double weight = t == x_.T() ? 0 : x_.pair(x_.states(t - 1)[i], x_.states(t)[j]) + x_.score(t, j);
            if (const double offer = alpha(t - 1, i) + weight; offer > impossible) add((t - 1) * Y_ + i, -1, weight, offer);
        }
    }

  private:
    double alpha(std::int64_t t, std::int64_t i) const { return alpha_[x_.place(t, i)]; }

    const Lattice& x_;
    std::int64_t Y_;
    std::vector<double>& alpha_;
};

std::int64_t Lattice::best(std::int64_t k, std::int32_t* labels, double* scores) {
    if (T_ == 0) return 0;
    LatticeGraph graph(*this, alpha_);
    std::int64_t count = 0;
    LazyKBest<LatticeGraph, double>(graph).unfold(
        graph.root(), k, [&](double score) { scores[count++] = score; },
        [&](std::int64_t node) {
            const std::int64_t t = graph.position(node);
            labels[(count - 1) * T_ + t] = states(t)[graph.state(node)];
        });
    return count;
}

} // namespace chaffinch::structures
