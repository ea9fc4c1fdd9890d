// Viterbi over sums that round as in the tool that trained the model. Among equal scores the smaller label wins, at
// the end and at every step back.
//
//   after    best_t[y] = max over y' (best[y'] + pair[y'][y])  +  unary[y]       CRFsuite
//   each     best_t[y] = max over y' ((best[y'] + pair[y'][y]) + unary[y])       CRF++
//   joined   best_t[y] = max over y' (best[y'] + (unary[y] + pair[y'][y]))       Wapiti
#pragma once

#include "ordered_sums.hpp"

#include <cstdint>
#include <span>

namespace chaffinch::search {

enum class Addition { after, each, joined };

struct OrderedInput {
    std::span<const std::int64_t> sentences; // [N+1]  bounds in tokens
    std::span<const std::int64_t> ptr;       // [T+1]  features of labels
    std::span<const std::int32_t> ids;
    std::span<const double> values; // beside ids, or empty: all are 1
    std::span<const std::int64_t> pair_ptr; // [T+1]  features of pairs of labels; empty if there are none
    std::span<const std::int32_t> pair_ids;
};

template <class Weight>
void ordered_viterbi(const scorers::OrderedSums<Weight>& unary, const scorers::OrderedSums<Weight>* pairs,
                     std::span<const double> pair, // [Y][Y], added to what the features of pairs give
                     Addition addition, const OrderedInput& x, std::size_t threads,
                     std::int32_t* labels); // [T]

} // namespace chaffinch::search
