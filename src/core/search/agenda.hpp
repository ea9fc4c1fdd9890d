// The agenda of easiest-first search: which undecided position has the highest priority.
//
// A winner tree, eight children to a node: each node holds the highest priority below it. A decision changes the
// priorities of a few neighbours, so one or two nodes per level are read again; finding the best walks down once.
// Both cost O(log T). Ties go to the smaller position.
#pragma once

#include "aligned.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace chaffinch::search {

struct Top {
    float value;
    std::int32_t place;
};

// The highest of eight numbers, without a branch.
inline float highest(const float* p) {
    typedef float Four __attribute__((vector_size(16)));
    Four a, b;
    std::memcpy(&a, p, sizeof a);
    std::memcpy(&b, p + 4, sizeof b);
    a = a > b ? a : b;
    const float left = a[0] > a[2] ? a[0] : a[2], right = a[1] > a[3] ? a[1] : a[3];
    return left > right ? left : right;
}

// The same with the first place where it stands.
inline Top first_highest(const float* p) {
    typedef float Four __attribute__((vector_size(16)));
    typedef std::int32_t Marks __attribute__((vector_size(16)));
    typedef std::uint64_t Halves __attribute__((vector_size(16)));
    const float top = highest(p);
    Four a, b;
    std::memcpy(&a, p, sizeof a);
    std::memcpy(&b, p + 4, sizeof b);
    const Marks here = ((a == top) & Marks{1, 2, 4, 8}) | ((b == top) & Marks{16, 32, 64, 128});
    const auto halves = reinterpret_cast<Halves>(here);
    const std::uint64_t both = halves[0] | halves[1];
    return {top, std::countr_zero(static_cast<std::uint32_t>(both | (both >> 32) | 128))}; // the last if none equals it: NaN
}

class Agenda {
  public:
    static constexpr float never = -std::numeric_limits<float>::infinity();

    // T positions; none may be picked yet.
    void open(std::int64_t T) {
        bounds_.assign(1, 0);
        std::int64_t n = T, total = 0;
        do {
            n = machine::padded(n);
            total += n;
            bounds_.push_back(total);
            n /= machine::lanes;
        } while (n > 1);
        machine::room(nodes_, total);
        std::fill_n(nodes_.data(), total, never);
    }

    // Priorities by position; call refresh over what was written.
    float* priorities() { return nodes_.data(); }

    void refresh(std::int64_t first, std::int64_t last) {
        for (std::size_t level = 0; level + 2 < bounds_.size(); ++level) {
            first /= machine::lanes, last /= machine::lanes;
            const float* children = nodes_.data() + bounds_[level];
            float* parents = nodes_.data() + bounds_[level + 1];
            for (std::int64_t i = first; i <= last; ++i) parents[i] = highest(children + i * machine::lanes);
        }
    }

    // The position of the highest priority, -1 if none may be picked.
    std::int64_t best() const {
        std::int64_t at = 0;
        for (std::size_t level = bounds_.size() - 1; level-- > 0;) {
            const Top top = first_highest(nodes_.data() + bounds_[level] + at * machine::lanes);
            if (top.value == never) return -1;
            at = at * machine::lanes + top.place;
        }
        return at;
    }

  private:
    machine::AlignedVector<float> nodes_;        // the positions, then each level above them
    std::vector<std::int64_t> bounds_; // where levels begin, and the end
};

} // namespace chaffinch::search
