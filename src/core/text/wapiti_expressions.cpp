#include "wapiti_expressions.hpp"

#include <stdexcept>

namespace chaffinch::text {

namespace {

constexpr std::int64_t most_steps = 1 << 20;

bool is_lower(unsigned char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(unsigned char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
bool is_alpha(unsigned char c) { return is_lower(c) || is_upper(c); }
bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_punctuation(unsigned char c) { return c > 32 && c < 127 && !is_alpha(c) && !is_digit(c); }

bool of_class(char name, char byte, bool& known) {
    const auto c = static_cast<unsigned char>(byte);
    switch (name | 32) {
    case 'a': return is_alpha(c);
    case 'd': return is_digit(c);
    case 'l': return is_lower(c);
    case 'p': return is_punctuation(c);
    case 's': return is_space(c);
    case 'u': return is_upper(c);
    case 'w': return is_alpha(c) || is_digit(c);
    default: known = false; return false;
    }
}

class Search {
  public:
    explicit Search(std::string_view text) : text_(text) {}

    std::int64_t length = 0; // as Wapiti counts it

    bool here(std::string_view expression, std::size_t at) {
        for (;;) {
            if (++steps_ > most_steps) throw std::domain_error("the regular expression takes too long");
            if (expression.empty()) return true;
            if (expression == "$") return at == text_.size();
            const std::size_t n = expression.front() == '\\' && expression.size() > 1 ? 2 : 1;
            const std::string_view one = expression.substr(0, n);
            std::string_view rest = expression.substr(n);
            if (rest.starts_with('*')) return star(one, rest.substr(1), at);
            if (rest.starts_with('?')) {
                rest.remove_prefix(1);
                if (matches(one, at)) {
                    ++length;
                    if (here(rest, at + 1)) return true;
                    --length;
                }
            } else {
                ++length;
                if (!matches(one, at)) return false;
                ++at;
            }
            expression = rest;
        }
    }

  private:
    bool star(std::string_view one, std::string_view rest, std::size_t at) {
        for (;; ++at) {
            const std::int64_t before = length;
            if (here(rest, at)) return true;
            length = before + 1;
            if (!matches(one, at)) return false;
        }
    }

    bool matches(std::string_view one, std::size_t at) const {
        if (at >= text_.size()) return false;
        if (one.size() == 1) return one[0] == '.' || one[0] == text_[at];
        const char name = one[1];
        bool known = is_alpha(static_cast<unsigned char>(name));
        const bool inside = known && of_class(name, text_[at], known);
        return known ? inside == is_lower(static_cast<unsigned char>(name)) : name == text_[at];
    }

    std::string_view text_;
    std::int64_t steps_ = 0;
};

} // namespace

WapitiMatch wapiti_match(std::string_view expression, std::string_view text) {
    Search search(text);
    if (expression.starts_with('^')) {
        if (search.here(expression.substr(1), 0)) return {0, search.length};
        return {};
    }
    for (std::size_t at = 0; at <= text.size(); ++at) {
        search.length = 0;
        if (search.here(expression, at)) return {static_cast<std::int64_t>(at), search.length};
    }
    return {};
}

} // namespace chaffinch::text
