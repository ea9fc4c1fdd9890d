#include "online_chain.hpp"

namespace chaffinch::learners {

Tally online_epoch(ChainSearch& search, AnyRule& rule, OnlineWeights& weights, std::span<const std::int64_t> order) {
    return std::visit([&](auto& r) { return online_epoch(search, r, weights, order); }, rule);
}

} // namespace chaffinch::learners
