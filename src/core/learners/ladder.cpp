#include "ladder.hpp"

#include <algorithm>
#include <array>

namespace chaffinch::learners {

namespace {

constexpr std::size_t longest_suffix = 5;

// Endings that hint at a part of speech in English, longest first; harmless in other languages.
constexpr std::array<std::string_view, 30> endings{
    "able", "ance", "ence", "ible", "less", "ment", "ness", "ship", "tion", "ate", "est", "ful", "ing", "ion", "ise",
    "ish",  "ism",  "ist",  "ity",  "ive",  "ize",  "ous",  "al",   "ed",   "en",  "er",  "ic",  "ly",  "s",   "y"};

bool has_letters(std::string_view case_class) {
    return case_class.find_first_of("Xx") != std::string_view::npos && case_class[0] != '9';
}

} // namespace

std::string_view Climber::case_class(std::string_view word, text::CodePoints& points) {
    std::size_t n = 0, uppers = 0, lowers = 0, digits = 0, letters = 0;
    bool starts_upper = false;
    for (std::size_t at = 0; at < word.size();) {
        const auto [c, bytes] = text::code_point(word, at);
        const text::Kind kind = points.kind(c);
        if (at == 0) starts_upper = kind == text::Kind::upper;
        uppers += kind == text::Kind::upper;
        lowers += kind == text::Kind::lower;
        digits += kind == text::Kind::digit;
        letters += kind == text::Kind::upper || kind == text::Kind::lower || kind == text::Kind::letter;
        at += bytes;
        ++n;
    }
    if (n > 1 && word[0] == '@') return "@";
    if (n > 1 && word[0] == '#') return "#";
    if (word.starts_with("http:") || word.starts_with("https:") || word.starts_with("www.")) return "://";
    if (digits > 0) return digits == n ? "9" : letters > 0 ? "9x" : "9.";
    if (letters == 0) return ".";
    const bool hyphen = word.size() > 2 && word.substr(1, word.size() - 2).find('-') != std::string_view::npos;
    if (uppers > 0 && lowers == 0) return hyphen ? "X-X" : letters > 1 ? "XX" : "X";
    if (starts_upper) return hyphen ? "Xx-x" : "Xx";
    if (uppers == 0) return hyphen ? "x-x" : "x";
    return "xX";
}

const std::vector<std::string>& Climber::climb(std::string_view word, std::string_view lower, text::CodePoints& points) {
    used_ = 0;
    next().push_back('*');
    if (ladder_ != Ladder::one) {
        const std::string_view look = case_class(word, points);
        next().append(look);
        if (ladder_ == Ladder::classes) {
            const auto ending = std::ranges::find_if(
                endings, [&](std::string_view e) { return lower.size() > e.size() + 1 && lower.ends_with(e); });
            if (ending != endings.end() && has_letters(look)) next().append(look).append("-").append(*ending);
        } else {
            std::size_t from = lower.size();
            for (std::size_t length = 0; length < longest_suffix && from > 0; ++length) {
                do --from;
                while (from > 0 && (static_cast<unsigned char>(lower[from]) & 0xC0) == 0x80); // within a code point
                next().append(look).append(" ").append(lower.substr(from));
            }
            next().append("= ").append(lower);
        }
    }
    rungs_.resize(used_);
    return rungs_;
}

std::string& Climber::next() {
    if (used_ == rungs_.size()) rungs_.emplace_back();
    std::string& rung = rungs_[used_++];
    rung.clear();
    return rung;
}

std::int32_t EmissionSymbols::rung(const std::vector<std::string>& ladder) const {
    for (std::size_t i = ladder.size(); i-- > 0;) {
        const std::int32_t found = rungs.find(ladder[i]);
        if (found != text::Interner::absent) return words.size() + found;
    }
    return words.size();
}

} // namespace chaffinch::learners
