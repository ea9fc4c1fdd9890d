#include "json_rows.hpp"

#include "column_text.hpp"

#include <algorithm>
#include <utility>

namespace chaffinch::text {

namespace {

constexpr std::string_view text_name = "text", id_name = "id", label_name = "label";

enum class Role : std::uint8_t { text, id, label, refused, field };

struct KnownKey {
    std::string_view key;
    Role role = Role::field;
    std::size_t rank = 0; // of a text
};

// What a key means. Lines mostly have the same keys in the same order, so the answer is kept by position.
class Roles {
  public:
    explicit Roles(const JsonKeys& keys) : keys_(keys) {}

    const KnownKey& role(std::string_view key, std::size_t position) {
        if (position >= known_.size()) known_.resize(position + 1, found(key));
        if (known_[position].key != key) known_[position] = found(key);
        return known_[position];
    }

  private:
    KnownKey found(std::string_view key) const {
        const auto text = std::ranges::find(keys_.texts, key);
        if (text != keys_.texts.end()) return {key, Role::text, static_cast<std::size_t>(text - keys_.texts.begin())};
        if (key == id_name) return {key, Role::id};
        if (std::ranges::find(keys_.labels, key) != keys_.labels.end()) return {key, Role::label};
        const bool refused = key == text_name || std::ranges::find(keys_.refused, key) != keys_.refused.end();
        return {key, refused ? Role::refused : Role::field};
    }

    const JsonKeys& keys_;
    std::vector<KnownKey> known_;
};

bool is_id(const JsonValue& value) {
    return value.kind == JsonValue::Kind::null || value.kind == JsonValue::Kind::string ||
           value.kind == JsonValue::Kind::integer;
}

// A label, or a list of labels: one alone is a label, none is no label. False if the value is neither.
bool take_label(JsonValue value, JsonValue& out) {
    if (value.kind == JsonValue::Kind::object) return false;
    if (value.kind == JsonValue::Kind::list) {
        if (!value.scalars) return false;
        if (value.items == 0) value = {};
        if (value.items == 1) value.json = value.json.substr(1, value.json.size() - 2);
    }
    out = value;
    return true;
}

// Sorts the fields of one object into the rows; false if they are none of a document.
bool add_row(std::vector<JsonField>& fields, Roles& roles, JsonRows& rows) {
    constexpr std::size_t none = -1;
    std::size_t text = none, rank = none, labels = 0;
    JsonValue id, label;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const KnownKey& known = roles.role(fields[i].key.text, i);
        const JsonValue& value = fields[i].value;
        switch (known.role) {
        case Role::text:
            if (value.kind != JsonValue::Kind::null && known.rank < rank) {
                text = i;
                rank = known.rank;
            }
            break;
        case Role::id:
            if (!is_id(value)) return false;
            id = value;
            break;
        case Role::label:
            if (++labels > 1 || !take_label(value, label)) return false;
            break;
        case Role::refused: return false;
        case Role::field: break;
        }
    }
    if (text == none || fields[text].value.kind != JsonValue::Kind::string) return false;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const Role role = roles.role(fields[i].key.text, i).role;
        if (i == text || (role != Role::text && role != Role::field)) continue;
        if (fields[i].key.text == text_name) return false;
        rows.fields.push_back(fields[i]);
    }
    rows.texts.push_back(fields[text].value);
    rows.ids.push_back(id);
    rows.labels.push_back(label);
    rows.ends.push_back(rows.fields.size());
    return true;
}

void append_name(std::string& out, std::string_view name) {
    append_json(out, name);
    out.append(": ");
}

// The names of columns as JSON, with a colon.
std::vector<std::string> spelt_names(std::span<const JsonColumn> columns) {
    std::vector<std::string> names;
    for (const JsonColumn& column : columns) append_name(names.emplace_back(), column.name);
    return names;
}

// Appends the cells of a row. begun: whether a field stands before them
void append_cells(std::string& out, std::span<const JsonColumn> columns, std::span<const std::string> names,
                  std::size_t row, bool begun) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
        const std::string_view cell = columns[c].cells[row];
        if (columns[c].form == JsonForm::optional && cell.empty()) continue;
        if (std::exchange(begun, true)) out.append(", ");
        out.append(names[c]);
        if (columns[c].form == JsonForm::spelt)
            out.append(cell);
        else
            append_json(out, cell);
    }
}

} // namespace

std::optional<JsonRows> read_json_rows(std::string_view lines, const JsonKeys& keys) {
    JsonRows rows;
    Roles roles(keys);
    std::vector<JsonField> fields;
    JsonReader reader(rows.made);
    const std::size_t most = occurrences(lines, '\n') + 1;
    for (std::vector<JsonValue>* column : {&rows.texts, &rows.ids, &rows.labels}) column->reserve(most);
    rows.ends.reserve(most);
    const bool plain = reader.each_line(lines, [&] {
        fields.clear();
        if (!reader.object(fields) || !add_row(fields, roles, rows)) return false;
        if (rows.ends.size() == 1) rows.fields.reserve(most * rows.fields.size());
        return true;
    });
    if (!plain) return std::nullopt;
    return rows;
}

std::string json_lines(const JsonRows& rows, std::span<const JsonColumn> further) {
    const std::vector<std::string> names = spelt_names(further);
    std::string out;
    std::size_t size = 0;
    for (const JsonValue& text : rows.texts) size += text.json.size() + 128;
    out.reserve(size);
    std::size_t at = 0;
    for (std::size_t row = 0; row < rows.texts.size(); ++row) {
        out.push_back('{');
        if (rows.ids[row].kind != JsonValue::Kind::null) out.append("\"id\": ").append(rows.ids[row].json).append(", ");
        out.append("\"text\": ").append(rows.texts[row].json);
        const JsonValue& label = rows.labels[row];
        if (label.kind != JsonValue::Kind::null)
            out.append(label.items > 1 ? ", \"labels\": " : ", \"label\": ").append(label.json);
        for (; at < rows.ends[row]; ++at)
            out.append(", ").append(rows.fields[at].key.json).append(": ").append(rows.fields[at].value.json);
        append_cells(out, further, names, row, true);
        out.append("}\n");
    }
    return out;
}

std::string json_lines(std::span<const JsonColumn> columns, std::size_t N) {
    const std::vector<std::string> names = spelt_names(columns);
    std::string out;
    std::size_t size = 0;
    for (const JsonColumn& column : columns)
        for (const std::string_view cell : column.cells) size += cell.size() + column.name.size() + 8;
    out.reserve(size + size / 16);
    for (std::size_t row = 0; row < N; ++row) {
        out.push_back('{');
        append_cells(out, columns, names, row, false);
        out.append("}\n");
    }
    return out;
}

std::optional<NamedCells> cells_of(const JsonRows& rows) {
    NamedCells made{{text_name, label_name, id_name}, {}};
    const std::size_t N = rows.texts.size(), F = N == 0 ? 0 : rows.ends[0];
    for (std::size_t f = 0; f < F; ++f) made.names.push_back(rows.fields[f].key.text);
    made.cells.columns.resize(made.names.size());
    for (std::vector<std::string_view>& column : made.cells.columns) column.reserve(N);
    std::size_t at = 0;
    for (std::size_t row = 0; row < N; ++row) {
        const JsonValue &label = rows.labels[row], &id = rows.ids[row];
        for (const JsonValue* value : {&label, &id})
            if (value->kind == JsonValue::Kind::list || (value->kind == JsonValue::Kind::string && value->text.empty()))
                return std::nullopt;
        if (rows.ends[row] - at != F) return std::nullopt;
        made.cells.columns[0].push_back(rows.texts[row].text);
        made.cells.columns[1].push_back(label.text);
        made.cells.columns[2].push_back(id.text);
        for (std::size_t f = 0; f < F; ++f, ++at) {
            if (rows.fields[at].key.text != made.names[3 + f]) return std::nullopt;
            made.cells.columns[3 + f].push_back(rows.fields[at].value.text);
        }
    }
    return made;
}

} // namespace chaffinch::text
