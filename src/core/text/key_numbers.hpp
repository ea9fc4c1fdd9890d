// 64-bit keys of symbols as small numbers: a sorted table, and how one table's numbers read in another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::text {

struct KeyNumbers {
    std::vector<std::uint64_t> keys; // sorted, each once: the number of a key is its place

    // Builds the table of the given keys; returns each key's number.
    std::vector<std::int32_t> number(std::span<const std::uint64_t> given) {
        keys.assign(given.begin(), given.end());
        std::ranges::sort(keys);
        keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
        std::vector<std::int32_t> numbers;
        numbers.reserve(given.size());
        for (const std::uint64_t key : given)
            numbers.push_back(static_cast<std::int32_t>(std::ranges::lower_bound(keys, key) - keys.begin()));
        return numbers;
    }

    std::size_t size() const { return keys.size(); }

    // The number that each of our keys has in another table; -1 if it has none.
    std::vector<std::int32_t> in(const KeyNumbers& other) const {
        std::vector<std::int32_t> there(keys.size(), -1);
        std::size_t j = 0;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            while (j < other.keys.size() && other.keys[j] < keys[i]) ++j;
            if (j < other.keys.size() && other.keys[j] == keys[i]) there[i] = static_cast<std::int32_t>(j);
        }
        return there;
    }
};

// A key for a sequence of keys (splitmix64's finaliser over a running sum).
inline std::uint64_t mixed(std::uint64_t so_far, std::uint64_t key) {
    std::uint64_t z = so_far * 0x9e3779b97f4a7c15ULL + key + 0x632be59bd9b4e019ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

} // namespace chaffinch::text
