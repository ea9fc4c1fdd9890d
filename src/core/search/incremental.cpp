#include "incremental.hpp"

namespace chaffinch::search {

learners::Tally online_epoch(IncrementalSearch& search, learners::AnyRule& rule, learners::OnlineWeights& weights,
                   std::span<const std::int64_t> order) {
    return std::visit([&](auto& r) { return online_epoch(search, r, weights, order); }, rule);
}

} // namespace chaffinch::search
