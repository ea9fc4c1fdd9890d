// Dual coordinate ascent for the penalised chain likelihood, a sentence at a time.
//
//   f(w) = sum_n k_n (log Z(x_n) - s(x_n, y_n)) + c2 |w|^2                      the L1 penalty: see below
//
// Each sentence keeps marginals m_n of its own (gold at first), and always
//
//   w = -(1 / 2 c2) sum_n k_n F_n(m_n - gold_n)                     F_n: parts of sentence n to features
//
// A visit computes the marginals p under w and moves m_n towards them:
//
//   d = p - m_n      g = K / (K + factor k_n B / 2 c2)      m_n += g d      w -= (g k_n / 2 c2) F_n(d)
//   K = sum over tokens and labels of d log(p / m_n)        B = |F_n(d)|^2
//
// K measures the distance of the two distributions (the sum of both relative entropies, from node marginals instead of
// the joint distribution; correlated labels make it too large, hence the factor 2). B measures how far the step moves
// w, including features that tokens of the sentence share. A sentence whose K grows takes smaller steps. There is no
// rate to choose, and the penalty needs no pass of its own. At the first visit m_n is gold and K is infinite: g is then
// a fixed rate, as in SGD. Shalev-Shwartz and Zhang 2013, "Stochastic dual
// coordinate ascent"; Le Priol et al. 2018, "Adaptive stochastic dual coordinate ascent for CRFs".
//
// Sentences are visited one at a time: several under the same w overshoot if their tokens share features.
//
// Elastic net. With c1 |w|_1 added to f, and w held near its value z after the last pass by hold |w - z|^2, the sum
// over the sentences gives u, and w follows from u:
//
//   u = -(1 / 2 c) sum_n k_n F_n(m_n - gold_n) + (hold / c) z        w = soft(u, c1 / 2c)        c = c2 + hold
//
// Steps are as above with c for c2. B counts only weights that are non-zero or about to be: the others do not move, so
// steps can be longer. Holding w makes training with a small c2 fast: without it, steps would shrink with c2. z is set
// to w after each pass, so hold does not change the optimum (Shalev-Shwartz and Zhang 2014, "Accelerated proximal
// stochastic dual coordinate ascent", without their extrapolation, which did not help).
#pragma once

#include "crf.hpp"
#include "random.hpp"

namespace chaffinch::learners {

struct SdcaSettings {
    double c1 = 0, c2 = 1;
    double hold = 0;          // initial value; adapted to the gap. With c1 = hold = 0 w is never held
    double factor = 2;        // corrects K for correlated labels
    double first_rate = 0.15; // g at the first visit is min(0.5, first_rate c / k_n), less if values exceed 1
    double still = 0.001;     // tokens whose marginals change by less are skipped
    double quiet = 0;         // a sentence visited before whose k_n K is less is measured, but does not move
    bool skip_quiet = true;   // from the third pass on, sentences with a small K are visited less often, those
                              // with a large K several times
    std::uint64_t seed = 1;
};

struct SdcaPass {
    double loss = 0;   // sum of the losses, each from the sentence's last visit
    double moved = 0;  // sum of K / 2 over the sentences: an upper guess of the distance to the optimum
    double penalty = 0; // c1 |w|_1 + c2 |w|^2 at the end of the pass
    double held = 0;   // the part of the gap due to hold: distance of w from the marginals' weights without hold
    std::int64_t visited = 0; // visits; repeated visits to a sentence count separately

    // The estimated distance to the optimum as a fraction of the objective; 2 to 7 times the true one.
    double gap() const { return loss + penalty > 0 ? (moved + held) / (loss + penalty) : 0; }
};

class CrfSdca {
  public:
    // First order, hard or soft labels, no bigram templates. trainable: as for CrfObjective. nodes [T][S],
    // pairs [N][Y][S]: marginals of the caller, updated in place; null: own ones, gold at first.
    CrfSdca(const CrfShape& shape, const CrfData& data, const SdcaSettings& settings, const std::uint8_t* trainable,
            float* nodes = nullptr, float* pairs = nullptr);

    // One shuffled pass over the sentences; w [size] must be the result of the last pass. Before the first pass it is
    // zero, or (c1 = hold = 0) prior weights w_0: then the penalty is c2 |w - w_0|^2.
    SdcaPass pass(float* w);

    // w += (1 / 2 c2) sum_n k_n F_n(gold_n - m_n): the weights of the marginals, from zero or from prior weights.
    void add_weights(float* w);

    // Visits only these sentences, each `times` times in turn, before passes over all: new sentences adapt to the
    // existing weights first, so the passes only correct what they changed.
    void settle(std::span<const std::int64_t> sentences, int times, float* w);

    // One visit to each of the `count` sentences with the largest K, the largest first. Loss and moved are those of all
    // sentences at their last visits; the penalty is not computed.
    SdcaPass settle_loudest(std::int64_t count, float* w);

    // m_n := the marginals under w, of all sentences. At the optimum, w is then the weights of the marginals.
    void start_at(const float* w);

    // Loss and moved of all sentences under w, without an update. The penalty is not computed.
    SdcaPass measure(const float* w);

    // The state that, with w, resumes this run exactly.
    struct State {
        std::vector<float> nodes, pairs;     // m
        std::vector<float> change, loss, smaller; // [N]
        std::vector<std::int64_t> order;     // [N]
        std::vector<std::int64_t> counts;    // [N] visits skipped, -1: never visited; then passes, generator's state
        double mean_change = 0;
    };
    State state() const;

    // A state in the caller's memory; sizes must be those of state().
    struct StateView {
        std::span<const float> nodes, pairs, change, loss, smaller;
        std::span<const std::int64_t> order, counts;
        double mean_change = 0;
    };
    void restore(const StateView& state);

    // What sentences remember of their last visits: with the caller's marginals and w, enough to go on after a change
    // of the sentences.
    struct Visits {
        std::vector<float> change, loss, smaller; // [N]
        std::vector<std::uint8_t> met;            // [N]
    };
    struct VisitsView {
        std::span<const float> change, loss, smaller;
        std::span<const std::uint8_t> met;
    };
    Visits visits() const;
    void resume(const VisitsView& visits);

    // The same of an elastic net.
    struct Held {
        std::vector<float> sums; // u; empty if c1 = hold = 0
        double hold = 0, moved = 0, held = 0;
    };
    Held held() const { return {{sums_.begin(), sums_.end()}, settings_.hold, moved_, held_}; }
    void restore(const Held& held);

    static std::int64_t bytes_needed(const CrfShape& shape, const CrfData& data);

  private:
    struct Memory { // what a sentence remembers
        float change = 0; // K of the last visit
        float loss = 0;   // met at the last visit
        float smaller = 1; // factor of B that shortens steps
        std::int8_t skipped = 0;
        bool met = false;
    };

    void hold_by(double hold);
    void start_at_gold();
    struct Repeats { // the features that tokens of a sentence share
        std::int64_t from = -1; // first bound in shared_; -1: not found yet
        std::int64_t groups = 0;
    };
    struct Use { // of a feature, for repeats()
        std::int64_t sentence = -1; // that had the feature last
        std::int32_t uses = 0, place = 0;
    };
    const Repeats& repeats(std::int64_t n);
    double shared_length(std::int64_t n, const float* u, const float* d);
    double mean_square(std::int64_t n) const;
    template <typename See> void each_under(const float* w, const See& see);
    float visit(std::int64_t n, const float* u);
    double total_change() const;
    double total_loss() const;
    float* node_marginals(std::int64_t n) { return nodes_ + data_.begin(n) * shape_.S(); } // [T][S]
    float* pair_marginals(std::int64_t n) { return pairs_ + n * shape_.Y * shape_.S(); }   // [Y][S]

    const CrfShape& shape_;
    const CrfData& data_;
    SdcaSettings settings_;
    const std::uint8_t* trainable_;
    double strength_ = 1; // c
    float shrink_ = 0;    // c1 / 2c
    double moved_ = 0, held_ = 0; // of the last pass, if w is held
    CrfOracle<float> oracle_;
    CrfParts<float> parts_;      // d of the sentence
    machine::AlignedVector<float> own_nodes_, own_pairs_; // empty: the caller's
    float* nodes_; // [T][S]     m by token
    float* pairs_; // [N][Y][S]  m by sentence
    machine::AlignedVector<float> sums_;  // [size]     u; empty: w itself
    std::vector<Memory> memory_; // [N]
    std::vector<Repeats> repeats_; // [N]
    std::vector<Use> uses_;        // [F], or empty before the first visit
    std::vector<std::int64_t> shared_; // bounds into tokens_: groups + 1 of a sentence, a group for each feature that it repeats
    std::vector<std::int32_t> repeated_; // beside shared_: the feature of each group
    std::vector<std::int32_t> tokens_; // the positions that have it
    std::vector<float> values_;        // with these values; empty: all are 1
    std::vector<double> squares_;      // [T] sum of v^2 over the features of a token; empty: all values are 1
    std::vector<std::int64_t> order_;
    machine::Random random_;
    std::int64_t passes_ = 0;
    double mean_change_ = 0;
};

} // namespace chaffinch::learners
