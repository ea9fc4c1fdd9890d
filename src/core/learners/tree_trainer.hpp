// Online training of linear models of trees.
//
//   likelihood  delta = parts(y) - marginals
//   hinge       delta = parts(y) - parts(argmax of potentials + cost)      (cost: 1 for each node not in y)
//   perceptron  delta = parts(y) - parts(argmax of potentials)
//
//   g = k F' delta    w += rate g                                   or, adaptive (AdaGrad, Duchi et al. 2011),
//                     G += g^2,  w += rate g / sqrt(G)              a rate per weight, with G starting at `start`
#pragma once

#include "aligned.hpp"
#include "tree.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::learners {

// Sentences end to end. Of sentence n: words bounds[n] .. bounds[n + 1]; its spans' rows follow each other in ptr.
struct TreeExamples {
    std::span<const std::int64_t> bounds; // [N+1] in words
    std::span<const std::int64_t> ptr;    // [rows+1] into ids
    std::span<const std::int32_t> ids;    // features
    std::span<const std::int32_t> nodes;  // [sum of 2T-1][3] the gold trees
    const std::uint8_t* open;             // [rows]; or null
    const float* weight;                  // [N] sentence weights; or null: all 1
    std::vector<std::int64_t> rows;       // [N+1] where the spans of a sentence begin
};

// Where the blocks lie in w: span [F][span_stride], left and right [Y][pair_stride].
struct TreeLayout {
    std::int64_t F, Y, span_stride, left, right, pair_stride, cells;
};

enum class TreeLoss { likelihood, hinge, perceptron };

struct TreeRule {
    TreeLoss loss;
    bool adaptive;
    float rate, start;
    float dropout; // fraction of features dropped per sentence
    std::uint64_t seed;
};

class TreeTrainer {
  public:
    // masks: the fields of `like` that are no potentials
    TreeTrainer(TreeExamples examples, TreeLayout layout, structures::TreePotentials<float> like, TreeRule rule);

    struct Pass {
        double loss;        // log-loss or hinge, summed by weight
        std::int64_t wrong; // sentences that caused an update, or with a likelihood below 1/2
    };
    Pass epoch(std::span<const std::int64_t> order);

    // w, or its mean over the steps so far, scaled for use without dropout.
    void weights(bool average, std::span<float> out) const; // [cells]

  private:
    double move(std::int64_t n);
    void score(std::int64_t n);
    void answer(const structures::TreeNode* nodes, float sign);
    void gather(float weight);
    void apply();
    void step(std::int64_t cell, const float* g, std::int64_t count);

    TreeExamples examples_;
    TreeLayout layout_;
    structures::TreePotentials<float> like_;
    TreeRule rule_;
    machine::AlignedVector<float> w_, mean_, squares_;
    std::int64_t time_ = 0;

    // Of the sentence at hand.
    structures::TreePotentials<float> potentials_{};
    machine::AlignedVector<float> rows_, delta_, left_, right_, left_delta_, right_delta_, gradient_;
    std::vector<std::int64_t> ptr_;
    std::vector<std::int32_t> ids_, touched_, slot_;
};

} // namespace chaffinch::learners
