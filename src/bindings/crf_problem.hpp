// The CRF's training set as Python hands it over, with the arrays it looks into.
#pragma once

#include "arrays.hpp"
#include "converters.hpp"
#include "crf.hpp"
#include "feature_values.hpp"
#include "score.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace chaffinch::bindings {

template <class T, std::size_t Dims> using Maybe = std::optional<In<T, Dims>>;

template <class Array> auto pointer(const std::optional<Array>& a) { return a ? a->data() : nullptr; }

// The training set with the arrays it looks into. Everything is checked here, once.
class Problem {
  public:
    Problem(In<std::int64_t> sentences, In<std::int64_t> ptr, In<std::int32_t> ids, In<std::int32_t> y,
            std::int64_t F, std::int64_t Y, int order, Maybe<float, 2> soft, Maybe<std::uint8_t, 2> allowed,
            Maybe<float, 1> weight, Maybe<float, 2> offset, Maybe<std::int32_t, 2> observed,
            std::vector<std::int64_t> observations, Maybe<std::uint8_t, 1> trainable, bool local, Maybe<float, 2> cost,
            Maybe<float, 1> chain, Maybe<std::int32_t, 1> state_label, Maybe<std::uint8_t, 2> state_follows,
            Maybe<std::uint8_t, 1> state_starts, Maybe<std::uint8_t, 1> held, Values values)
        : sentences_(std::move(sentences)), ptr_(std::move(ptr)), ids_(std::move(ids)), y_(std::move(y)),
          soft_(std::move(soft)), allowed_(std::move(allowed)), weight_(std::move(weight)),
          offset_(std::move(offset)), observed_(std::move(observed)), trainable_(std::move(trainable)), cost_(std::move(cost)),
          chain_(std::move(chain)), state_label_(std::move(state_label)), state_follows_(std::move(state_follows)),
          state_starts_(std::move(state_starts)), held_(std::move(held)), values_(std::move(values)) {
        shape = {.F = F, .Y = Y, .order = order, .local = local, .observations = std::move(observations)};
        data = {.sentences = span(sentences_), .ptr = span(ptr_), .ids = span(ids_), .y = span(y_)};
        data.soft = pointer(soft_), data.allowed = pointer(allowed_), data.weight = pointer(weight_);
        data.offset = pointer(offset_), data.observed = pointer(observed_), data.cost = pointer(cost_);
        data.chain = pointer(chain_);
        data.values = checked_values(values_, ids_.size());
        if (state_label_ && state_follows_ && state_starts_)
            data.states = {.label = span(*state_label_),
                           .follows = {state_follows_->data(), state_follows_->size()},
                           .starts = span(*state_starts_)};
        check();
    }

    const std::uint8_t* held() const { return pointer(held_); } // [chain_size]
    const std::uint8_t* trainable() const { return pointer(trainable_); }

    template <class T> T* weights(const Out<T>& w) const {
        if (w.size() != static_cast<std::size_t>(shape.size())) throw nb::value_error("weights of another size");
        return w.data();
    }

    learners::CrfShape shape;
    learners::CrfData data;

  private:
    void check() const {
        const std::int64_t Y = shape.Y;
        expect(shape.F >= 0 && Y >= 1 && Y < 32768, "CrfProblem: F must be >= 0 and 1 <= Y < 32768");
        expect(shape.order == 1 || shape.order == 2, "CrfProblem: order must be 1 or 2");
        expect(!shape.local || (shape.order == 1 && !data.soft && !data.allowed),
               "CrfProblem: local normalisation needs order 1 and hard labels");
        expect(rising(data.sentences) && rising(data.ptr), "CrfProblem: bounds must start at 0 and not fall");
        const std::int64_t T = data.T();
        expect(data.sentences.back() == T, "CrfProblem: sentences must end at the last token");
        expect(data.ptr.back() == static_cast<std::int64_t>(data.ids.size()), "CrfProblem: ptr must end at the last id");
        expect(T < (std::int64_t{1} << 31), "CrfProblem: too many tokens");
        expect(scorers::all_below(data.ids, shape.F), "CrfProblem: a feature id is out of range");
        expect(static_cast<std::int64_t>(data.y.size()) == T, "CrfProblem: y must have one label per token");
        if (!data.soft && !data.allowed) expect(scorers::all_below(data.y, Y), "CrfProblem: a label is out of range");
        const auto by_label = [&](const auto& a, const char* what) {
            if (a) expect(static_cast<std::int64_t>(a->shape(0)) == T && static_cast<std::int64_t>(a->shape(1)) == Y, what);
        };
        by_label(soft_, "CrfProblem: soft must be [tokens, labels]");
        by_label(allowed_, "CrfProblem: allowed must be [tokens, labels]");
        by_label(offset_, "CrfProblem: offset must be [tokens, labels]");
        if (cost_) {
            expect(!data.soft && !data.allowed, "CrfProblem: costs need hard labels");
            expect(static_cast<std::int64_t>(cost_->shape(0)) == Y && static_cast<std::int64_t>(cost_->shape(1)) == Y,
                   "CrfProblem: cost must be [labels, labels]");
            for (std::int64_t y = 0; y < Y; ++y)
                expect(data.cost[y * Y + y] == 0, "CrfProblem: the right label must not cost anything");
        }
        if (weight_) {
            expect(static_cast<std::int64_t>(weight_->size()) == data.N(), "CrfProblem: one weight per sentence");
            expect(std::ranges::all_of(span(*weight_), [](float k) { return k > 0; }), "CrfProblem: weights must be > 0");
        }
        if (trainable_)
            expect(static_cast<std::int64_t>(trainable_->size()) == shape.size(), "CrfProblem: trainable of another size");
        if (chain_) {
            expect(static_cast<std::int64_t>(chain_->size()) == shape.chain_size(), "CrfProblem: chain of another size");
            expect(std::ranges::all_of(span(*chain_), [](float v) { return v < std::numeric_limits<float>::infinity(); }),
                   "CrfProblem: chain must be below infinity");
            expect(!data.soft, "CrfProblem: chain needs hard labels");
        }
        if (held_) expect(static_cast<std::int64_t>(held_->size()) == shape.chain_size(), "CrfProblem: held of another size");
        if (const std::size_t Q = data.states.label.size(); Q > 0) {
            expect(shape.order == 1 && !shape.local && !data.soft, "CrfProblem: states need order 1 and hard labels");
            expect(scorers::all_below(data.states.label, Y), "CrfProblem: a state's label is out of range");
            expect(state_follows_->shape(0) == Q && state_follows_->shape(1) == Q && data.states.starts.size() == Q,
                   "CrfProblem: follows must be [states, states], starts [states]");
        }
        const std::size_t L = shape.observations.size();
        expect(L == 0 || (observed_ && static_cast<std::int64_t>(observed_->shape(0)) == T && observed_->shape(1) == L),
               "CrfProblem: observed must be [tokens, templates]");
        for (std::size_t k = 0; L > 0 && k < observed_->size(); ++k)
            expect(observed_->data()[k] >= -1 && observed_->data()[k] < shape.observations[k % L],
                   "CrfProblem: an observation is out of range");
    }

    static bool rising(std::span<const std::int64_t> bounds) {
        return !bounds.empty() && bounds.front() == 0 && std::ranges::is_sorted(bounds);
    }

    In<std::int64_t> sentences_, ptr_;
    In<std::int32_t> ids_, y_;
    Maybe<float, 2> soft_;
    Maybe<std::uint8_t, 2> allowed_;
    Maybe<float, 1> weight_;
    Maybe<float, 2> offset_;
    Maybe<std::int32_t, 2> observed_;
    Maybe<std::uint8_t, 1> trainable_;
    Maybe<float, 2> cost_;
    Maybe<float, 1> chain_;
    Maybe<std::int32_t, 1> state_label_;
    Maybe<std::uint8_t, 2> state_follows_;
    Maybe<std::uint8_t, 1> state_starts_, held_;
    Values values_;
};

inline bool permutes(std::span<const std::int64_t> order, std::int64_t N) {
    std::vector<bool> seen(static_cast<std::size_t>(N), false);
    if (static_cast<std::int64_t>(order.size()) != N) return false;
    for (const std::int64_t n : order) {
        if (n < 0 || n >= N || seen[static_cast<std::size_t>(n)]) return false;
        seen[static_cast<std::size_t>(n)] = true;
    }
    return true;
}

template <class Array> auto copied(const Array& a) {
    const auto values = span(a);
    return std::vector<std::remove_const_t<typename decltype(values)::element_type>>(values.begin(), values.end());
}

} // namespace chaffinch::bindings
