// JSON that Python's json module reads, spelt as this module writes it (with ensure_ascii=False).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chaffinch::text {

struct JsonValue {
    enum class Kind : std::uint8_t { null, boolean, integer, number, string, list, object };
    std::string_view json;   // its spelling
    std::string_view text;   // the characters of a string; null: none; of other values the spelling
    std::uint32_t items = 0; // of a list
    bool scalars = false;    // of a list: its items are strings, numbers or truth values
    Kind kind = Kind::null;
};

struct JsonField {
    JsonValue key; // a string
    JsonValue value;
};

// Reads objects of text that is UTF-8 without NUL. Values are views of the text, or of ``made`` if they are spelt in
// another way there.
class JsonReader {
  public:
    explicit JsonReader(std::deque<std::string>& made) : made_(made) {}

    // Begins to read a text.
    void open(std::string_view text) {
        text_ = text;
        at_ = 0;
        keys_.clear();
    }

    // Opens each line that is not blank and calls take(), until it gives false; false then, or if a carriage return is not at
    // the end of its line.
    template <class Take> bool each_line(std::string_view lines, Take&& take) {
        const bool returns = lines.find('\r') != std::string_view::npos;
        while (!lines.empty()) {
            const std::size_t end = std::min(lines.find('\n'), lines.size());
            std::string_view line = lines.substr(0, end);
            lines.remove_prefix(std::min(end + 1, lines.size()));
            if (line.ends_with('\r')) line.remove_suffix(1);
            if (returns && line.find('\r') != std::string_view::npos) return false;
            open(line);
            if (!ended() && !take()) return false;
        }
        return true;
    }

    // Appends the fields of the object that is all of the text; false if it is not valid JSON, or has anything that Python
    // refuses or does not write as it was read: a key twice, half a surrogate pair, NUL, NaN, a number too large.
    bool object(std::vector<JsonField>& fields);

    // The same, member by member: take(key) reads the value, and says whether it could.
    template <class Take> bool members(Take&& take) {
        const std::size_t first = keys_.size();
        skip_space();
        if (!skip('{')) return false;
        skip_space();
        if (skip('}')) return ended();
        do {
            skip_space();
            JsonValue key;
            if (!string(key) || !open_key(key.text, first)) return false;
            skip_space();
            if (!skip(':')) return false;
            skip_space();
            if (!take(std::as_const(key))) return false;
            skip_space();
        } while (skip(','));
        keys_.resize(first);
        return skip('}') && ended();
    }

    // The next value.
    bool value(JsonValue& out);

    // Appends the items of the next value, a list, as text, and gives its spelling as a list of strings; false if it is no list,
    // or an item is null, the empty string, a list or an object.
    bool strings(std::string_view& spelt, std::vector<std::string_view>& items);

    // Whether the next value is null; if so, it is read.
    bool null();

    // Whether only white space is left.
    bool ended();

  private:
    bool string(JsonValue& out);
    bool open_key(std::string_view key, std::size_t first);
    bool number(JsonValue& out);
    bool constant(JsonValue& out, std::string_view word, JsonValue::Kind kind);
    bool append_value(std::string& out, int depth, JsonValue* list);
    bool append_list(std::string& out, int depth, JsonValue* list);
    bool append_object(std::string& out, int depth);
    char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    bool skip(char sign) {
        const bool here = next() == sign;
        at_ += here;
        return here;
    }

    // The number of bytes of white space.
    std::size_t skip_space() {
        const std::size_t start = at_;
        while (next() == ' ' || next() == '\t' || next() == '\n' || next() == '\r') ++at_;
        return at_ - start;
    }

    std::string_view text_;
    std::deque<std::string>& made_;
    std::vector<std::string_view> keys_; // of the objects that are open
    std::size_t at_ = 0;
};

// Appends a string in quote marks.
void append_json(std::string& out, std::string_view characters);

// A number as Python's repr writes it; nothing if it is not finite.
std::optional<std::string> repr(double value);

} // namespace chaffinch::text
