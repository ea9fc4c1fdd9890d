// A sentence being labelled: what is decided, what each undecided position scores, what is legal there.
//
//   scores(t)[y] = sum over the features f at t of w[f][y]  +  sum over the label templates l of w[row_l(t)][y]
//
// always added in one order (see sum_rows), so that scores do not depend on the order in which neighbours were decided.
// The first sum is computed once; only the rows that read the label just decided are looked up again.
#pragma once

#include "agenda.hpp"
#include "aligned.hpp"
#include "label_automaton.hpp"
#include "label_context.hpp"
#include "linear_chain.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::search {

// Sentences as rows of features and observations.
struct Observed {
    scorers::SentenceRows examples;
    const std::int32_t* observations = nullptr; // [tokens][columns of the label templates]
    const std::int32_t* known = nullptr;        // [tokens] a label that needs no search, or -1; null: none is known
    const std::uint8_t* barred = nullptr;       // [tokens][Y] labels that may not stand there; null: none
};

// A label for a position.
struct Choice {
    std::int32_t label = -1;
    float score = 0;
    float margin = 0; // above the next best legal label, +inf if there is none
};

class LabelState {
  public:
    LabelState(const LabelContext& context, const LabelAutomaton* automaton)
        : context_(context), legal_(automaton), Y_(context.labels()), S_(machine::padded(Y_)) {}

    // Sentence n of x, nothing decided, nothing scored.
    void open(const Observed& x, std::int64_t n);

    std::int64_t length() const { return T_; }
    std::int64_t first_token() const { return from_; }
    bool undecided(std::int64_t t) const { return codes(t)[0] == context_.undecided(); }
    std::int32_t label(std::int64_t t) const { return codes(t)[0]; }
    const std::int32_t* codes(std::int64_t t) const { return codes_.data() + context_.left() + t; }
    std::int32_t observation(std::int64_t t, std::int64_t l) const {
        return context_.observed(l, x_.observations + (from_ + t) * context_.columns());
    }

    // The features of positions first .. last are scored: w is new, has moved, or lies elsewhere.
    void gather(std::int64_t first, std::int64_t last, const float* w);

    // The label that is known before the search, or -1.
    std::int32_t known(std::int64_t t) const { return x_.known ? x_.known[from_ + t] : -1; }

    // All known labels are decided at once, before any position is looked at.
    void decide_known();

    // All context rows of t and what is legal there, then its scores.
    void look(std::int64_t t);

    // Scores every undecided position in [first, last), like `gather` and `look`; decisions rescore no others until the
    // next call. Contexts come in any order and lie far apart: each step prefetches for the next.
    template <class Looked> void look_everywhere(std::int64_t first, std::int64_t last, const float* w, Looked&& looked) {
        in_view_first_ = first, in_view_last_ = last;
        scored_.clear();
        for (std::int64_t t = first; t < last; ++t)
            if (undecided(t)) see(t), scored_.push_back(t);
        gather_undecided(w);
        for (const std::int64_t t : scored_) find(t);
        score(scored_);
        for (const std::int64_t t : scored_) expect(t, choices_[t].label), looked(t);
    }

    const float* scores(std::int64_t t) const { return scores_.data() + t * S_; } // [Y], then -inf up to S
    bool legal(std::int64_t t, std::int64_t y) const { return !legal_.constrained() || masks_[t * S_ + y] == 0; }

    // The best legal label and its margin; of equals the smallest.
    const Choice& best(std::int64_t t) const { return choices_[t]; }

    // The best legal label if every label but gold scored one more; gold = -1: the best, with its margin.
    Choice best_with_cost(std::int64_t t, std::int32_t gold) const;

    // That label, given the best one: gold stays if it wins by more than one.
    std::int32_t rival(std::int64_t t, const Choice& choice, std::int32_t gold) const {
        return choice.label == gold && choice.margin > 1.01f ? gold : best_with_cost(t, gold).label;
    }

    // p(y) of the legal labels at t by softmax, the scores divided by `temperature`. out [Y]
    void softmax(std::int64_t t, float temperature, float* out) const;

    // For a position that is decided without a look.
    void settle(std::int64_t t, std::int32_t y);

    // For search from left to right: labels right of t have no scores yet.
    void decide_forward(std::int64_t t, std::int32_t y);

    // For use if all undecided positions will be looked at again anyway.
    void decide_unseen(std::int64_t t, std::int32_t y);

    // Calls changed(p) for every undecided position whose scores or legal labels changed.
    template <class Changed> void decide(std::int64_t t, std::int32_t y, Changed&& changed) {
        first_look_ = false;
        codes_[context_.left() + t] = y;
        find_again(t, y);
        sum(scored_);
        if (legal_.constrained()) {
            const LegalLabels::Range range = legal_.decide(t, y, false);
            std::erase_if(scored_, [&](std::int64_t p) { return p >= range.first && p <= range.last; });
            for (const std::int64_t p : scored_) choices_[p] = best_with_cost(p, -1);
            for (std::int64_t p = range.first; p <= range.last; ++p)
                if (in_view(p) && undecided(p)) restrict(p), scored_.push_back(p);
        }
        for (const std::int64_t p : scored_) changed(p);
    }

  private:
    struct Opening {
        std::int64_t rows = -1; // of the context when these were found
        std::vector<std::uint64_t> keys; // [L]
        std::vector<std::int32_t> found; // [L]
    };

    bool in_view(std::int64_t t) const { return t >= in_view_first_ && t < in_view_last_; }
    const Opening& opening(std::int64_t t);
    void gather_undecided(const float* w);
    void see(std::int64_t t);
    void find(std::int64_t t);
    void find_again(std::int64_t t, std::int32_t y);
    void score(std::span<const std::int64_t> positions);
    void sum(std::span<const std::int64_t> positions);
    void restrict(std::int64_t t);

    // Most labels that are best now will be decided: prefetches what their neighbours will then look up.
    void expect(std::int64_t t, std::int32_t y) const {
        const auto more = static_cast<std::uint64_t>(y - context_.undecided());
        for (const auto& [offset, l, stride] : context_.observing_readers()) {
            const std::int64_t p = t - offset;
            if (!in_view(p) || !undecided(p)) continue;
            const std::uint64_t k = keys_[p * context_.size() + l];
            if (k != LabelContext::blind) context_.prefetch(l, k + more * stride);
        }
    }

    const LabelContext& context_;
    LegalLabels legal_;
    std::int64_t Y_, S_;
    Observed x_;
    const float* w_ = nullptr;
    std::int64_t from_ = 0, T_ = 0;
    std::int64_t in_view_first_ = 0, in_view_last_ = 0; // where look_everywhere looked last
    std::vector<std::int32_t> codes_;  // [left + T + right]
    // While nothing is decided, what templates of labels alone see depends only on how near the sentence's ends are.
    bool first_look_ = true;
    std::vector<Opening> openings_; // [(left + 1)(right + 1)]
    std::vector<std::uint64_t> keys_;  // [T][L]
    std::vector<std::int32_t> rows_;   // [T][L]
    machine::AlignedVector<float> features_;    // [T][S]
    machine::AlignedVector<float> scores_;      // [T][S]
    machine::AlignedVector<float> masks_;       // [T][S]
    std::vector<Choice> choices_;      // [T] the best of the scores
    std::vector<std::int64_t> scored_; // positions whose scores are made again
};

// For some positions: out[y] = base[y] + sum over i of w[rows[i]][y], in four independent sums:
//   s_j = sum over i = j, j+4, j+8 ... (s_0 starts from base);   out = (s_0 + s_1) + (s_2 + s_3)
// and the best of them.
void sum_rows(std::span<const std::int64_t> positions, // below T
              const float* w,                          // [F][S]
              const std::int32_t* rows,                // [T][L]
              std::int64_t L, std::int64_t S,
              const float* base, // [T][S]
              float* out,        // [T][S]
              Choice* best);     // [T]

} // namespace chaffinch::search
