// Block-coordinate Frank-Wolfe for the structured hinge on matchings, plain or fertile.
//
//   s     = the answer y of highest cost(y) + s(y) - s(y_n)    d_s = parts(y_n) - parts(y)
//   gap_n = C_n (hinge of s - hinge of d_n)
//   step  = min(1, gap_n / |C_n F_n (d_s - d_n)|^2)
//   d_n  += step (d_s - d_n),               w   += step C_n F_n (d_s - d_n)
//
// A pair of sentences is one vector of parts, block after block, each part with a sparse feature vector. The mean of w
// weighs step k by k and is kept as the mean of the d_n. (Lacoste-Julien et al. 2013.)
#pragma once

#include "fertile.hpp"
#include "margin_objective.hpp"
#include "part_rows.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::learners {

struct MatchingExample {
    std::int64_t n, m;
    std::vector<scorers::PartRows> blocks; // edge (, more_source, more_target), source, target
    std::vector<double> gold;     // [P] the indicator of y_n
    std::vector<double> cost;     // [P] what each part of an answer costs
    double C;                     // the weight of its hinge
};

class MatchingFrankWolfe {
  public:
    MatchingFrankWolfe(std::vector<MatchingExample> examples, std::int64_t F, bool fertile, bool average);

    std::size_t size() const { return examples_.size(); }

    // Visits these examples; writes each one's gap before its visit. gaps [N]
    void run(std::span<const std::int64_t> order, std::span<double> gaps);

    // Primal and dual of the weights that `weights` gives; for the last weights also each example's gap.
    MarginObjective measured(std::span<double> gaps);

    void weights(std::span<double> out) const; // [F] the last ones, or their mean

  private:
    struct Dual { // of one example
        std::vector<double> delta, mean;
        double loss = 0, mean_loss = 0, since = 0;
    };

    void visit(std::size_t n, double& gap);
    double hinge(const MatchingExample& x, std::span<const double> w, double& cost); // finds potentials_ and answer_
    double squared_length(const MatchingExample& x, std::span<const double> change);
    double mean(std::span<double> w) const;

    std::vector<MatchingExample> examples_;
    bool fertile_, average_;
    double step_ = 0;
    std::vector<Dual> duals_;
    std::vector<double> w_;

    structures::FertilePlaces places_;
    std::vector<double> potentials_, augmented_, change_, moved_; // [P], [P], [P], [F] zero between visits
    std::vector<std::int32_t> links_, touched_;
    std::vector<double> answer_; // [P] its indicator
};

} // namespace chaffinch::learners
