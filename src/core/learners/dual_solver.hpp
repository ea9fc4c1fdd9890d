// What every dual solver keeps, and what it has reached: coefficients d_n of the examples and the weights they add up to.
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
    double primal = 0, dual = 0; // the optimum of both lies between
};

class DualSolver {
  public:
    virtual ~DualSolver() = default;

    DualObjective objective(std::size_t threads) const; // sums in blocks, in their order

    void scores(std::span<const std::int64_t> which, float* out) const; // [which][S]
    void weights(float* w) const;                                       // [F+1][S]
    machine::AlignedVector<float> release();                                     // the same; the solver is used up

    // Weights [F+1][S] that other examples have moved as well; every feature must be shared.
    void load(std::span<const float> w) { std::ranges::copy(w, w_.begin()); }

    // The dual variables [N][S] of an earlier pass.
    virtual void resume(std::span<const float> duals) = 0;
    bool whole() const { return x_.whole(); }

    std::int64_t S() const { return machine::padded(Y_); }

    // As if no pass had been made.
    virtual void restart() { std::ranges::fill(w_, 0.0f); }

  protected:
    // given: weights [F+1][S] of the caller, which are moved instead of the solver's own; every feature is then shared
    DualSolver(const features::Examples& examples, std::int64_t Y, bool whole = false, std::span<float> given = {})
        : x_(examples, whole || !given.empty()), Y_(Y),
          held_(given.empty() ? static_cast<std::size_t>((x_.rows().F + 1) * machine::padded(Y)) : 0),
          w_(given.empty() ? std::span<float>(held_) : given) {}
    DualSolver(DualSolver&&) = default;
    DualSolver& operator=(DualSolver&&) = default;

    // d_n [S].
    virtual void coefficients(std::int64_t n, float* d) const = 0;

    // What the examples of a block add: given their scores [end - begin][S], their losses to `primal` and their
    // variables' shares to `dual`.
    virtual void add_losses(std::int64_t begin, std::int64_t end, const float* scores, DualObjective& sum) const = 0;

    // -d_n x_n of these is added to the weights.
    void take_out(std::span<const std::int64_t> which);

    SharedRows x_;
    std::int64_t Y_;
    machine::AlignedVector<float> held_;
    std::span<float> w_; // [shared features + 1][S]
};

// Variables a_n [S] that are zero at first, some of which may rest.
class RestingSolver : public DualSolver {
  public:
    // Those that rest are looked at again.
    virtual void wake() = 0;

    // The weights as if these examples had never been met.
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
