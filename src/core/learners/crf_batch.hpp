// L-BFGS and OWL-QN on the chain likelihood, over the trained weights packed into one vector.
//
// With an L1 penalty nearly all weights are zero at the optimum, and stay zero on the way. So OWL-QN moves only an
// active set: the non-zero weights and those whose gradient exceeds c1. Rows without an active weight are left out of
// the data. After convergence, widen() checks the gradient of all weights and rebuilds the set, for the same c1 or a
// smaller one: starting with large penalties keeps the set small throughout (Friedman, Hastie and Tibshirani 2010,
// "Regularization paths for generalized linear models via coordinate descent").
#pragma once

#include "crf_objective.hpp"
#include "lbfgs.hpp"

#include <memory>

namespace chaffinch::learners {

class CrfBatch {
  public:
    // Starts at w. With `fisher` the starting matrix is 1 / (2 c2 + c1 + sum p (1 - p)) at w, else the identity.
    CrfBatch(const CrfShape& shape, const CrfData& data, double c2, const std::uint8_t* trainable, const float* w,
             bool fisher, const LbfgsSettings& settings);

    // One step; writes the weights to w [size]. False: no step lowers the objective.
    bool iterate(float* w);

    // Rebuilds the active set under the L1 penalty c1 > 0, used from now on; returns how many weights outside the old
    // set had a gradient above c1.
    std::int64_t widen(double c1);

    double c1() const { return settings_.c1; }
    double value() const { return lbfgs_->value(); }
    double gradient_norm() const { return lbfgs_->gradient_norm(); } // of the active set
    std::int64_t active() const { return std::ssize(places_); }      // number of active weights
    std::int64_t evaluations() const { return evaluations_ + lbfgs_->evaluations(); }

  private:
    // The problem of the features that have an active weight.
    struct ActiveProblem {
        CrfShape shape;
        CrfData data;
        std::vector<std::int64_t> ptr;
        std::vector<std::int32_t> ids;
        std::vector<float> values;
        std::vector<std::uint8_t> trainable;
        std::unique_ptr<CrfObjective<float>> objective;
        machine::AlignedVector<float> w, gradient;
    };

    template <class Use> void each_weight(Use&& use) const;
    void choose_active();
    void make_part(const std::vector<std::int32_t>& row_of);
    void begin();
    void unpack(const float* x, float* w) const;

    const CrfShape& shape_;
    const CrfData& data_;
    double c2_;
    const std::uint8_t* trainable_;
    bool fisher_;
    LbfgsSettings settings_;
    CrfObjective<float> objective_;
    machine::AlignedVector<float> w_, gradient_;
    std::unique_ptr<ActiveProblem> active_problem_;       // null: all features are there
    std::vector<std::int64_t> places_; // of the packed weights in w
    std::vector<std::int64_t> inside_; // of the same in the weights of the part
    std::unique_ptr<Lbfgs> lbfgs_;
    std::int64_t evaluations_ = 0; // in addition to those of lbfgs_
};

} // namespace chaffinch::learners
