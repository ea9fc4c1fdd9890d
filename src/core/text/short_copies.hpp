// Many short strings, one after the other, in bytes of a known number. The lengths of cells and labels cannot be predicted, so that 16 bytes
// are copied whenever they may be read and written: what is too much is written over by the next string.
#pragma once

#include "interner.hpp"

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace chaffinch::text {

class ShortCopies {
  public:
    // Writes up to ``size`` bytes to ``out``.
    ShortCopies(char* out, std::size_t size) : out_(out), end_(out + size) {}

    // readable: where the bytes after the string end that may be read
    void put(std::string_view s, const char* readable) {
        const bool room = end_ - out_ >= static_cast<std::ptrdiff_t>(padding) && readable - s.data() >= static_cast<std::ptrdiff_t>(padding);
        if (room && s.size() <= padding)
            std::memcpy(out_, s.data(), padding);
        else if (!s.empty())
            std::memcpy(out_, s.data(), s.size());
        out_ += s.size();
    }

    void put(char sign) { *out_++ = sign; }

  private:
    char* out_;
    char* const end_;
};

// Strings that are put often, padded.
class PaddedStrings {
  public:
    template <class Strings> explicit PaddedStrings(const Strings& strings) {
        for (const std::string& s : strings) padded_.push_back(s + std::string(padding, '\0'));
    }

    std::size_t size(std::size_t i) const { return padded_[i].size() - padding; }
    void put(std::size_t i, ShortCopies& out) const {
        const std::string& s = padded_[i];
        out.put({s.data(), s.size() - padding}, s.data() + s.size());
    }

  private:
    std::vector<std::string> padded_;
};

} // namespace chaffinch::text
