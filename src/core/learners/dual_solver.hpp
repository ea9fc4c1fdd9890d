// The state of every dual solver and its objective: coefficients d_n of the examples and the weights they sum to.
//
//   w = sum_n d_n x_n,   primal = |w|^2 / 2 + sum_n losses,   dual = sum_n shares - |w|^2 / 2
#pragma once

#include "shared_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace chaffinch::learners {

struct DualObjective {
    double primal = 0, dual = 0; // the optimum lies between them
};

class DualSolver {
  public:
    virtual ~DualSolver() = default;

    DualObjective objective(std::size_t threads) const; // sums in blocks, in their order

    void scores(std::span<const std::int64_t> which, float* out) const; // [which][S]
    void weights(float* w) const;                                       // [F+1][S]
    machine::AlignedVector<float> release(); // the same; the solver cannot be used afterwards

    // Takes weights [F+1][S] that other examples have updated too; every feature must be shared.
    void load(std::span<const float> w) { std::ranges::copy(w, w_.begin()); }

    // The dual variables [N][S] of an earlier pass.
    virtual void resume(std::span<const float> duals) = 0;
    bool whole() const { return x_.whole(); }

    std::int64_t S() const { return machine::padded(Y_); }

    // Resets the state to that before the first pass.
    virtual void restart() { std::ranges::fill(w_, 0.0f); }

  protected:
    // given: weights [F+1][S] of the caller, updated instead of the solver's own; every feature is then shared
    DualSolver(const features::Examples& examples, std::int64_t Y, bool whole = false, std::span<float> given = {})
        : x_(examples, whole || !given.empty()), Y_(Y),
          held_(given.empty() ? static_cast<std::size_t>((x_.rows().F + 1) * machine::padded(Y)) : 0),
          w_(given.empty() ? std::span<float>(held_) : given) {}
    DualSolver(DualSolver&&) = default;
    DualSolver& operator=(DualSolver&&) = default;

    // d_n [S].
    virtual void coefficients(std::int64_t n, float* d) const = 0;

    // Adds the losses of a block's examples to `primal` and their variables' shares to `dual`, given their scores [end
    // - begin][S].
    virtual void add_losses(std::int64_t begin, std::int64_t end, const float* scores, DualObjective& sum) const = 0;

    // Subtracts d_n x_n of these examples from the weights.
    void take_out(std::span<const std::int64_t> which);

    SharedRows x_;
    std::int64_t Y_;
    machine::AlignedVector<float> held_;
    std::span<float> w_; // [shared features + 1][S]
};

// Variables a_n [S], initially zero, with shrinking.
class RestingSolver : public DualSolver {
  public:
    // Ends shrinking: all variables are updated again.
    virtual void wake() = 0;

    // Removes these examples' contribution from the weights.
    void forget(std::span<const std::int64_t> which);
    void restart() override;

    void resume(std::span<const float> duals) override { std::ranges::copy(duals, alpha_.begin()); }
    const float* alpha() const { return alpha_.data(); } // [N][S]

  protected:
    RestingSolver(const features::Examples& examples, std::int64_t Y, std::span<float> given = {})
        : DualSolver(examples, Y, false, given), alpha_(static_cast<std::size_t>(examples.N() * machine::padded(Y))) {}

    machine::AlignedVector<float> alpha_; // [N][S]
};

} // namespace chaffinch::learners
