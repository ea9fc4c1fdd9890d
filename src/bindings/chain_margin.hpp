// Shared by the bindings of margin learners on chains: sentences, features, gold labels and masks, checked once.
#pragma once

#include "chain_hinge.hpp"
#include "labelled.hpp"
#include "observations.hpp"

#include <cmath>
#include <optional>
#include <utility>

namespace chaffinch::bindings::online {

// Each position's features must rise, since monomials are numbered by them.
inline void check_lists(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, std::int64_t D) {
    expect(!ptr.empty() && ptr.front() == 0 && std::ranges::is_sorted(ptr) &&
               ptr.back() == static_cast<std::int64_t>(ids.size()),
           "ptr must rise from 0 to len(ids)");
    expect(scorers::all_below(ids, D), "a feature id is out of range");
    for (std::size_t t = 0; t + 1 < ptr.size(); ++t)
        for (std::int64_t k = ptr[t] + 1; k < ptr[t + 1]; ++k)
            expect(ids[k - 1] < ids[k], "the features of a position must rise, each once");
}

// The arrays live as long as this.
class ChainMargin {
  public:
    ChainMargin(In<std::int64_t> sentences, std::optional<In<std::int64_t>> ptr, std::optional<In<std::int32_t>> ids,
                std::optional<In<float, 2>> rows, In<std::int32_t> gold, std::int64_t F, std::int64_t Y,
                std::int64_t pair, std::int64_t start, std::int64_t end, std::int64_t cells, const In<double>& C,
                Maybe<std::uint8_t, 2> transitions, Maybe<std::uint8_t, 1> start_allowed,
                Maybe<std::uint8_t, 1> end_allowed, Values values)
        : sentences_(std::move(sentences)), ptr_(std::move(ptr)), ids_(std::move(ids)), rows_(std::move(rows)),
          gold_(std::move(gold)), transitions_(std::move(transitions)), start_allowed_(std::move(start_allowed)),
          end_allowed_(std::move(end_allowed)), values_(std::move(values)), F_(F), cells_{.Y = Y, .S = machine::padded(Y), .pair = pair, .start = start, .end = end} {
        const auto fits = [&](std::int64_t at, std::int64_t n) { return at >= F * cells_.S && at + n <= cells; };
        const auto labels = static_cast<std::size_t>(Y);
        expect(F >= 0 && Y >= 1, "F must be >= 0 and Y >= 1");
        expect(fits(pair, Y * cells_.S) && fits(start, cells_.S) && fits(end, cells_.S),
               "pair, start and end must lie after unary, within w");
        expect(sentences_.size() > 0 && span(sentences_).front() == 0 && std::ranges::is_sorted(span(sentences_)) &&
                   span(sentences_).back() == static_cast<std::int64_t>(gold_.size()),
               "sentences must rise from 0 to the number of labels");
        expect(C.size() + 1 == sentences_.size() &&
                   std::ranges::all_of(span(C), [](double c) { return c >= 0 && std::isfinite(c); }),
               "C must have one number per sentence, at least 0");
        expect(scorers::all_below(span(gold_), Y), "a label is out of range");
        expect(!transitions_ || (transitions_->shape(0) == labels && transitions_->shape(1) == labels),
               "transitions must be [labels, labels]");
        expect(!start_allowed_ || start_allowed_->size() == labels, "start_allowed must be [labels]");
        expect(!end_allowed_ || end_allowed_->size() == labels, "end_allowed must be [labels]");
        expect(rows_.has_value() != ptr_.has_value() && ptr_.has_value() == ids_.has_value(),
               "features are either ptr and ids, or rows");
    }

    std::size_t sentences() const { return sentences_.size() - 1; }

    void check_order(std::span<const std::int64_t> order) const {
        const auto N = static_cast<std::int64_t>(sentences());
        expect(std::ranges::all_of(order, [N](std::int64_t n) { return n >= 0 && n < N; }),
               "order has a number that is not a sentence");
    }

    // Calls made(hinge) with the interpreter's lock released; the hinge is over rows of numbers or over lists of features.
    template <class Made> void open(bool slack, Made&& made) const {
        if (rows_) {
            expect(rows_->shape(0) == gold_.size() && rows_->shape(1) == static_cast<std::size_t>(F_),
                   "rows must be [labels given, F]");
            Unlocked released;
            made(hinge(scorers::DenseObservations(rows_->data(), F_), slack));
        } else {
            check_examples({span(sentences_), span(*ptr_), span(*ids_)}, F_);
            const float* v = checked_values(values_, ids_->size());
            Unlocked released;
            made(hinge(scorers::SparseObservations(span(*ptr_), span(*ids_), F_, v), slack));
        }
    }

    // The same over products of features.
    template <class Made> void open(const scorers::MonomialMap& map, Made&& made) const {
        expect(ptr_.has_value(), "products are of features given as ptr and ids");
        expect(!values_, "products of features have no values");
        check_lists(span(*ptr_), span(*ids_), map.features());
        expect(ptr_->size() == gold_.size() + 1, "there must be one label per position");
        expect(map.rows() == F_, "F must be the number of monomials");
        Unlocked released;
        made(hinge(scorers::MonomialObservations(span(*ptr_), span(*ids_), map), false));
    }

  private:
    template <class Observations> auto hinge(Observations x, bool slack) const {
        const learners::ChainMasks masks{
            .transitions = pointer(transitions_), .start = pointer(start_allowed_), .end = pointer(end_allowed_)};
        return learners::ChainHinge<Observations>(std::move(x), span(sentences_), span(gold_), cells_, masks, slack);
    }

    In<std::int64_t> sentences_;
    std::optional<In<std::int64_t>> ptr_;
    std::optional<In<std::int32_t>> ids_;
    std::optional<In<float, 2>> rows_;
    In<std::int32_t> gold_;
    Maybe<std::uint8_t, 2> transitions_;
    Maybe<std::uint8_t, 1> start_allowed_, end_allowed_;
    Values values_;
    std::int64_t F_;
    learners::ChainCells cells_;
};

} // namespace chaffinch::bindings::online
