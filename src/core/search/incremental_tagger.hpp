// A trained incremental tagger: rows of features and observations in, labels out, many sentences at a time.
#pragma once

#include "beam.hpp"
#include "incremental.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace chaffinch::search {

// Outputs for each decision, by token. A null pointer: not wanted.
struct Decisions {
    std::int32_t* labels = nullptr; // [tokens]
    std::int32_t* order = nullptr;  // [tokens] the step at which it was decided, from 0
    float* scores = nullptr;        // [tokens][Y] of all labels when it was decided; -inf: not legal
    float* p = nullptr;             // [tokens][Y] their softmax over the legal labels
};

class IncrementalTagger {
  public:
    // w [F + 1][Y] rows of features and a row of zeros; contexts: a key and a row of weights each, by template.
    IncrementalTagger(std::int64_t F, std::int64_t Y, std::span<const float> unary, // [F][Y]
                      std::vector<LabelContext::Template> templates,
                      std::span<const std::int32_t> context_template, // [C]
                      std::span<const std::uint64_t> context_key,     // [C]
                      std::span<const float> context_weights,         // [C][Y]
                      std::optional<LabelAutomaton> automaton);

    std::int64_t features() const { return F_; }
    std::int64_t labels() const { return context_.labels(); }
    std::int64_t templates() const { return context_.size(); }
    const LabelContext& context() const { return context_; }

    void tag(const Observed& x, Direction direction, Ease ease, float temperature, std::size_t threads,
             const Decisions& out) const;

    // The k best of the beam: k rows of length T_n for sentence n at k * sentences[n], as LinearChain::kbest.
    void beam(const Observed& x, std::int64_t width, std::int64_t k, std::size_t threads,
              std::span<std::int32_t> labels, std::span<double> scores, std::span<std::int64_t> found) const;

  private:
    const LabelAutomaton* automaton() const { return automaton_ ? &*automaton_ : nullptr; }

    std::int64_t F_;
    LabelContext context_;
    std::optional<LabelAutomaton> automaton_;
    machine::AlignedVector<float> w_;
};

} // namespace chaffinch::search
