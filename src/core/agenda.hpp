// The agenda of easiest-first search: which undecided position has the highest priority.
//
// A winner tree, eight children to a node: each node holds the highest priority below it. A decision changes the
// priorities of a few neighbours, so one or two nodes per level are read again; finding the best walks down once.
// Both cost O(log T). Ties go to the smaller position.
#pragma once

#include "aligned.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace chaffinch {

class Agenda {
  public:
    static constexpr float never = -std::numeric_limits<float>::infinity();

    // T positions, none of which may be picked.
    void open(std::int64_t T) {
        bounds_.assign(1, 0);
        std::int64_t n = T, total = 0;
        do {
            n = padded(n);
            total += n;
            bounds_.push_back(total);
            n /= lanes;
        } while (n > 1);
        room(nodes_, total);
        std::fill_n(nodes_.data(), total, never);
    }

    // Priorities by position; call refresh over what was written.
    float* priorities() { return nodes_.data(); }

    void refresh(std::int64_t first, std::int64_t last) {
        for (std::size_t level = 0; level + 2 < bounds_.size(); ++level) {
            first /= lanes, last /= lanes;
            const float* children = nodes_.data() + bounds_[level];
            float* parents = nodes_.data() + bounds_[level + 1];
            for (std::int64_t i = first; i <= last; ++i)
                parents[i] = *std::max_element(children + i * lanes, children + (i + 1) * lanes);
        }
    }

    // The position of the highest priority, -1 if none may be picked.
    std::int64_t best() const {
        std::int64_t at = 0;
        for (std::size_t level = bounds_.size() - 1; level-- > 0;) {
            const float* children = nodes_.data() + bounds_[level] + at * lanes;
            const std::int64_t width = std::min(lanes, bounds_[level + 1] - bounds_[level] - at * lanes);
            const float* top = std::max_element(children, children + width);
            if (*top == never) return -1;
            at = at * lanes + (top - children);
        }
        return at;
    }

  private:
    AlignedVector<float> nodes_;        // the positions, then each level above them
    std::vector<std::int64_t> bounds_; // where levels begin, and the end
};

} // namespace chaffinch
