// The regular expressions of Wapiti's patterns, on bytes.
//
//   .        any byte              \d \a \w \l \u \p \s   digit, letter, both, lower case, upper case, punctuation, space;
//   \x       x itself              a capital is the complement (bytes beyond ASCII are of no class)
//   x* x?    repeated, optional    ^ $                    at the beginning and at the end: anchors
//
// A star takes as few bytes as it can. Wapiti counts a byte twice if an optional one was tried and taken back, so a length
// may be too large; features depend on it, so it is the same here.
#pragma once

#include <cstdint>
#include <string_view>

namespace chaffinch::text {

struct WapitiMatch {
    std::int64_t at = -1, length = 0; // at: -1 if there is no match
};

// The first match. Throws std::domain_error if the search takes too many steps; the expression must be sound.
WapitiMatch wapiti_match(std::string_view expression, std::string_view text);

} // namespace chaffinch::text
