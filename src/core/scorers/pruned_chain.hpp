// A trained chain of many labels: rows of feature ids in, labels out, by the lattices of lattice.hpp.
#pragma once

#include "lattice.hpp"
#include "linear_chain.hpp"

namespace chaffinch::scorers {

// If the states of a sentence allow no labelling, the threshold is lowered until one is possible; if all labels
// together allow none, every token gets the likeliest label of its own features.
class PrunedChain {
  public:
    PrunedChain(std::vector<std::int64_t> ptr, std::vector<std::uint16_t> labels, std::vector<float> weights,
                std::vector<float> start, std::vector<float> end, std::vector<float> pair, const structures::Pruning& pruning)
        : ptr_(std::move(ptr)), labels_(std::move(labels)), weights_(std::move(weights)), start_(std::move(start)),
          end_(std::move(end)), pair_(std::move(pair)), pruning_(pruning) {}

    std::int64_t features() const { return static_cast<std::int64_t>(ptr_.size()) - 1; }
    std::int64_t labels() const { return static_cast<std::int64_t>(start_.size()); }

    // The k best of each sentence, laid out as LinearChain::kbest does.
    void kbest(const SentenceRows& x, std::int64_t k, std::size_t threads, std::span<std::int32_t> labels,
               std::span<double> scores, std::span<std::int64_t> found) const;

    // p(y_t|x), zero if y is no state of t.  out [tokens][Y], log_z [N]
    void marginals(const SentenceRows& x, std::size_t threads, std::span<float> out, std::span<double> log_z) const;

    // The total number of states of all tokens.
    std::int64_t states(const SentenceRows& x, std::size_t threads) const;

  private:
    structures::LatticeWeights weights() const;

    std::vector<std::int64_t> ptr_;
    std::vector<std::uint16_t> labels_;
    std::vector<float> weights_, start_, end_, pair_;
    structures::Pruning pruning_;
};

} // namespace chaffinch::scorers
