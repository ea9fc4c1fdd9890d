// L-BFGS and OWL-QN on the chain likelihood: the weights that are trained, packed tight, and the objective around them.
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

    // One step; w [size] is what it reached. False: nothing lowers the objective any further.
    bool iterate(float* w);

    double value() const { return lbfgs_->value(); }
    double gradient_norm() const { return lbfgs_->gradient_norm(); }
    std::int64_t evaluations() const { return lbfgs_->evaluations(); }

  private:
    void unpack(const float* x, float* w) const;

    CrfObjective<float> objective_;
    std::vector<std::int64_t> places_; // of the packed weights in w
    machine::AlignedVector<float> w_, gradient_;
    std::unique_ptr<Lbfgs> lbfgs_;
};

} // namespace chaffinch::learners
