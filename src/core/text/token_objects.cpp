#include "token_objects.hpp"

#include "column_text.hpp"

#include <algorithm>
#include <utility>

namespace chaffinch::text {

namespace {

constexpr std::string_view tokens_name = "tokens", tags_name = "tags", id_name = "id";

// Reads the lines one by one into the rows; the vectors are kept between them.
class TokenObjectReader {
  public:
    TokenObjectReader(TokenObjects& rows) : rows_(rows), cells_(rows.keys.lists()), spelt_(cells_.size()) {
        rows_.columns.resize(rows_.keys.kept.size());
    }

    bool add(JsonReader& reader) {
        for (std::size_t l = 0; l < cells_.size(); ++l) {
            cells_[l].clear();
            spelt_[l] = "[]";
        }
        bool words = false;
        JsonValue id;
        const bool read = reader.members([&](const JsonValue& key) {
            const std::size_t l = list_named(key.text);
            if (l < cells_.size()) {
                words = words || l == 0;
                return (l > 0 && reader.null()) || reader.strings(spelt_[l], cells_[l]);
            }
            JsonValue value;
            if (!reader.value(value)) return false;
            if (key.text == id_name) {
                id = value;
                return value.kind == JsonValue::Kind::null || value.kind == JsonValue::Kind::string ||
                       value.kind == JsonValue::Kind::integer;
            }
            rows_.fields.push_back({key, value});
            return key.text != tokens_name && key.text != tags_name;
        });
        if (!read || !words) return false;
        const std::size_t T = cells_[0].size();
        if (!std::ranges::all_of(cells_, [&](const auto& cells) { return cells.size() == T; })) return false;
        for (std::size_t k = 0; k < rows_.columns.size(); ++k) {
            TokenObjects::Column& column = rows_.columns[k];
            for (const std::string_view cell : cells_[rows_.keys.kept[k]]) column.ids.push_back(column.types.intern(cell));
        }
        rows_.lists.insert(rows_.lists.end(), spelt_.begin(), spelt_.end());
        rows_.ptr.push_back(rows_.ptr.back() + static_cast<std::int64_t>(T));
        rows_.ids.push_back(id);
        rows_.ends.push_back(rows_.fields.size());
        return true;
    }

  private:
    // Which list has this key; L if it is no list.
    std::size_t list_named(std::string_view key) const {
        const TokenKeys& keys = rows_.keys;
        if (key == keys.words) return 0;
        const auto other = std::ranges::find(keys.others, key);
        if (other != keys.others.end()) return 1 + static_cast<std::size_t>(other - keys.others.begin());
        return !keys.tags.empty() && key == keys.tags ? cells_.size() - 1 : cells_.size();
    }

    TokenObjects& rows_;
    std::vector<std::vector<std::string_view>> cells_; // [L]
    std::vector<std::string_view> spelt_;              // [L]
};

} // namespace

std::optional<TokenObjects> read_token_objects(std::string_view lines, TokenKeys keys) {
    TokenObjects rows;
    rows.keys = std::move(keys);
    TokenObjectReader objects(rows);
    JsonReader reader(rows.made);
    if (!reader.each_line(lines, [&] { return objects.add(reader); })) return std::nullopt;
    return rows;
}

std::string labelled_lines(const TokenObjects& rows, std::span<const std::string> labels, std::span<const std::int32_t> ids) {
    const std::size_t N = rows.ids.size(), L = rows.keys.lists();
    std::vector<std::string> names; // of the further lists
    for (const std::string& other : rows.keys.others) {
        append_json(names.emplace_back(", "), other);
        names.back().append(": ");
    }
    std::size_t size = 64 * N;
    for (const std::string_view list : rows.lists) size += list.size();
    std::string out;
    out.reserve(size + 8 * ids.size());
    std::size_t field = 0;
    for (std::size_t row = 0; row < N; ++row) {
        out.push_back('{');
        if (rows.ids[row].kind != JsonValue::Kind::null) out.append("\"id\": ").append(rows.ids[row].json).append(", ");
        const std::string_view* lists = &rows.lists[row * L];
        out.append("\"tokens\": ").append(lists[0]);
        for (std::size_t l = 0; l < names.size(); ++l) out.append(names[l]).append(lists[1 + l]);
        out.append(", \"tags\": [");
        for (std::int64_t t = rows.ptr[row]; t < rows.ptr[row + 1]; ++t) {
            if (t > rows.ptr[row]) out.append(", ");
            out.append(labels[static_cast<std::size_t>(ids[static_cast<std::size_t>(t)])]);
        }
        out.push_back(']');
        for (; field < rows.ends[row]; ++field)
            out.append(", ").append(rows.fields[field].key.json).append(": ").append(rows.fields[field].value.json);
        out.append("}\n");
    }
    return out;
}

} // namespace chaffinch::text
