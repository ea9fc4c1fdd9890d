#include "word_functions.hpp"

#include <algorithm>
#include <array>

namespace chaffinch::text {

bool is_ascii(std::string_view text) {
    unsigned char all = 0;
    for (const char c : text) all |= static_cast<unsigned char>(c);
    return all < 0x80;
}

void Word::read(std::string_view text, std::string_view lower, CodePoints &points) {
    text_ = text;
    starts_.clear();
    kinds_.clear();
    uppers_ = lowers_ = digits_ = letters_ = 0;
    starts_.reserve(text.size() + 1);
    kinds_.reserve(text.size());
    const bool ascii = is_ascii(text);
    for (std::size_t at = 0; at < text.size();) {
        const auto [c, bytes] =
            ascii ? std::pair(std::uint32_t(text[at]), std::size_t{1}) : code_point(text, at);
        const Kind kind = points.kind(c);
        starts_.push_back(static_cast<std::uint32_t>(at));
        kinds_.push_back(kind);
        uppers_ += kind == Kind::upper;
        lowers_ += kind == Kind::lower;
        digits_ += kind == Kind::digit;
        letters_ += kind != Kind::other && kind != Kind::digit;
        at += bytes;
    }
    starts_.push_back(static_cast<std::uint32_t>(text.size()));
    lower_ = ascii ? text : lower;
    if (ascii && uppers_ > 0)
        for (char &c : lower_)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
}

bool Word::value(WordFunction function, std::int32_t parameter, std::string &out) const {
    const std::size_t n = kinds_.size();
    const auto wanted = static_cast<std::size_t>(parameter);
    switch (function) {
    case WordFunction::identity:
        out = text_;
        return true;
    case WordFunction::lower:
        out = lower_;
        return true;
    case WordFunction::shape:
    case WordFunction::long_shape: {
        out.clear();
        std::size_t last = 0; // where in out the last code point starts
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t before = out.size();
            switch (kinds_[i]) {
            case Kind::upper:
                out += 'X';
                break;
            case Kind::lower:
            case Kind::letter:
                out += 'x';
                break;
            case Kind::digit:
                out += 'd';
                break;
            case Kind::other:
                out += text_.substr(starts_[i], starts_[i + 1] - starts_[i]);
                break;
            }
            if (function == WordFunction::shape && before > 0 &&
                std::string_view(out).substr(last, before - last) == std::string_view(out).substr(before))
                out.resize(before);
            else
                last = before;
        }
        return true;
    }
    case WordFunction::prefix:
        if (n < wanted) return false;
        out = text_.substr(0, starts_[wanted]);
        return true;
    case WordFunction::suffix:
        if (n < wanted) return false;
        out = text_.substr(starts_[n - wanted]);
        return true;
    case WordFunction::caps:
        caps(out);
        return true;
    case WordFunction::digit:
        if (digits_ == 0) return false;
        out = digits_ == n ? "all" : "some";
        return true;
    case WordFunction::hyphen: {
        const std::size_t at = text_.find('-', 1);
        if (n < 3 || at == std::string_view::npos || at + 1 >= text_.size()) return false;
        out = "yes";
        return true;
    }
    case WordFunction::fold: {
        // Lower-casing keeps digits where they are, but may change the number of code points around them.
        out.clear();
        bool inside = false;
        for (const char c : lower_) {
            const bool digit = c >= '0' && c <= '9';
            if (!digit)
                out += c;
            else if (!inside)
                out += '0';
            inside = digit;
        }
        return true;
    }
    case WordFunction::length: {
        out = n <= 5 ? std::to_string(n) : n <= 7 ? "6-7" : n <= 10 ? "8-10" : n <= 15 ? "11-15" : "16+";
        return true;
    }
    case WordFunction::punctuation:
        if (!(traits() & is_punctuation)) return false;
        out = lower_;
        return true;
    case WordFunction::bit: {
        if (wanted / 4 >= n) return false;
        const char c = text_[starts_[wanted / 4]];
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
        if ((digit & (8 >> wanted % 4)) == 0) return false;
        out.assign(1, '1');
        return true;
    }
    case WordFunction::preposition:
    case WordFunction::cluster:
    case WordFunction::external:
        return false; // these need a list, a file or Python
    }
    return false;
}

void Word::caps(std::string &out) const {
    if (letters_ == 0)
        out = "none";
    else if (uppers_ == 0)
        out = "lower";
    else if (kinds_[0] == Kind::upper && uppers_ == 1)
        out = "initial";
    else if (lowers_ == 0)
        out = "upper";
    else
        out = "mixed";
    if (letters_ == kinds_.size()) return;
    if (digits_ > 0) out += "+digit";
    if (has('-')) out += "+hyphen";
    if (has('.')) out += "+dot";
    if (has('\'')) out += "+apostrophe";
    if (letters_ > 0) out += "+sign";
}

std::uint32_t Word::traits() const {
    static constexpr std::array<std::string_view, 6> open{"(", "[", "{", "-LRB-", "-LSB-", "-LCB-"};
    static constexpr std::array<std::string_view, 6> close{")", "]", "}", "-RRB-", "-RSB-", "-RCB-"};
    static constexpr std::array<std::string_view, 5> quote{"\"", "“", "„", "«", "``"};
    static constexpr std::array<std::string_view, 4> unquote{"\"", "”", "»", "''"};
    std::uint32_t traits = 0;
    if (std::ranges::find(open, text_) != open.end())
        traits |= opens_bracket | is_punctuation;
    else if (std::ranges::find(close, text_) != close.end())
        traits |= closes_bracket | is_punctuation;
    else if (letters_ == 0 && digits_ == 0)
        traits |= is_punctuation;
    else {
        if (letters_ == 0) traits |= is_number;
        if (!kinds_.empty() && kinds_[0] == Kind::upper) traits |= is_capitalised;
        if (letters_ > 0 && uppers_ == 0) traits |= is_lower;
        if (uppers_ > 0 && uppers_ == letters_) traits |= is_upper;
    }
    if (text_ == ",") traits |= is_comma;
    if (std::ranges::find(quote, text_) != quote.end()) traits |= opens_quote;
    if (std::ranges::find(unquote, text_) != unquote.end()) traits |= closes_quote;
    return traits;
}

} // namespace chaffinch::text
