#include "json_value.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace chaffinch::text {

namespace {

constexpr int deepest = 64;            // Python allows more, up to its own limit
constexpr std::size_t most_keys = 64;  // of one object: each is compared with all others
constexpr std::size_t most_digits = 600; // of a whole number: Python's own limit is 640 or more

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The first byte from ``at`` on that ends a string, begins an escape or may not stand in a string.
std::size_t special(std::string_view s, std::size_t at) {
    constexpr std::uint64_t ones = 0x0101010101010101ULL, high = 0x8080808080808080ULL;
    for (; at + 8 <= s.size(); at += 8) {
        std::uint64_t word;
        std::memcpy(&word, s.data() + at, 8);
        const std::uint64_t quote = word ^ (ones * '"'), slash = word ^ (ones * '\\');
        const std::uint64_t found =
            (((word - ones * 0x20) & ~word) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & high;
        if (found == 0) continue;
        // A borrow comes only from a byte that is found itself, so the lowest of them is right.
        if constexpr (std::endian::native == std::endian::little)
            return at + static_cast<std::size_t>(std::countr_zero(found)) / 8;
        break;
    }
    while (at < s.size() && static_cast<unsigned char>(s[at]) >= 0x20 && s[at] != '"' && s[at] != '\\') ++at;
    return at;
}

void append_utf8(std::string& out, std::uint32_t c) {
    const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | (c >> 6));
        put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        put(0xE0 | (c >> 12));
        put(0x80 | ((c >> 6) & 0x3F));
        put(0x80 | (c & 0x3F));
    } else {
        put(0xF0 | (c >> 18));
        put(0x80 | ((c >> 12) & 0x3F));
        put(0x80 | ((c >> 6) & 0x3F));
        put(0x80 | (c & 0x3F));
    }
}

// The number of four hexadecimal digits.
std::optional<std::uint32_t> four_digits(std::string_view s) {
    std::uint32_t c = 0;
    if (s.size() < 4) return std::nullopt;
    const auto [end, error] = std::from_chars(s.data(), s.data() + 4, c, 16);
    if (error != std::errc() || end != s.data() + 4) return std::nullopt;
    return c;
}

// Appends the characters of the inside of a string; false if an escape is not valid or names no character.
bool append_unescaped(std::string& out, std::string_view inside) {
    while (!inside.empty()) {
        const std::size_t plain = std::min(inside.find('\\'), inside.size());
        out.append(inside.substr(0, plain));
        inside.remove_prefix(plain);
        if (inside.empty()) return true;
        if (inside.size() < 2) return false;
        const char sign = inside[1];
        inside.remove_prefix(2);
        constexpr std::string_view signs = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
        if (const std::size_t at = signs.find(sign); at != std::string_view::npos) {
            out.push_back(meant[at]);
            continue;
        }
        const std::optional<std::uint32_t> first = sign == 'u' ? four_digits(inside) : std::nullopt;
        if (!first || *first == 0) return false;
        inside.remove_prefix(4);
        std::uint32_t c = *first;
        if (c >= 0xD800 && c < 0xE000) {
            const auto second = inside.starts_with("\\u") ? four_digits(inside.substr(2)) : std::nullopt;
            if (c >= 0xDC00 || !second || *second < 0xDC00 || *second >= 0xE000) return false;
            c = 0x10000 + ((c - 0xD800) << 10) + (*second - 0xDC00);
            inside.remove_prefix(6);
        }
        append_utf8(out, c);
    }
    return true;
}

} // namespace

bool JsonReader::object(std::vector<JsonField>& fields) {
    return members([&](const JsonValue& key) {
        JsonField& field = fields.emplace_back();
        field.key = key;
        return value(field.value);
    });
}

// Notes a key of the object whose keys begin at ``first``; false if it has this key already, or too many.
bool JsonReader::open_key(std::string_view key, std::size_t first) {
    const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(first);
    if (keys_.size() - first >= most_keys || std::find(begin, keys_.end(), key) != keys_.end()) return false;
    keys_.push_back(key);
    return true;
}

bool JsonReader::ended() {
    skip_space();
    return at_ == text_.size();
}

bool JsonReader::value(JsonValue& out) {
    switch (next()) {
    case '"': return string(out);
    case 'n': return constant(out, "null", JsonValue::Kind::null);
    case 't': return constant(out, "true", JsonValue::Kind::boolean);
    case 'f': return constant(out, "false", JsonValue::Kind::boolean);
    case '[':
    case '{': {
        out.kind = next() == '[' ? JsonValue::Kind::list : JsonValue::Kind::object;
        std::string& made = made_.emplace_back();
        if (!append_value(made, 0, &out)) return false;
        out.json = out.text = made;
        return true;
    }
    default: return number(out);
    }
}

bool JsonReader::strings(std::string_view& spelt, std::vector<std::string_view>& items) {
    const std::size_t start = at_, first = items.size();
    if (!skip('[')) return false;
    bool same = skip_space() == 0; // as Python spells it
    if (!skip(']')) {
        for (bool more = true; more;) {
            const std::size_t begin = at_ + 1, end = next() == '"' ? special(text_, begin) : begin;
            if (end > begin && end < text_.size() && text_[end] == '"') { // most items: no escape, not empty
                items.emplace_back(text_.data() + begin, end - begin);
                at_ = end + 1;
                if (text_.size() - at_ > 2 && std::memcmp(text_.data() + at_, ", \"", 3) == 0) {
                    at_ += 2;
                    continue;
                }
            } else {
                JsonValue item;
                if (!value(item) || item.text.empty() || item.kind == JsonValue::Kind::list || item.kind == JsonValue::Kind::object)
                    return false;
                items.push_back(item.text);
                same = same && item.kind == JsonValue::Kind::string && item.json.data() + 1 == text_.data() + begin;
            }
            same = skip_space() == 0 && same;
            more = skip(',');
            const bool space = next() == ' ';
            if (more) same = skip_space() == 1 && space && same;
        }
        if (!skip(']')) return false;
    }
    spelt = text_.substr(start, at_ - start);
    if (same) return true;
    std::string& made = made_.emplace_back("[");
    for (std::size_t i = first; i < items.size(); ++i) {
        if (i > first) made.append(", ");
        append_json(made, items[i]);
    }
    made.push_back(']');
    spelt = made;
    return true;
}

bool JsonReader::null() {
    JsonValue nothing;
    return constant(nothing, "null", JsonValue::Kind::null);
}

bool JsonReader::string(JsonValue& out) {
    const std::size_t start = at_;
    if (!skip('"')) return false;
    bool escaped = false;
    while ((at_ = special(text_, at_)) < text_.size() && text_[at_] == '\\') {
        escaped = true;
        at_ = std::min(at_ + 2, text_.size());
    }
    if (!skip('"')) return false;
    out.kind = JsonValue::Kind::string;
    out.json = text_.substr(start, at_ - start);
    out.text = out.json.substr(1, out.json.size() - 2);
    if (!escaped) return true;
    std::string& characters = made_.emplace_back();
    if (!append_unescaped(characters, out.text)) return false;
    out.text = characters;
    std::string& spelt = made_.emplace_back();
    append_json(spelt, characters);
    out.json = spelt;
    return true;
}

bool JsonReader::number(JsonValue& out) {
    const std::size_t start = at_;
    skip('-');
    const std::size_t first = at_;
    while (is_digit(next())) ++at_;
    const std::size_t digits = at_ - first;
    if (digits == 0 || digits > most_digits || (digits > 1 && text_[first] == '0')) return false;
    bool whole = true;
    if (next() == '.') {
        whole = false;
        const std::size_t point = at_++;
        while (is_digit(next())) ++at_;
        if (at_ == point + 1) return false;
    }
    if (next() == 'e' || next() == 'E') {
        whole = false;
        ++at_;
        if (next() == '+' || next() == '-') ++at_;
        const std::size_t exponent = at_;
        while (is_digit(next())) ++at_;
        if (at_ == exponent) return false;
    }
    out.json = text_.substr(start, at_ - start);
    out.kind = whole ? JsonValue::Kind::integer : JsonValue::Kind::number;
    if (whole) {
        if (out.json == "-0") out.json.remove_prefix(1);
    } else {
        double value = 0.0;
        if (std::from_chars(out.json.data(), out.json.data() + out.json.size(), value).ec != std::errc()) return false;
        std::optional<std::string> spelt = repr(value);
        if (!spelt) return false;
        if (*spelt != out.json) out.json = made_.emplace_back(std::move(*spelt));
    }
    out.text = out.json;
    return true;
}

bool JsonReader::constant(JsonValue& out, std::string_view word, JsonValue::Kind kind) {
    if (text_.substr(at_, word.size()) != word) return false;
    out.kind = kind;
    out.json = text_.substr(at_, word.size());
    if (kind != JsonValue::Kind::null) out.text = out.json;
    at_ += word.size();
    return true;
}

// list: gets the number and kinds of the items, if the value is a list
bool JsonReader::append_value(std::string& out, int depth, JsonValue* list) {
    if (depth > deepest) return false;
    if (next() == '[') return append_list(out, depth, list);
    if (next() == '{') return append_object(out, depth);
    JsonValue inner;
    if (!value(inner)) return false;
    out.append(inner.json);
    return true;
}

bool JsonReader::append_list(std::string& out, int depth, JsonValue* list) {
    skip('[');
    out.push_back('[');
    std::uint32_t items = 0;
    bool scalars = true;
    skip_space();
    if (!skip(']')) {
        do {
            skip_space();
            if (items++ > 0) out.append(", ");
            scalars = scalars && next() != '[' && next() != '{' && next() != 'n';
            if (!append_value(out, depth + 1, nullptr)) return false;
            skip_space();
        } while (skip(','));
        if (!skip(']')) return false;
    }
    out.push_back(']');
    if (list != nullptr) {
        list->items = items;
        list->scalars = scalars;
    }
    return true;
}

bool JsonReader::append_object(std::string& out, int depth) {
    const std::size_t first = keys_.size();
    skip('{');
    out.push_back('{');
    skip_space();
    if (!skip('}')) {
        do {
            skip_space();
            JsonValue key;
            if (keys_.size() > first) out.append(", ");
            if (!string(key) || !open_key(key.text, first)) return false;
            out.append(key.json);
            out.append(": ");
            skip_space();
            if (!skip(':')) return false;
            skip_space();
            if (!append_value(out, depth + 1, nullptr)) return false;
            skip_space();
        } while (skip(','));
        if (!skip('}')) return false;
    }
    out.push_back('}');
    keys_.resize(first);
    return true;
}

void append_json(std::string& out, std::string_view characters) {
    out.push_back('"');
    for (std::size_t at = 0; at < characters.size();) {
        const std::size_t plain = special(characters, at);
        out.append(characters.substr(at, plain - at));
        if (plain == characters.size()) break;
        const char c = characters[plain];
        constexpr std::string_view signs = "\"\\\b\f\n\r\t", names = "\"\\bfnrt";
        out.push_back('\\');
        if (const std::size_t known = signs.find(c); known != std::string_view::npos) {
            out.push_back(names[known]);
        } else {
            constexpr std::string_view hexadecimal = "0123456789abcdef";
            out.append("u00");
            out.push_back(hexadecimal[static_cast<unsigned char>(c) >> 4]);
            out.push_back(hexadecimal[static_cast<unsigned char>(c) & 15]);
        }
        at = plain + 1;
    }
    out.push_back('"');
}

std::optional<std::string> repr(double value) {
    if (!std::isfinite(value)) return std::nullopt;
    char buffer[32];
    const auto written = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
    std::string_view shortest(buffer, static_cast<std::size_t>(written.ptr - buffer));
    const std::size_t mark = shortest.find('e');
    const int exponent = std::atoi(std::string(shortest.substr(mark + 1)).c_str());
    if (exponent < -4 || exponent >= 16) return std::string(shortest);
    std::string out;
    if (shortest[0] == '-') {
        out.push_back('-');
        shortest.remove_prefix(1);
    }
    std::string digits;
    std::ranges::copy_if(shortest.substr(0, shortest.find('e')), std::back_inserter(digits), is_digit);
    if (exponent < 0) {
        out.append("0.").append(static_cast<std::size_t>(-exponent - 1), '0').append(digits);
        return out;
    }
    const std::size_t whole = static_cast<std::size_t>(exponent) + 1;
    if (digits.size() < whole) digits.append(whole - digits.size(), '0');
    out.append(digits, 0, whole).push_back('.');
    out.append(digits.size() > whole ? std::string_view(digits).substr(whole) : "0");
    return out;
}

} // namespace chaffinch::text
