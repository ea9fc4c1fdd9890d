// Block-coordinate Frank-Wolfe for the structured hinge on a first-order chain.
//
//   P(w) = |w|^2 / 2 + sum_n C_n H_n(w)   H_n = max over y of  cost(y) + s(y) - s(y_n)        cost: wrong labels
//   D(d) = sum_n C_n l_n - |w|^2 / 2      w   = sum_n C_n F_n d_n
//
// Each sentence keeps a mixture of planes: a difference d_n of parts (rows [T][S] and label pairs [Y][S]) and a loss l_n,
// both zero at first. A visit finds the highest plane s by Viterbi with the cost added, and moves towards it:
//
//   gap  = C_n (hinge(s) - hinge(d_n)),  step = min(1, gap / |C_n F_n (s - d_n)|^2)
//   d_n += step (s - d_n),               w   += step C_n F_n (s - d_n)
//
// |F_n d|^2 follows from the inner products of a sentence's positions, which are computed once, so the weights are read
// once to score and written once to move. The mean of w weighs step k by k and is kept as the mean of the d_n.
// (Lacoste-Julien et al. 2013.)
#pragma once

#include "aligned.hpp"
#include "chain_hinge.hpp"
#include "margin_objective.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::learners {

template <class Observations> class ChainFrankWolfe {
  public:
    ChainFrankWolfe(ChainHinge<Observations> hinge, std::int64_t size, // of w
                    std::span<const double> C,                         // [N] the weight of each sentence's hinge
                    bool average);

    // Visits these sentences; writes each one's gap before its visit. gaps [N]
    void run(std::span<const std::int64_t> order, std::span<double> gaps);

    // Primal and dual of the weights that `weights` gives; for the last weights also each sentence's gap.
    MarginObjective measured(std::span<double> gaps);

    void weights(std::span<float> out); // [size] the last ones, or their mean

  private:
    struct Block { // of sentence n
        std::int64_t from, T; // its tokens
        float *nodes, *pairs; // [T][S], [Y][S]
        double* loss;
    };

    Block block(std::int64_t n, machine::AlignedVector<float>& nodes, machine::AlignedVector<float>& pairs, std::vector<double>& losses);
    void visit(std::int64_t n, double& gap);
    double aligned(const float* w, const Block& b) const;
    void move(const Block& change, float step, float* w);
    double squared_length(std::int64_t n, const Block& change);
    void leave(std::int64_t n, double weight);
    void mean(std::span<float> w, double& losses);

    ChainHinge<Observations> hinge_;
    ChainCells cells_;
    std::vector<double> C_;
    bool average_;
    machine::AlignedVector<float> w_;
    machine::AlignedVector<float> nodes_, pairs_, mean_nodes_, mean_pairs_;
    std::vector<double> losses_, mean_losses_, since_;
    double step_ = 0;

    machine::AlignedVector<float> change_nodes_, change_pairs_;
};

extern template class ChainFrankWolfe<scorers::SparseObservations>;
extern template class ChainFrankWolfe<scorers::DenseObservations>;
extern template class ChainFrankWolfe<scorers::MonomialObservations>;

} // namespace chaffinch::learners
