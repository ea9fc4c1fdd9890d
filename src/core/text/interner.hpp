// Strings to dense ids: each distinct string is kept once, in order of first sight.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace chaffinch::text {

// The n < 8 bytes at p as a little-endian number; no call and no loop, since this runs for every word.
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

namespace hashing {

constexpr std::uint64_t seed = 0x9e3779b97f4a7c15ULL, step = 0xa0761d6478bd642fULL, last = 0xe7037ed1a0b428dbULL;

inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    __extension__ using wide = unsigned __int128;
    const wide m = static_cast<wide>(a) * b;
    return static_cast<std::uint64_t>(m) ^ static_cast<std::uint64_t>(m >> 64);
}

inline std::uint64_t word_at(const char* p) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    return word;
}

} // namespace hashing

// A 64-bit hash of bytes: eight at a time, multiplied and folded; the same on every little-endian machine.
inline std::uint64_t hash_bytes(std::string_view s) {
    const char* p = s.data();
    std::size_t n = s.size();
    std::uint64_t h = hashing::seed ^ n;
    for (; n >= 8; p += 8, n -= 8) h = hashing::fold(h ^ hashing::word_at(p), hashing::step);
    return hashing::fold(h ^ short_word(p, n), hashing::last);
}

// Bytes that may be read past the end of a padded string: words differ in length, and mispredicted branches on the
// length would cost more than the rest.
constexpr std::size_t padding = 16;

inline std::uint64_t lowest_bytes(std::size_t n) { return (std::uint64_t{1} << (8 * n)) - 1; } // n < 8

// hash_bytes of a padded string.
inline std::uint64_t hash_padded(std::string_view s) {
    if (s.size() >= padding) return hash_bytes(s);
    const bool longer = s.size() >= 8;
    const std::uint64_t first = hashing::word_at(s.data()), second = hashing::word_at(s.data() + 8);
    const std::uint64_t h = hashing::seed ^ s.size(), next = hashing::fold(h ^ first, hashing::step);
    const std::uint64_t rest = (longer ? second : first) & lowest_bytes(s.size() & 7);
    return hashing::fold((longer ? next : h) ^ rest, hashing::last);
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

// The same of two padded strings.
inline bool same_padded(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    if (a.size() >= padding) return same_bytes(a, b);
    const bool longer = a.size() >= 8;
    const std::uint64_t part = lowest_bytes(a.size() & 7);
    const std::uint64_t first = hashing::word_at(a.data()) ^ hashing::word_at(b.data());
    const std::uint64_t second = hashing::word_at(a.data() + 8) ^ hashing::word_at(b.data() + 8);
    return ((first & (longer ? ~std::uint64_t{0} : part)) | (longer ? second & part : 0)) == 0;
}

// A padded string and its hash.
struct HashedString {
    std::string_view text;
    std::uint64_t hash;
};

class Interner {
  public:
    static constexpr std::int32_t absent = -1;

    Interner() : slots_(64), bytes_(padding), starts_{0} {}

    std::int32_t size() const { return static_cast<std::int32_t>(hashes_.size()); }

    // The string, padded.
    std::string_view operator[](std::int32_t id) const {
        return {bytes_.data() + starts_[id], static_cast<std::size_t>(starts_[id + 1] - starts_[id])};
    }

    std::uint64_t hash(std::int32_t id) const { return hashes_[static_cast<std::size_t>(id)]; }

    // The id of s, or `absent`.
    std::int32_t find(std::string_view s) const;

    // The same in two steps, for callers that ask many tables at once: `prefetch` starts to load what `find_hashed`
    // will read.
    void prefetch(std::uint64_t hash) const { __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]); }
    std::int32_t find_hashed(std::string_view s, std::uint64_t hash) const;
    std::int32_t find_padded(std::string_view s, std::uint64_t hash) const {
        return slots_[slot_of(hash, [&](std::string_view other) { return same_padded(other, s); })].id;
    }

    // out[i] = find_padded(strings[i]). Slots, bounds and bytes of many strings are loaded at the same time.
    void find_all(std::span<const HashedString> strings, std::int32_t* out) const;

    // The id of s, given one now if it has none.
    std::int32_t intern(std::string_view s) { return intern_hashed(s, hash_bytes(s)); }
    std::int32_t intern_hashed(std::string_view s, std::uint64_t hash);
    std::int32_t intern_padded(std::string_view s, std::uint64_t hash) {
        const std::size_t at = slot_of(hash, [&](std::string_view other) { return same_padded(other, s); });
        return slots_[at].id != absent ? slots_[at].id : added(s, hash, at);
    }

    // out[i] = intern_padded(strings[i]), as find_all finds them.
    void intern_all(std::span<const HashedString> strings, std::int32_t* out);

  private:
    // Part of the hash sits beside the id, so that a probe seldom has to look at another string.
    struct Slot {
        std::uint32_t tag = 0;
        std::int32_t id = absent;
    };

    static std::uint32_t tag_of(std::uint64_t h) { return static_cast<std::uint32_t>(h >> 32); }

    // The slot of the string that same() recognises, or the free slot for it.
    template <class Same> std::size_t slot_of(std::uint64_t hash, Same&& same) const {
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t i = hash & mask;; i = (i + 1) & mask)
            if (slots_[i].id == absent || (slots_[i].tag == tag_of(hash) && same((*this)[slots_[i].id]))) return i;
    }

    std::int32_t added(std::string_view s, std::uint64_t hash, std::size_t slot);
    void grow();

    std::vector<Slot> slots_;           // [power of two] linear probing, at most half full
    std::vector<std::uint64_t> hashes_; // [types]
    std::vector<char> bytes_;           // all strings, end to end, and the padding
    std::vector<std::int64_t> starts_;  // [types+1] bounds into bytes_
};

} // namespace chaffinch::text
