// Code points of UTF-8 text and what kind each one is: upper, lower, digit, other letter, anything else.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace chaffinch::text {

enum class Kind : std::uint8_t { other, upper, lower, digit, letter };

inline Kind ascii_kind(unsigned char c) {
    if (c >= 'A' && c <= 'Z') return Kind::upper;
    if (c >= 'a' && c <= 'z') return Kind::lower;
    if (c >= '0' && c <= '9') return Kind::digit;
    return Kind::other;
}

// The code point that starts at text[at], and how many bytes it takes; text is valid UTF-8.
inline std::pair<std::uint32_t, std::size_t> code_point(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) {
        return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
    };
    const std::uint32_t b = byte(at);
    const std::size_t n = b < 0x80 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
    if (n == 1 || at + n > text.size()) return {b, 1};
    std::uint32_t c = b & (0x7Fu >> n);
    for (std::size_t i = 1; i < n; ++i) c = (c << 6) | (byte(at + i) & 0x3F);
    return {c, n};
}

// Kinds beyond ASCII are requested once per page of 256 code points from a source that knows Unicode.
class CodePoints {
  public:
    using Page = std::array<Kind, 256>;
    using Source = std::function<Page(std::uint32_t page)>;

    CodePoints() = default;
    CodePoints(const CodePoints &other) : source_(other.source_) {} // asks for its own pages
    CodePoints(CodePoints &&) = default;
    CodePoints &operator=(CodePoints &&) = default;

    void set_source(Source source) { source_ = std::move(source); }

    Kind kind(std::uint32_t c) {
        if (c < 0x80) return ascii_kind(static_cast<unsigned char>(c));
        std::unique_ptr<Page> &page = pages_[(c >> 8) % pages_.size()];
        if (!page) page = std::make_unique<Page>(source_(c >> 8));
        return (*page)[c & 0xFF];
    }

  private:
    Source source_;
    std::array<std::unique_ptr<Page>, 0x1100> pages_; // [0x110000 / 256]
};

} // namespace chaffinch::text
