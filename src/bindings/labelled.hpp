// Shared by the bindings of online trainers: examples checked once, rules by name, counts, means.
#pragma once

#include "arrays.hpp"
#include "feature_values.hpp"
#include "linear_chain.hpp"
#include "online.hpp"
#include "score.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>

namespace chaffinch::bindings {

namespace online {

template <class T, std::size_t Dims> using Maybe = std::optional<In<T, Dims>>;

template <class Array> auto pointer(const std::optional<Array>& a) { return a ? a->data() : nullptr; }

inline learners::AnyRule rule_named(const std::string& name, double amount) {
    if (name == "perceptron") return learners::PerceptronRule{};
    if (name == "margin-perceptron") return learners::MarginPerceptronRule{.step = static_cast<float>(amount)};
    if (name == "pa") return learners::PassiveAggressiveRule{.C = amount, .tau = {}, .length = {}};
    if (name == "mira") return learners::MiraRule{.C = amount, .tau = {}, .length = {}};
    if (name == "arow") return learners::ArowRule{.r = amount};
    throw nb::value_error("rule must be perceptron, margin-perceptron, pa, mira or arow");
}

inline void check_examples(const scorers::SentenceRows& x, std::int64_t F) {
    const auto rising = [](std::span<const std::int64_t> bounds) {
        return !bounds.empty() && bounds.front() == 0 && std::ranges::is_sorted(bounds);
    };
    expect(rising(x.sentences) && rising(x.ptr), "bounds must start at 0 and not fall");
    expect(x.sentences.back() == static_cast<std::int64_t>(x.ptr.size()) - 1, "sentences must end at the last token");
    expect(x.ptr.back() == static_cast<std::int64_t>(x.ids.size()), "ptr must end at the last id");
    expect(scorers::all_below(x.ids, F), "a feature id is out of range");
}

// Sentences with features and labels, checked once; the arrays live as long as this.
class Labelled {
  public:
    Labelled(In<std::int64_t> sentences, In<std::int64_t> ptr, In<std::int32_t> ids, In<std::int32_t> gold,
             std::int64_t F, std::int64_t Y, Values values)
        : sentences_(std::move(sentences)), ptr_(std::move(ptr)), ids_(std::move(ids)), gold_(std::move(gold)),
          values_(std::move(values)) {
        examples = {span(sentences_), span(ptr_), span(ids_), checked_values(values_, ids_.size())};
        expect(F >= 0 && Y >= 1, "F must be >= 0 and Y >= 1");
        check_examples(examples, F);
        const auto T = static_cast<std::int64_t>(examples.ptr.size()) - 1;
        expect(static_cast<std::int64_t>(gold_.size()) == T, "there must be one label per token");
        expect(scorers::all_below(span(gold_), Y), "a label is out of range");
    }

    std::span<const std::int32_t> gold() const { return span(gold_); }
    std::int64_t tokens() const { return static_cast<std::int64_t>(gold_.size()); }

    void check_order(std::span<const std::int64_t> order) const {
        const auto N = static_cast<std::int64_t>(examples.size());
        expect(std::ranges::all_of(order, [N](std::int64_t n) { return n >= 0 && n < N; }),
               "order has a number that is not a sentence");
    }

    scorers::SentenceRows examples;

  private:
    In<std::int64_t> sentences_, ptr_;
    In<std::int32_t> ids_, gold_;
    Values values_;
};

inline nb::ndarray<nb::numpy, float, nb::ndim<1>> mean_of(const learners::OnlineWeights& weights, bool average) {
    std::vector<float> out(static_cast<std::size_t>(weights.size()));
    if (average)
        weights.averaged(out);
    else
        std::copy_n(weights.w(), weights.size(), out.data());
    return given(std::move(out));
}

inline std::tuple<std::int64_t, std::int64_t, std::int64_t> counted(const learners::Tally& tally) {
    return {tally.decisions, tally.mistakes, tally.updates};
}

} // namespace online

} // namespace chaffinch::bindings
