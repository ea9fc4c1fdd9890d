// The one online loop. A search finds an answer for an example under the current weights and reports its mistakes; a
// rule updates the weights.
//
//   search.examples()                the sentences it learns from
//   search.learn(n, weights, rule)   learns from example n: calls rule(weights, updates) for every mistake, ticks
//                                    the weights' clock, and returns how it went
#pragma once

#include "linear_chain.hpp"
#include "online_rules.hpp"
#include "stop.hpp"

#include <cstdint>
#include <span>

namespace chaffinch::learners {

// Counts of an epoch or of an example.
struct Tally {
    std::int64_t decisions = 0; // labels decided
    std::int64_t mistakes = 0;  // of them, wrong
    std::int64_t updates = 0;   // calls of the rule

    Tally& operator+=(const Tally& other) {
        decisions += other.decisions;
        mistakes += other.mistakes;
        updates += other.updates;
        return *this;
    }
};

// Examples come in any order and lie far apart: the next ones are prefetched during the current one.
inline void prefetch_ahead(const scorers::SentenceRows& x, std::span<const std::int64_t> order, std::size_t i) {
    constexpr std::int64_t line = 16; // ids
    if (i + 4 < order.size()) __builtin_prefetch(&x.sentences[order[i + 4]]);
    if (i + 2 < order.size()) __builtin_prefetch(x.ptr.data() + x.sentences[order[i + 2]]);
    if (i + 1 < order.size()) {
        const std::int32_t* ids = x.ids.data() + x.ptr[x.sentences[order[i + 1]]];
        for (std::int64_t k = 0; k < 8; ++k) __builtin_prefetch(ids + k * line);
    }
}

template <class Search, class Rule>
Tally online_epoch(Search& search, Rule& rule, OnlineWeights& weights, std::span<const std::int64_t> order) {
    Tally tally;
    for (std::size_t i = 0; i < order.size(); ++i) {
        machine::check_stop();
        prefetch_ahead(search.examples(), order, i);
        tally += search.learn(order[i], weights, rule);
    }
    return tally;
}

} // namespace chaffinch::learners
