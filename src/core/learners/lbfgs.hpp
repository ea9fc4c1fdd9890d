// Limited-memory BFGS, and its orthant-wise form for an L1 penalty.
//
//   min over x of  f(x) + c1 |x|_1
//
// Two-loop recursion over the last m pairs (s, y) with the starting matrix gamma D, D diagonal (the identity if none is
// given), gamma = s.y / y.D y of the newest pair. c1 = 0: steps that satisfy the weak Wolfe conditions, by bracketing
// and bisection (Lewis and Overton 2013). c1 > 0: the pseudo-gradient, directions kept to its descent orthant, and
// backtracking with projection (Andrew and Gao 2007, "Scalable training of L1-regularized log-linear models").
//
// Vectors are stored in float, sums are made in double block by block, in an order that does not depend on threads.
#pragma once

#include "aligned.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>

namespace chaffinch::learners {

struct LbfgsSettings {
    double c1 = 0;
    std::size_t memory = 6;
    std::size_t threads = 0;
    int most_trials = 30; // of one line search
};

class Lbfgs {
  public:
    // f(x), its gradient into g. Both [n].
    using Function = std::function<double(const float* x, float* g)>;

    // x: where to start. diagonal: D, empty for none; all entries positive.
    Lbfgs(Function f, std::span<const float> x, machine::AlignedVector<float> diagonal, const LbfgsSettings& settings);

    // One step. False: no step lowers the value any further.
    bool iterate();

    double value() const { return value_; } // with the L1 term
    double gradient_norm() const;           // of the (pseudo-)gradient
    std::span<const float> x() const { return x_; }
    std::int64_t evaluations() const { return evaluations_; }

    // The pairs (s, y) of the last steps, the oldest first: [pairs][2][n]. With x they resume a run exactly.
    std::size_t pairs() const { return pairs_.size(); }
    void memory(float* out) const;
    void remember(std::span<const float> memory);

  private:
    struct Pair {
        machine::AlignedVector<float> s, y;
        double sy;
    };

    double evaluate(const machine::AlignedVector<float>& x, machine::AlignedVector<float>& g);
    void find_direction();
    bool search_wolfe(double slope);
    bool search_orthant();
    void remember_step();
    double dot(const float* a, const float* b) const;
    template <class Work> void blocks(Work&& work) const;

    Function f_;
    LbfgsSettings settings_;
    std::int64_t n_;
    machine::AlignedVector<float> x_, g_, pseudo_, direction_, next_x_, next_g_, diagonal_;
    std::deque<Pair> pairs_;
    double value_ = 0, next_value_ = 0;
    std::int64_t evaluations_ = 0;
};

} // namespace chaffinch::learners
