// Our own generator, so that a seed means the same order on every machine and in every version.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

namespace chaffinch::machine {

// SplitMix64 (Steele, Lea and Flood 2014): one 64-bit state, a full period, good enough to shuffle with.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }

    // A whole number in [0, n), unbiased (Lemire 2019, "Fast random integer generation in an interval").
    std::uint64_t below(std::uint64_t n) {
        __extension__ using wide = unsigned __int128;
        wide m = static_cast<wide>(next()) * n;
        auto low = static_cast<std::uint64_t>(m);
        if (low < n) {
            const std::uint64_t threshold = (0 - n) % n;
            while (low < threshold) {
                m = static_cast<wide>(next()) * n;
                low = static_cast<std::uint64_t>(m);
            }
        }
        return static_cast<std::uint64_t>(m >> 64);
    }

    // A number in [0, 1) with 53 random bits.
    double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

    // Random(r.state()) goes on as r would.
    std::uint64_t state() const { return state_; }

  private:
    std::uint64_t state_;
};

// Fisher-Yates, from the end.
template <class Index> void shuffle(std::span<Index> order, Random& random) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
}

} // namespace chaffinch::machine
