// Beam search from left to right: the K best prefixes of a labelling are kept, each with its own context.
//
//   score(y_0 .. y_t) = sum of the scores of the choices;  ties: the better parent first, then the smaller label
//
// Learning (Huang, Fayong and Guo 2012): if the gold prefix falls out of the beam, w is updated on that prefix and the
// rest of the sentence is skipped (early update; Collins and Roark 2004), or w is updated on the prefix whose best
// wrong rival is furthest above gold (max-violation).
#pragma once

#include "label_state.hpp"
#include "online.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::search {

// The prefixes kept after each position.
class Beam {
  public:
    struct Item {
        double score = 0;
        std::int32_t label = -1;
        std::int32_t parent = -1; // in the layer before
        std::int32_t legal = 0;   // state of the automaton
        bool gold = true;
    };

    Beam(const LabelContext& context, const LabelAutomaton* automaton, std::int64_t width)
        : context_(context), automaton_(automaton), K_(width), Y_(context.labels()), S_(machine::padded(Y_)),
          row_(static_cast<std::size_t>(S_)), rows_(static_cast<std::size_t>(context.size())) {}

    void open(const Observed& x, std::int64_t n, const float* w);

    // Extends the beam by position t. gold [T] or null; augmented: labels other than gold score one more.
    void extend(std::int64_t t, const std::int32_t* gold, bool augmented);

    std::int64_t length() const { return T_; }
    std::int64_t first_token() const { return from_; }
    std::span<const Item> layer(std::int64_t t) const { return {items_[t].data(), items_[t].size()}; }

    // Labels 0 .. t of an item of layer t.
    void path(std::int64_t t, std::int64_t item, std::int32_t* labels) const;

    // The codes of a whole labelling, as context: pointing at position 0, `left` symbols before it.
    const std::int32_t* coded(const std::int32_t* labels, std::int64_t n);

    // Scores of the labels at t in this context. out [S]
    void scores(std::int64_t t, const std::int32_t* here, float* out);

    bool barred(std::int64_t t, std::int64_t y) const { return x_.barred && x_.barred[(from_ + t) * Y_ + y]; }
    bool known(std::int64_t t) const { return x_.known && x_.known[from_ + t] >= 0; }
    std::int32_t observation(std::int64_t t, std::int64_t l) const {
        return context_.observed(l, x_.observations + (from_ + t) * context_.columns());
    }

  private:
    struct Candidate {
        double score;
        std::int32_t parent, label;
    };

    const LabelContext& context_;
    const LabelAutomaton* automaton_;
    std::int64_t K_, Y_, S_;
    Observed x_;
    const float* w_ = nullptr;
    std::int64_t from_ = 0, T_ = 0;
    std::vector<std::vector<Item>> items_;     // [T][<= K]
    std::vector<std::int32_t> history_, next_; // [K][left] codes before the next position, newest last
    std::vector<std::uint8_t> can_end_;        // [T+1][states] can the rest be labelled legally from this state?
    std::vector<Candidate> candidates_;
    std::vector<std::int32_t> codes_;
    machine::AlignedVector<float> features_; // [T][S]
    machine::AlignedVector<float> row_;
    std::vector<std::int32_t> rows_;
};

struct BeamSettings {
    std::int64_t width = 8;
    bool max_violation = true;
};

class BeamSearch {
  public:
    BeamSearch(const Observed& x, std::span<const std::int32_t> gold, LabelContext& context,
               const LabelAutomaton* automaton, const BeamSettings& settings)
        : x_(x), gold_(gold), context_(context), settings_(settings), beam_(context, automaton, settings.width),
          update_(1) {}

    const scorers::SentenceRows& examples() const { return x_.examples; }

    template <class Rule> learners::Tally learn(std::int64_t n, learners::OnlineWeights& weights, Rule& rule) {
        beam_.open(x_, n, weights.w());
        const std::int64_t T = beam_.length();
        learners::Tally tally{.decisions = T};
        if (T > 0) {
            const std::int32_t* y = gold_.data() + beam_.first_token();
            const std::int64_t end = violation(y, T, Rule::augmented);
            if (end >= 0) {
                y_hat_.resize(static_cast<std::size_t>(T));
                beam_.path(end, 0, y_hat_.data());
                correct(y, end, weights, rule);
                for (std::int64_t t = 0; t <= end; ++t) tally.mistakes += y[t] != y_hat_[t];
                tally.updates = 1;
            }
        }
        weights.tick();
        return tally;
    }

  private:
    // The end of the prefix to learn from; -1: the gold labelling won.
    std::int64_t violation(const std::int32_t* y, std::int64_t T, bool augmented) {
        const std::int32_t* here = beam_.coded(y, T);
        gold_row_.resize(static_cast<std::size_t>(machine::padded(context_.labels())));
        double gold = 0, worst = 0;
        std::int64_t end = -1;
        for (std::int64_t t = 0; t < T; ++t) {
            machine::check_stop();
            beam_.extend(t, y, augmented);
            const auto layer = beam_.layer(t);
            beam_.scores(t, here + t, gold_row_.data());
            if (!beam_.known(t)) gold += static_cast<double>(gold_row_[y[t]]);
            const bool lost = std::ranges::none_of(layer, &Beam::Item::gold);
            if (!settings_.max_violation && lost) return t;
            if (settings_.max_violation && !layer.front().gold && (end < 0 || layer.front().score - gold > worst))
                worst = layer.front().score - gold, end = t;
        }
        if (settings_.max_violation) return end;
        return beam_.layer(T - 1).front().gold ? -1 : T - 1;
    }

    template <class Rule> void correct(const std::int32_t* y, std::int64_t end, learners::OnlineWeights& weights, Rule& rule) {
        learners::Update& d = update_.front();
        d.clear();
        d.cost = 0;
        for (std::int64_t t = 0; t <= end; ++t) d.cost += y[t] != y_hat_[t];
        add_cells(y, end, 1, d);
        add_cells(y_hat_.data(), end, -1, d);
        const std::int64_t cells = context_.rows() * machine::padded(context_.labels());
        if (cells > weights.size()) weights.grow(cells);
        rule(weights, std::span(update_));
    }

    // Cells of the positions where label or context differ from the other labelling; the rest cancels.
    void add_cells(const std::int32_t* labels, std::int64_t end, float coefficient, learners::Update& out) {
        const std::int32_t* y = gold_.data() + beam_.first_token();
        const std::int64_t S = machine::padded(context_.labels()), from = beam_.first_token();
        const std::int32_t* here = beam_.coded(labels, end + 1);
        std::int64_t differs = -1; // the last position where gold and prediction differ
        for (std::int64_t t = 0; t <= end; ++t) {
            if (y[t] != y_hat_[t]) differs = t;
            if (differs < 0 || t - differs > context_.left()) continue;
            if (beam_.known(t)) continue;
            if (differs == t)
                for (std::int64_t k = x_.examples.ptr[from + t]; k < x_.examples.ptr[from + t + 1]; ++k)
                    out.add(x_.examples.ids[k] * S + labels[t], coefficient * x_.examples.value(k));
            for (std::int64_t l = 0; l < context_.size(); ++l) {
                const std::int32_t o = beam_.observation(t, l);
                if (o >= 0) out.add(context_.made(l, o, here + t) * S + labels[t], coefficient);
            }
        }
    }

    Observed x_;
    std::span<const std::int32_t> gold_;
    LabelContext& context_;
    BeamSettings settings_;
    Beam beam_;
    std::vector<learners::Update> update_;
    std::vector<std::int32_t> y_hat_;
    machine::AlignedVector<float> gold_row_;
};

learners::Tally online_epoch(BeamSearch& search, learners::AnyRule& rule, learners::OnlineWeights& weights, std::span<const std::int64_t> order);

} // namespace chaffinch::search
