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
// K measures how far apart the two distributions are (both relative entropies summed, by node marginals in place of
// the joint, which labels that go together make too large: hence the factor 2), B how far the step moves w, features that
// tokens of the sentence share included. A sentence whose K grows takes smaller steps. There is no rate to choose, and the penalty never needs a pass of its own.
// At the first visit m_n is gold and K infinite: g is set, as SGD would. Shalev-Shwartz and Zhang 2013, "Stochastic dual
// coordinate ascent"; Le Priol et al. 2018, "Adaptive stochastic dual coordinate ascent for CRFs".
//
// Sentences are visited one at a time: several under the same w overshoot where their tokens share features.
//
// Elastic net. With c1 |w|_1 added to f, and w held near its value z after the last pass by hold |w - z|^2, the sum over the
// sentences makes u, and w is read off it:
//
//   u = -(1 / 2 c) sum_n k_n F_n(m_n - gold_n) + (hold / c) z        w = soft(u, c1 / 2c)        c = c2 + hold
//
// Steps are as above with c for c2. B counts only weights that are not zero or soon will not be: the others do not move,
// which makes steps long. Holding w makes a small c2 fast: without it steps would have to be as short as c2 is small. z is
// set to w after each pass, so that at the end it holds nothing back (Shalev-Shwartz and Zhang 2014, "Accelerated proximal
// stochastic dual coordinate ascent", without their extrapolation, which did not help).
#pragma once

#include "crf.hpp"
#include "random.hpp"

namespace chaffinch::learners {

struct SdcaSettings {
    double c1 = 0, c2 = 1;
    double hold = 0;          // at first; it follows the gap. With c1 = hold = 0 w is never held
    double factor = 2;        // for labels that go together
    double first_rate = 0.15; // g at the first visit is min(0.5, first_rate c / k_n), less where values exceed 1
    double still = 0.001;     // a token whose marginals change by less is left alone
    bool skip_quiet = true;   // from the third pass on sentences with little to change are visited less often, those
                              // with much to change several times
    std::uint64_t seed = 1;
};

struct SdcaPass {
    double loss = 0;   // sum of the losses, each as it was met last, under the w of that moment
    double moved = 0;  // sum of K / 2 over the sentences: an upper guess of the distance to the optimum
    double penalty = 0; // c1 |w|_1 + c2 |w|^2 at the end of the pass
    double held = 0;   // how far w is from the weights that the marginals make without hold, as a part of the gap
    std::int64_t visited = 0; // visits, those of the same sentence counted apart

    // The distance to the optimum as a share of the objective; some 2 to 7 times what it truly is.
    double gap() const { return loss + penalty > 0 ? (moved + held) / (loss + penalty) : 0; }
};

class CrfSdca {
  public:
    // First order, hard or soft labels, no bigram templates. trainable: as for CrfObjective.
    CrfSdca(const CrfShape& shape, const CrfData& data, const SdcaSettings& settings, const std::uint8_t* trainable);

    // One shuffled pass over the sentences; w [size] must be what the last pass left. Before the first it is zero, or
    // (c1 = hold = 0) weights w_0 to stay near to: then the penalty is c2 |w - w_0|^2.
    SdcaPass pass(float* w);

    // w += (1 / 2 c2) sum_n k_n F_n(gold_n - m_n): what the marginals make of zero, or of weights to stay near to.
    void add_weights(float* w);

    // Visits to some sentences alone, each `times` times in turn, before passes over all: new sentences come to rest
    // against the weights that are there, and the passes only have to settle what they disturbed.
    void settle(std::span<const std::int64_t> sentences, int times, float* w);

    // One visit to each of the `count` sentences with the largest K, the largest first. Loss and moved are those of all
    // sentences, each as it was met last; there is no penalty.
    SdcaPass settle_loudest(std::int64_t count, float* w);

    // Loss and moved of all sentences under w; nothing moves. There is no penalty.
    SdcaPass measure(const float* w);

    // All that a later run needs to go on exactly where this one is, besides w.
    struct State {
        std::vector<float> nodes, pairs;     // m
        std::vector<float> change, loss, smaller; // [N]
        std::vector<std::int64_t> order;     // [N]
        std::vector<std::int64_t> counts;    // [N] skipped, -1 if never met; then passes and the generator's state
        double mean_change = 0;
    };
    State state() const;

    // A state that somebody else holds; sizes must be those of state().
    struct StateView {
        std::span<const float> nodes, pairs, change, loss, smaller;
        std::span<const std::int64_t> order, counts;
        double mean_change = 0;
    };
    void restore(const StateView& state);

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
        float smaller = 1; // steps are taken as if B were so many times what it is
        std::int8_t skipped = 0;
        bool met = false;
    };

    void hold_by(double hold);
    void start_at_gold();
    void find_repeats();
    double shared_length(std::int64_t n, const float* u, const float* d) const;
    double mean_square(std::int64_t n) const;
    float visit(std::int64_t n, const float* u);
    double total_change() const;
    double total_loss() const;
    float* node_marginals(std::int64_t n) { return nodes_.data() + data_.begin(n) * shape_.S(); } // [T][S]
    float* pair_marginals(std::int64_t n) { return pairs_.data() + n * shape_.Y * shape_.S(); }   // [Y][S]

    const CrfShape& shape_;
    const CrfData& data_;
    SdcaSettings settings_;
    const std::uint8_t* trainable_;
    double strength_ = 1; // c
    float shrink_ = 0;    // c1 / 2c
    double moved_ = 0, held_ = 0; // of the last pass, if w is held
    CrfOracle<float> oracle_;
    CrfParts<float> parts_;      // d of the sentence
    machine::AlignedVector<float> nodes_; // [T][S]     m by token
    machine::AlignedVector<float> pairs_; // [N][Y][S]  m by sentence
    machine::AlignedVector<float> sums_;  // [size]     u; empty: w itself
    std::vector<Memory> memory_; // [N]
    std::vector<std::int64_t> groups_; // [N+1]         bounds into shared_
    std::vector<std::int32_t> repeated_; // [groups]    the feature of each
    std::vector<std::int64_t> shared_; // [groups + 1]  bounds into tokens_, a group for each feature that a sentence repeats
    std::vector<std::int32_t> tokens_; // the positions that have it
    std::vector<float> values_;        // with these values; empty: all are 1
    std::vector<double> squares_;      // [T] sum of v^2 over the features of a token; empty: all values are 1
    std::vector<std::int64_t> order_;
    machine::Random random_;
    std::int64_t passes_ = 0;
    double mean_change_ = 0;
};

} // namespace chaffinch::learners
