// Whole numbers in as few bytes as they need, seven bits a byte, low bits first (LEB128): small ids take one byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::text {

inline void append_varint(std::uint32_t n, std::vector<std::uint8_t>& out) {
    while (n >= 0x80) {
        out.push_back(static_cast<std::uint8_t>(n | 0x80));
        n >>= 7;
    }
    out.push_back(static_cast<std::uint8_t>(n));
}

// Reads out.size() numbers below 2^31 from the front of `bytes`; how many bytes they took, or 0 if they are not there.
inline std::size_t read_varints(std::span<const std::uint8_t> bytes, std::span<std::int32_t> out) {
    const std::uint8_t* at = bytes.data();
    const std::uint8_t* const end = at + bytes.size();
    for (std::int32_t& number : out) {
        std::uint64_t n = 0;
        int shift = 0;
        for (;; shift += 7) {
            if (at == end || shift > 28) return 0;
            const std::uint8_t byte = *at++;
            n |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
            if (byte < 0x80) break;
        }
        if (n > 0x7fffffff) return 0;
        number = static_cast<std::int32_t>(n);
    }
    return static_cast<std::size_t>(at - bytes.data());
}

} // namespace chaffinch::text
