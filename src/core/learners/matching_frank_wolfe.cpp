#include "matching_frank_wolfe.hpp"

#include "assignment.hpp"
#include "stop.hpp"

#include <algorithm>
#include <utility>

namespace chaffinch::learners {

namespace {

// Calls f(rows of a block, where its parts begin) for each block of an example.
template <class F> void for_each_block(const MatchingExample& x, F f) {
    std::size_t at = 0;
    for (const scorers::PartRows& rows : x.blocks) {
        f(rows, at);
        at += static_cast<std::size_t>(rows.parts());
    }
}

void move(const MatchingExample& x, std::span<const double> delta, double step, std::span<double> w) {
    for_each_block(x, [&](const scorers::PartRows& rows, std::size_t at) {
        add_parts(rows, delta.subspan(at, static_cast<std::size_t>(rows.parts())), step, w);
    });
}

} // namespace

MatchingFrankWolfe::MatchingFrankWolfe(std::vector<MatchingExample> examples, std::int64_t F, bool fertile, bool average)
    : examples_(std::move(examples)), fertile_(fertile), average_(average), duals_(examples_.size()),
      w_(static_cast<std::size_t>(F)), moved_(w_.size()) {
    for (std::size_t n = 0; n < size(); ++n) {
        duals_[n].delta.resize(examples_[n].gold.size());
        if (average) duals_[n].mean.resize(examples_[n].gold.size());
    }
}

void MatchingFrankWolfe::run(std::span<const std::int64_t> order, std::span<double> gaps) {
    for (const std::int64_t n : order) machine::check_stop(), visit(static_cast<std::size_t>(n), gaps[n]);
}

void MatchingFrankWolfe::visit(std::size_t n, double& gap) {
    const MatchingExample& x = examples_[n];
    Dual& here = duals_[n];
    double cost = 0;
    const double top = hinge(x, w_, cost), height = here.loss - scorers::parts_dot(potentials_, here.delta);
    step_ += 1;
    const double ahead = x.C * (top - height);
    gap = std::max(0.0, ahead);
    change_.resize(x.gold.size());
    for (std::size_t p = 0; p < change_.size(); ++p) change_[p] = x.gold[p] - answer_[p] - here.delta[p];
    const double length = x.C * x.C * squared_length(x, change_);
    if (ahead <= 0 || (length == 0 && cost <= here.loss)) return;
    const double step = length == 0 ? 1.0 : std::min(1.0, ahead / length);
    if (average_) {
        const double weight = steps_weight(here.since, step_);
        for (std::size_t p = 0; p < here.mean.size(); ++p) here.mean[p] += weight * here.delta[p];
        here.mean_loss += weight * here.loss;
        here.since = step_;
    }
    for (std::size_t p = 0; p < change_.size(); ++p) here.delta[p] += step * change_[p];
    here.loss += step * (cost - here.loss);
    move(x, change_, step * x.C, w_);
}

// max over y of cost(y) + s(y) - s(y_n).
double MatchingFrankWolfe::hinge(const MatchingExample& x, std::span<const double> w, double& cost) {
    const std::size_t P = x.gold.size();
    potentials_.resize(P);
    augmented_.resize(P);
    for_each_block(x, [&](const scorers::PartRows& rows, std::size_t at) {
        scorers::score_parts(rows, w, std::span(potentials_).subspan(at, static_cast<std::size_t>(rows.parts())));
    });
    for (std::size_t p = 0; p < P; ++p) augmented_[p] = potentials_[p] + x.cost[p];

    const auto n = static_cast<std::size_t>(x.n), m = static_cast<std::size_t>(x.m), lone = P - n - m;
    answer_.assign(P, 0.0);
    std::fill(answer_.begin() + static_cast<std::ptrdiff_t>(lone), answer_.end(), 1.0);
    const std::span<const double> all(augmented_);
    if (fertile_) places_.set(x.n, x.m, all);
    const structures::MatchingScores scores =
        fertile_ ? places_.scores()
                 : structures::MatchingScores{x.n, x.m, all.first(lone), all.subspan(lone, n), all.subspan(lone + n, m)};
    links_.resize(static_cast<std::size_t>(scores.n));
    structures::best_matching(scores, links_); // every potential is finite: there is one
    for (std::size_t row = 0; row < links_.size(); ++row) {
        if (links_[row] == structures::alone) continue;
        const auto column = static_cast<std::size_t>(links_[row]);
        const auto part = fertile_ ? static_cast<std::size_t>(places_.part(static_cast<std::int64_t>(row), links_[row]))
                                   : row * m + column;
        answer_[part] = 1;
        if (row < n) answer_[lone + row] = 0;
        if (column < m) answer_[lone + n + column] = 0;
    }
    cost = scorers::parts_dot(x.cost, answer_);
    return cost + scorers::parts_dot(potentials_, answer_) - scorers::parts_dot(potentials_, x.gold);
}

// |F_n d|^2: adds the change to a vector over the features and removes it again.
double MatchingFrankWolfe::squared_length(const MatchingExample& x, std::span<const double> change) {
    touched_.clear();
    for_each_block(x, [&](const scorers::PartRows& rows, std::size_t at) {
        for (std::int64_t p = 0; p < rows.parts(); ++p) {
            const double by = change[at + static_cast<std::size_t>(p)];
            if (by == 0) continue;
            for (std::int64_t k = rows.ptr[p]; k < rows.ptr[p + 1]; ++k) {
                moved_[rows.ids[k]] += by * static_cast<double>(rows.values[k]);
                touched_.push_back(rows.ids[k]);
            }
        }
    });
    double total = 0;
    for (const std::int32_t id : touched_) {
        total += moved_[id] * moved_[id];
        moved_[id] = 0;
    }
    return total;
}

MarginObjective MatchingFrankWolfe::measured(std::span<double> gaps) {
    std::vector<double> w(w_.size());
    const double losses = mean(w);
    double hinges = 0;
    for (std::size_t n = 0; n < size(); ++n) {
        machine::check_stop();
        double cost = 0;
        const double top = hinge(examples_[n], w, cost);
        hinges += examples_[n].C * top;
        if (!average_)
            gaps[n] = std::max(0.0, examples_[n].C * (top - (duals_[n].loss - scorers::parts_dot(potentials_, duals_[n].delta))));
    }
    const double sq_norm = scorers::parts_dot(w, w);
    return {sq_norm / 2 + hinges, losses - sq_norm / 2};
}

void MatchingFrankWolfe::weights(std::span<double> out) const { mean(out); }

// Computes w, or its mean over the steps so far, from the duals; returns the sum of their losses, each times its C.
double MatchingFrankWolfe::mean(std::span<double> w) const {
    std::ranges::fill(w, 0.0);
    const double now = step_ + 1, total = steps_weight(0, now);
    const bool averaged = average_ && step_ > 0;
    double losses = 0;
    std::vector<double> delta;
    for (std::size_t n = 0; n < size(); ++n) {
        const Dual& here = duals_[n];
        delta = here.delta;
        double loss = here.loss;
        if (averaged) {
            const double weight = steps_weight(here.since, now);
            for (std::size_t p = 0; p < delta.size(); ++p) delta[p] = (here.mean[p] + weight * delta[p]) / total;
            loss = (here.mean_loss + weight * loss) / total;
        }
        move(examples_[n], delta, examples_[n].C, w);
        losses += examples_[n].C * loss;
    }
    return losses;
}

} // namespace chaffinch::learners
