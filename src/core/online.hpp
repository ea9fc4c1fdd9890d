// The one online loop. A search finds an answer for an example with the weights as they are and says what was
// wrong; a rule moves the weights.
//
//   search.learn(n, weights, rule)   learns from example n: calls rule(weights, updates) for every mistake, ticks
//                                    the weights' clock, and returns how it went
#pragma once

#include "online_rules.hpp"

#include <cstdint>
#include <span>

namespace chaffinch {

// How an epoch, or an example, went.
struct Tally {
    std::int64_t decisions = 0; // labels decided
    std::int64_t mistakes = 0;  // of them wrong
    std::int64_t updates = 0;   // times the rule was asked

    Tally& operator+=(const Tally& other) {
        decisions += other.decisions;
        mistakes += other.mistakes;
        updates += other.updates;
        return *this;
    }
};

template <class Search, class Rule>
Tally online_epoch(Search& search, Rule& rule, OnlineWeights& weights, std::span<const std::int64_t> order) {
    Tally tally;
    for (const std::int64_t n : order) tally += search.learn(n, weights, rule);
    return tally;
}

} // namespace chaffinch
