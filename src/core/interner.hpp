// Strings to dense ids: each distinct string is kept once, in order of first sight.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace chaffinch {

// The n < 8 bytes at p as a little-endian number; no call and no loop, for this is asked for every word.
inline std::uint64_t short_word(const char* p, std::size_t n) {
    if (n >= 4) { // two loads that overlap
        std::uint32_t low, high;
        std::memcpy(&low, p, 4);
        std::memcpy(&high, p + n - 4, 4);
        return low | static_cast<std::uint64_t>(high) << (8 * (n - 4));
    }
    if (n == 0) return 0;
    const auto at = [&](std::size_t i) {
        return static_cast<std::uint64_t>(static_cast<unsigned char>(p[i])) << (8 * i);
    };
    return at(0) | at(n / 2) | at(n - 1);
}

// A 64-bit hash of bytes: eight at a time, multiplied and folded; the same on every little-endian machine.
inline std::uint64_t hash_bytes(std::string_view s) {
    __extension__ using wide = unsigned __int128;
    const auto fold = [](std::uint64_t a, std::uint64_t b) {
        const wide m = static_cast<wide>(a) * b;
        return static_cast<std::uint64_t>(m) ^ static_cast<std::uint64_t>(m >> 64);
    };
    const char* p = s.data();
    std::size_t n = s.size();
    std::uint64_t h = 0x9e3779b97f4a7c15ULL ^ n;
    while (n >= 8) {
        std::uint64_t word;
        std::memcpy(&word, p, 8);
        h = fold(h ^ word, 0xa0761d6478bd642fULL);
        p += 8;
        n -= 8;
    }
    return fold(h ^ short_word(p, n), 0xe7037ed1a0b428dbULL);
}

inline bool same_bytes(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    std::size_t i = 0;
    for (; i + 8 <= a.size(); i += 8) {
        std::uint64_t x, y;
        std::memcpy(&x, a.data() + i, 8);
        std::memcpy(&y, b.data() + i, 8);
        if (x != y) return false;
    }
    return short_word(a.data() + i, a.size() - i) == short_word(b.data() + i, b.size() - i);
}

class Interner {
  public:
    static constexpr std::int32_t absent = -1;

    Interner() : slots_(64), starts_{0} {}

    std::int32_t size() const { return static_cast<std::int32_t>(hashes_.size()); }

    std::string_view operator[](std::int32_t id) const {
        return {bytes_.data() + starts_[id], static_cast<std::size_t>(starts_[id + 1] - starts_[id])};
    }

    // The id of s, or `absent`.
    std::int32_t find(std::string_view s) const;

    // The same in two steps, for who asks many tables at once: `prefetch` starts to load what `find_hashed`
    // will look at.
    void prefetch(std::uint64_t hash) const { __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]); }
    std::int32_t find_hashed(std::string_view s, std::uint64_t hash) const;

    // The id of s, given one now if it has none.
    std::int32_t intern(std::string_view s) { return intern_hashed(s, hash_bytes(s)); }
    std::int32_t intern_hashed(std::string_view s, std::uint64_t hash);

  private:
    // Part of the hash sits beside the id, so that a probe seldom has to look at another string.
    struct Slot {
        std::uint32_t tag = 0;
        std::int32_t id = absent;
    };

    static std::uint32_t tag_of(std::uint64_t h) { return static_cast<std::uint32_t>(h >> 32); }
    void grow();

    std::vector<Slot> slots_;           // [power of two] linear probing, at most half full
    std::vector<std::uint64_t> hashes_; // [types]
    std::vector<char> bytes_;           // all strings, end to end
    std::vector<std::int64_t> starts_;  // [types+1] bounds into bytes_
};

} // namespace chaffinch
