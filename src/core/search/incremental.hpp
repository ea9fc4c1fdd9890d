// Incremental search: a sequence of choices. Left to right and easiest first differ in the next position.
#pragma once

#include "agenda.hpp"
#include "label_state.hpp"
#include "online.hpp"
#include "random.hpp"
#include "stop.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::search {

enum class Direction { left_to_right, easiest_first };

// What makes a position easy: the score of its best label, or how far that lies above the next.
enum class Ease { score, margin };

// Calls decided(t, choice) for every position in the order of decision, before its label becomes context.
template <class Decided> void left_to_right(LabelState& state, const float* w, Decided&& decided) {
    state.gather(0, state.length() - 1, w);
    for (std::int64_t t = 0; t < state.length(); ++t) {
        machine::check_stop();
        Choice choice{.label = state.known(t)};
        if (choice.label >= 0) {
            state.settle(t, choice.label);
        } else {
            state.look(t);
            choice = state.best(t);
        }
        decided(t, choice);
        state.decide_forward(t, choice.label);
    }
}

// The best choice of every undecided position in [first, last), and which of them is easiest.
class Frontier {
  public:
    Frontier(LabelState& state, Ease ease) : state_(state), ease_(ease) {}

    // The whole sentence.
    void open(const float* w) { open(0, state_.length(), w); }

    // Part of it; all positions before it are decided.
    void open(std::int64_t first, std::int64_t last, const float* w) {
        if (first == 0) agenda_.open(state_.length());
        first_ = first, last_ = last;
        rescore(w);
    }

    // Every undecided position is scored afresh: w has moved, or more than one label was decided.
    void rescore(const float* w) {
        state_.look_everywhere(first_, last_, w, [&](std::int64_t t) { choose(t); });
        agenda_.refresh(first_, last_ - 1);
    }

    std::int64_t first() const { return first_; }
    std::int64_t last() const { return last_; }

    std::int64_t easiest() const { return agenda_.best(); } // -1: all is decided
    Choice choice(std::int64_t t) const { return state_.best(t); }

    void decide(std::int64_t t, std::int32_t y) {
        std::int64_t first = t, last = t;
        agenda_.priorities()[t] = Agenda::never;
        state_.decide(t, y, [&](std::int64_t p) {
            choose(p);
            first = std::min(first, p);
            last = std::max(last, p);
        });
        agenda_.refresh(first, last);
    }

    // Before a rescore.
    void decide_unseen(std::int64_t t, std::int32_t y) {
        agenda_.priorities()[t] = Agenda::never;
        state_.decide_unseen(t, y);
    }

  private:
    void choose(std::int64_t t) {
        const Choice choice = state_.best(t);
        agenda_.priorities()[t] = ease_ == Ease::score ? choice.score : choice.margin;
    }

    LabelState& state_;
    Ease ease_;
    std::int64_t first_ = 0, last_ = 0;
    Agenda agenda_;
};

template <class Decided>
void easiest_first(LabelState& state, Frontier& frontier, const float* w, Decided&& decided) {
    for (std::int64_t t = 0; t < state.length(); ++t)
        if (const std::int32_t y = state.known(t); y >= 0) {
            state.settle(t, y);
            decided(t, Choice{.label = y});
        }
    state.decide_known();
    frontier.open(w);
    for (std::int64_t t = frontier.easiest(); t >= 0; t = frontier.easiest()) {
        machine::check_stop();
        const Choice choice = frontier.choice(t);
        decided(t, choice);
        frontier.decide(t, choice.label);
    }
}

// How mistakes are dealt with while learning.
struct IncrementalSettings {
    Direction direction = Direction::left_to_right;
    Ease ease = Ease::score;
    // Easiest first: reward the best correct choice anywhere instead of the correct label at the chosen position, and
    // choose again (Goldberg and Elhadad 2010).
    bool global = false;
    int tries = 20;   // at most this many choices; then the best correct one is taken
    double own = 1.0; // probability of keeping a wrong choice as context; otherwise the gold label is used
};

// Learns from the choices of an incremental search, with one immediate update per wrong choice. An update changes the
// scores of every undecided position. Left-to-right search scores only a few positions ahead, and easiest-first search
// learns from a long sentence part by part, so time is linear in the length, not quadratic.
class IncrementalSearch {
  public:
    IncrementalSearch(const Observed& x, std::span<const std::int32_t> gold, LabelContext& context,
                      const LabelAutomaton* automaton, const IncrementalSettings& settings, std::uint64_t seed)
        : x_(x), gold_(gold), context_(context), settings_(settings), state_(context, automaton),
          frontier_(state_, settings.ease), random_(seed), update_(1) {}

    void own(double share) { settings_.own = share; }

    const scorers::SentenceRows& examples() const { return x_.examples; }

    template <class Rule> learners::Tally learn(std::int64_t n, learners::OnlineWeights& weights, Rule& rule) {
        __builtin_prefetch(gold_.data() + x_.examples.sentences[n]);
        state_.open(x_, n);
        learners::Tally tally;
        if (state_.length() == 0) return tally;
        const std::int32_t* y = gold_.data() + state_.first_token();
        if (settings_.direction == Direction::left_to_right)
            learn_forward(y, weights, rule, tally);
        else
            learn_easiest(y, weights, rule, tally);
        return tally;
    }

  private:
    static constexpr std::int64_t positions_ahead = 64, longest_stretch = 512;

    template <class Rule> void learn_forward(const std::int32_t* y, learners::OnlineWeights& weights, Rule& rule, learners::Tally& tally) {
        const std::int64_t T = state_.length();
        for (std::int64_t t = 0, scored = 0; t < T; ++t) { // scored: positions scored under the current w
            if (t == scored) {
                machine::check_stop();
                scored = std::min(T, t + positions_ahead);
                state_.gather(t, scored - 1, weights.w());
            }
            if (const std::int32_t known = state_.known(t); known >= 0) {
                state_.decide_forward(t, known);
                continue;
            }
            state_.look(t);
            const Choice choice = state_.best(t);
            const std::int32_t rival = Rule::augmented ? state_.rival(t, choice, y[t]) : choice.label;
            if (rival != y[t]) {
                correct(t, y[t], t, rival, weights, rule, tally);
                scored = t + 1;
            }
            state_.decide_forward(t, kept(choice.label, y[t], tally));
            weights.tick();
        }
    }

    template <class Rule> void learn_easiest(const std::int32_t* y, learners::OnlineWeights& weights, Rule& rule, learners::Tally& tally) {
        state_.decide_known();
        for (std::int64_t first = 0; first < state_.length(); first += longest_stretch) {
            frontier_.open(first, std::min(state_.length(), first + longest_stretch), weights.w());
            learn_stretch(y, weights, rule, tally);
        }
    }

    template <class Rule>
    void learn_stretch(const std::int32_t* y, learners::OnlineWeights& weights, Rule& rule, learners::Tally& tally) {
        int tries = 0;
        for (std::int64_t t = frontier_.easiest(); t >= 0; t = frontier_.easiest()) {
            machine::check_stop();
            const Choice choice = frontier_.choice(t);
            const std::int32_t rival = Rule::augmented ? state_.rival(t, choice, y[t]) : choice.label;
            std::int64_t right = t; // where the correct label is rewarded, and fixed if need be
            if (settings_.global && choice.label != y[t]) right = best_correct(y, t);
            const bool moved = rival != y[t];
            if (moved) correct(right, y[right], t, rival, weights, rule, tally);
            weights.tick();
            if (choice.label == y[t]) {
                ++tally.decisions;
                fix(t, y[t], moved, weights);
            } else if (!settings_.global) {
                fix(t, kept(choice.label, y[t], tally), moved, weights);
            } else {
                if (tries == 0) ++tally.mistakes;
                const bool stays = settings_.own > 0 && random_.uniform() < settings_.own;
                if (!stays && ++tries < settings_.tries) {
                    frontier_.rescore(weights.w());
                    continue;
                }
                ++tally.decisions;
                if (stays)
                    fix(t, choice.label, moved, weights);
                else
                    fix(right, y[right], moved, weights);
            }
            tries = 0;
        }
    }

    std::int32_t kept(std::int32_t label, std::int32_t gold, learners::Tally& tally) {
        ++tally.decisions;
        if (label == gold) return gold;
        ++tally.mistakes;
        const bool own = settings_.own >= 1 || (settings_.own > 0 && random_.uniform() < settings_.own);
        return own ? label : gold;
    }

    void fix(std::int64_t t, std::int32_t y, bool moved, const learners::OnlineWeights& weights) {
        if (!moved) {
            frontier_.decide(t, y);
        } else {
            frontier_.decide_unseen(t, y);
            frontier_.rescore(weights.w());
        }
    }

    // The undecided position whose correct label scores highest, of the legal ones; t itself if there is none.
    std::int64_t best_correct(const std::int32_t* y, std::int64_t t) const {
        std::int64_t best = -1;
        for (std::int64_t p = frontier_.first(); p < frontier_.last(); ++p)
            if (state_.undecided(p) && state_.legal(p, y[p]) &&
                (best < 0 || state_.scores(p)[y[p]] > state_.scores(best)[y[best]]))
                best = p;
        return best < 0 ? t : best;
    }

    // w moves towards label y at position r and away from y_hat at t.
    template <class Rule>
    void correct(std::int64_t r, std::int32_t y, std::int64_t t, std::int32_t y_hat, learners::OnlineWeights& weights, Rule& rule,
                 learners::Tally& tally) {
        learners::Update& d = update_.front();
        d.clear();
        add_cells(r, y, 1, d);
        add_cells(t, y_hat, -1, d);
        const std::int64_t cells = context_.rows() * machine::padded(context_.labels());
        if (cells > weights.size()) weights.grow(cells);
        rule(weights, std::span(update_));
        ++tally.updates;
    }

    void add_cells(std::int64_t t, std::int32_t y, float coefficient, learners::Update& out) {
        const std::int64_t S = machine::padded(context_.labels()), at = state_.first_token() + t;
        for (std::int64_t k = x_.examples.ptr[at]; k < x_.examples.ptr[at + 1]; ++k)
            out.add(x_.examples.ids[k] * S + y, coefficient * x_.examples.value(k));
        for (std::int64_t l = 0; l < context_.size(); ++l) {
            const std::int32_t o = state_.observation(t, l);
            if (o >= 0) out.add(context_.made(l, o, state_.codes(t)) * S + y, coefficient);
        }
    }

    Observed x_;
    std::span<const std::int32_t> gold_;
    LabelContext& context_;
    IncrementalSettings settings_;
    LabelState state_;
    Frontier frontier_;
    machine::Random random_;
    std::vector<learners::Update> update_;
};

learners::Tally online_epoch(IncrementalSearch& search, learners::AnyRule& rule, learners::OnlineWeights& weights, std::span<const std::int64_t> order);

} // namespace chaffinch::search
