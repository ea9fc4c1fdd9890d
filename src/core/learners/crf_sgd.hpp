// Stochastic gradient descent on the L2-penalised chain likelihood, with a rate that falls linearly to zero.
//
//   per sentence:   w <- (1 - eta lambda) w  -  eta k_n F_n(expected - gold),     lambda = 2 c2 / N
//   eta = rate (1 - t / (epochs N))                                               t: sentences seen so far
//
// w is kept as s v with one scale s, so that shrinking costs nothing. The small rates of the last epochs replace
// averaging, but the schedule must be run to its end.
//
// Sentences are taken in blocks: those of a block are all scored under the w that the block before left, and move w in
// their order. A small block does not slow convergence, and the chain's weights are prepared once per block.
//
// Two threads go through a block in three steps: each gathers what its half of the features adds to the scores; they share
// the sentences; each moves the weights of its half. The result is that of one thread.
#pragma once

#include "crf.hpp"
#include "decaying_steps.hpp"
#include "feature_halves.hpp"
#include "partners.hpp"
#include "random.hpp"

#include <array>
#include <atomic>

namespace chaffinch::learners {

struct CrfSgdSettings {
    double c2 = 1;
    double rate = 0.2;
    std::int64_t epochs = 5;
    std::int64_t block = 8; // at most
    std::uint64_t seed = 1;
    std::int64_t sentences = 0; // N of the whole training set; 0: of the data
};

class CrfSgd {
  public:
    CrfSgd(const CrfShape& shape, const CrfData& data, const CrfSgdSettings& settings, const std::uint8_t* trainable);

    // One shuffled epoch; returns the sum of the losses. w has scale 1 when it returns.
    // threads: 1, or more (0: all cores) for two.
    double epoch(float* w, std::size_t threads);

    // Sentences of the data in this order, as part of an epoch: t of the first is `met`. The weights are `scale` times
    // w, before and after, so that parts of a training set outside memory follow one another at no cost. Returns the
    // sum of the losses.
    double part(std::span<const std::int64_t> order, std::int64_t met, double& scale, float* w, std::size_t threads);

    // The state that, with w, resumes this run exactly: the order, then sentences seen and the generator's state.
    std::vector<std::int64_t> state() const;
    void restore(std::span<const std::int64_t> state);

  private:
    struct Worker { // what belongs to one thread
        Worker(const CrfShape& shape, const CrfData& data, int h) : half(h), oracle(shape, data) {}
        FeatureHalf half;
        CrfOracle<float> oracle;
        CrfParts<float> gold;
    };

    std::int64_t plan(std::span<const std::int64_t> order, std::int64_t from, std::int64_t& met, DecayingSteps& steps);
    std::int64_t descend(std::span<const std::int64_t> order, std::int64_t from, std::int64_t to, float* w);
    std::int64_t descend_half(std::span<const std::int64_t> order, std::int64_t from, std::int64_t to, int h, float* w);
    double loss(std::int64_t n, std::size_t i, Worker& mine);

    const CrfShape& shape_;
    const CrfData& data_;
    CrfSgdSettings settings_;
    const std::uint8_t* trainable_;
    std::array<Worker, 2> workers_;
    machine::Partners partners_;
    std::atomic<std::size_t> next_{0};   // of the block's sentences
    std::vector<CrfParts<float>> parts_; // [block]  expected - gold
    std::vector<std::int64_t> order_;    // [N]
    std::vector<float> steps_, scales_;  // of the sentences in order; scales before each
    std::vector<double> losses_;
    machine::Random random_;
    std::int64_t met_ = 0;
};

} // namespace chaffinch::learners
