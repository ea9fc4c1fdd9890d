// Strings to dense ids: each distinct string is kept once, in order of first sight.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace chaffinch {

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
    std::uint64_t tail = 0;
    if (n > 0) std::memcpy(&tail, p, n);
    return fold(h ^ tail, 0xe7037ed1a0b428dbULL);
}

class Interner {
  public:
    static constexpr std::int32_t absent = -1;

    Interner() : slots_(64, absent), starts_{0} {}

    std::int32_t size() const { return static_cast<std::int32_t>(hashes_.size()); }

    std::string_view operator[](std::int32_t id) const {
        return {bytes_.data() + starts_[id], static_cast<std::size_t>(starts_[id + 1] - starts_[id])};
    }

    // The id of s, or `absent`.
    std::int32_t find(std::string_view s) const {
        const std::uint64_t h = hash_bytes(s);
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t i = h & mask;; i = (i + 1) & mask) {
            const std::int32_t id = slots_[i];
            if (id == absent || (hashes_[id] == h && (*this)[id] == s)) return id;
        }
    }

    // The id of s, given one now if it has none.
    std::int32_t intern(std::string_view s) {
        const std::uint64_t h = hash_bytes(s);
        const std::size_t mask = slots_.size() - 1;
        std::size_t i = h & mask;
        for (; slots_[i] != absent; i = (i + 1) & mask) {
            const std::int32_t id = slots_[i];
            if (hashes_[id] == h && (*this)[id] == s) return id;
        }
        const std::int32_t id = size();
        slots_[i] = id;
        hashes_.push_back(h);
        bytes_.insert(bytes_.end(), s.begin(), s.end());
        starts_.push_back(static_cast<std::int64_t>(bytes_.size()));
        if (2 * hashes_.size() > slots_.size()) grow();
        return id;
    }

  private:
    void grow() {
        slots_.assign(slots_.size() * 2, absent);
        const std::size_t mask = slots_.size() - 1;
        for (std::int32_t id = 0; id < size(); ++id) {
            std::size_t i = hashes_[id] & mask;
            while (slots_[i] != absent) i = (i + 1) & mask;
            slots_[i] = id;
        }
    }

    std::vector<std::int32_t> slots_;   // [power of two] id or absent, linear probing, at most half full
    std::vector<std::uint64_t> hashes_; // [types]
    std::vector<char> bytes_;           // all strings, end to end
    std::vector<std::int64_t> starts_;  // [types+1] bounds into bytes_
};

} // namespace chaffinch
