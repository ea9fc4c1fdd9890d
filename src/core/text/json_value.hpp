// JSON that Python's json module reads, spelt as this module writes it (with ensure_ascii=False).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
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
    JsonReader(std::string_view text, std::deque<std::string>& made) : text_(text), made_(made) {}

    // Appends the fields of the object that is all of the text; false if it is not valid JSON, or has anything that Python
    // refuses or does not write as it was read: a key twice, half a surrogate pair, NUL, NaN, a number too large.
    bool object(std::vector<JsonField>& fields);

    // Whether only white space is left.
    bool ended();

  private:
    bool value(JsonValue& out);
    bool string(JsonValue& out);
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

    void skip_space() {
        while (next() == ' ' || next() == '\t' || next() == '\n' || next() == '\r') ++at_;
    }

    std::string_view text_;
    std::deque<std::string>& made_;
    std::vector<std::string_view> keys_; // of the nested objects that are open
    std::size_t at_ = 0;
};

// Appends a string in quote marks.
void append_json(std::string& out, std::string_view characters);

// A number as Python's repr writes it; nothing if it is not finite.
std::optional<std::string> repr(double value);

} // namespace chaffinch::text
