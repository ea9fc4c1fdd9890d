// Where lines and their cells end: a bit for each byte of the text, made of 64 bytes at a time. Cells are short, so that a
// search for each would cost more than the marks of all.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace chaffinch::text {

class LineMarks {
  public:
    // Marks line feeds and two signs, which may be the same. lines: ends with a line feed, and is held by the caller
    void mark(std::string_view lines, char sign, char other);

    // The number of line feeds.
    std::size_t count() const { return count_; }

    // The first line feed from a byte on.
    std::size_t line_end(std::size_t from) const {
        std::uint64_t found = window(feeds_, from);
        for (; found == 0; found = window(feeds_, from)) from += bits;
        return from + static_cast<std::size_t>(std::countr_zero(found));
    }

    // Cuts a stretch at every sign: the first cells, as many as there is room for. Returns the number of all.
    std::size_t cut(std::size_t start, std::size_t end, std::span<std::string_view> cells) const {
        std::size_t found = 0, begin = start;
        for (std::size_t at = start; at < end; at += bits) {
            std::uint64_t signs = signs_before(at, end);
            for (; signs != 0 && found < cells.size(); signs &= signs - 1) {
                const std::size_t sign = at + static_cast<std::size_t>(std::countr_zero(signs));
                cells[found++] = {lines_ + begin, sign - begin};
                begin = sign + 1;
            }
            if (signs != 0) found += static_cast<std::size_t>(std::popcount(signs));
        }
        if (found < cells.size()) cells[found] = {lines_ + begin, end - begin};
        return found + 1;
    }

    // Whether a stretch that is not empty begins or ends with a sign, or has two of them side by side.
    bool has_runs(std::size_t start, std::size_t end) const {
        std::uint64_t before = 1; // the start counts as a sign
        for (std::size_t at = start; at < end; at += bits) {
            const std::uint64_t signs = signs_before(at, end);
            if ((signs & (signs << 1 | before)) != 0) return true;
            before = signs >> (bits - 1);
        }
        return (signs_[(end - 1) / bits] >> (end - 1) % bits & 1) != 0;
    }

  private:
    static constexpr std::size_t bits = 64;

    // The marks of 64 bytes from ``at`` on, which may be in two words.
    static std::uint64_t window(const std::vector<std::uint64_t>& marks, std::size_t at) {
        const std::size_t word = at / bits, shift = at % bits;
        return marks[word] >> shift | marks[word + 1] << 1 << (bits - 1 - shift);
    }

    // The signs of up to 64 bytes from ``at`` on, before ``end``.
    std::uint64_t signs_before(std::size_t at, std::size_t end) const {
        const std::uint64_t inside = end - at < bits ? (std::uint64_t{1} << (end - at)) - 1 : ~std::uint64_t{0};
        return window(signs_, at) & inside;
    }

    const char* lines_ = nullptr;
    std::vector<std::uint64_t> feeds_, signs_; // [bytes / 64, and one more]
    std::size_t count_ = 0;
};

} // namespace chaffinch::text
