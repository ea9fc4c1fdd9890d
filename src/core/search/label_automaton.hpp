// A finite automaton of the legal labellings: allowed transitions, first and last labels, and labels that need an
// earlier one ("I needs a B since the last SEP").
//
// A state is the last label and one bit per need, set while the need is met. A labelling is legal if the automaton can
// read it and may end there. While a sentence is being labelled in any order,
//
//   F[t]  states that some filling of the undecided positions before t can reach
//   B[t]  states from which some filling of the positions from t on can end
//   y may stand at t  iff  some q in F[t] has next(q, y) in B[t+1]
//
// so a choice that leaves no legal completion is never offered, whichever side the decided labels are on. Other rules
// are given as a table of states; labels may also be barred at positions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::search {

class LabelAutomaton {
  public:
    // label may only stand where `needs` stands earlier, with no `since` in between (since = -1: anywhere earlier).
    struct Need {
        std::int32_t label, needs, since;
    };

    LabelAutomaton(std::int64_t Y, const std::uint8_t* transitions, // [Y][Y]
                   const std::uint8_t* start, const std::uint8_t* end, // [Y]
                   std::span<const Need> needs);

    // Any automaton whose states know the last label. State 0 is the start; label [Q], -1 for the start; next [Q][Y],
    // -1 if the label is not allowed; final [Q]. Every label has a state.
    LabelAutomaton(std::int64_t Y, std::span<const std::int32_t> label, std::span<const std::int32_t> next,
                   std::span<const std::uint8_t> final);

    static constexpr std::int32_t none = -1;
    using Word = std::uint64_t;

    std::int64_t labels() const { return Y_; }
    std::int64_t states() const { return Q_; }
    std::int64_t words() const { return W_; } // of a set of states

    std::int32_t next(std::int64_t q, std::int64_t y) const { return next_[q * Y_ + y]; }
    // The state after y if no legal path leads there: every need counts as met; with a table of states, the first state
    // of y.
    std::int32_t after(std::int64_t y) const { return after_[y]; }

    // The last label of a state other than the start.
    std::int64_t label(std::int64_t q) const { return label_[q]; }

    const Word* successors(std::int64_t q) const { return successors_.data() + q * W_; }
    const Word* final() const { return final_.data(); }

  private:
    std::int64_t Y_, Q_, W_;
    std::vector<std::int32_t> next_;  // [Q][Y]
    std::vector<std::int32_t> label_; // [Q]
    std::vector<std::int32_t> after_; // [Y]
    std::vector<Word> successors_;   // [Q][W]
    std::vector<Word> final_;        // [W]
};

// F and B of one sentence.
class LegalLabels {
  public:
    explicit LegalLabels(const LabelAutomaton* automaton) : a_(automaton) {}

    bool constrained() const { return a_ != nullptr; }

    // barred [T][Y]: labels that may not stand at a position; null: none.
    void open(std::int64_t T, const std::uint8_t* barred = nullptr);

    // Position t gets label y. Positions whose legal labels may have changed lie in [first, last]; forward: only
    // position t + 1 is of interest.
    struct Range {
        std::int64_t first, last;
    };
    Range decide(std::int64_t t, std::int32_t y, bool forward);

    // mask[y] = 0 if y is legal at t, else -inf; all 0 if no label is legal.
    void mask(std::int64_t t, float* mask) const; // [Y]

  private:
    using Word = LabelAutomaton::Word;

    Word* forward(std::int64_t t) { return forward_.data() + t * a_->words(); }
    Word* backward(std::int64_t t) { return backward_.data() + t * a_->words(); }
    const Word* forward(std::int64_t t) const { return forward_.data() + t * a_->words(); }
    const Word* backward(std::int64_t t) const { return backward_.data() + t * a_->words(); }
    void find_open(std::int64_t T);
    void sweep(std::int64_t T);
    void bar(std::int64_t T, const std::uint8_t* barred);
    const Word* allowed(std::int64_t t) const { return allowed_.empty() ? nullptr : allowed_.data() + t * a_->words(); }
    bool step_forward(std::int64_t t);  // F[t+1] from F[t]; did it change?
    bool step_backward(std::int64_t t); // B[t] from B[t+1]; did it change?

    const LabelAutomaton* a_;
    std::int64_t T_ = 0;
    std::vector<std::int32_t> fixed_;      // [T] label or none
    std::vector<Word> forward_, backward_; // [T+1][W]
    std::vector<Word> made_;               // [W]
    std::vector<Word> allowed_;            // [T][W] states that may be entered at a position; empty: all
    std::vector<Word> open_forward_, open_backward_; // of the longest sentence so far, while nothing was decided
};

} // namespace chaffinch::search
