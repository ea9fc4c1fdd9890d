#include "token_objects.hpp"

#include "cell_numbers.hpp"

#include <algorithm>
#include <utility>

namespace chaffinch::text {

namespace {

constexpr std::string_view tokens_name = "tokens", tags_name = "tags", id_name = "id";

// Reads the lines one by one into the rows; the vectors are kept between them.
class TokenObjectReader {
  public:
    TokenObjectReader(TokenObjects& rows, std::string_view lines, std::span<Interner* const> shared)
        : rows_(rows), lines_(lines), shared_(shared), cells_(rows.keys.lists()), spelt_(cells_.size()),
          numbers_(rows.keys.kept.size()) {
        rows_.columns.resize(numbers_.size());
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
            for (const std::string_view cell : cells_[rows_.keys.kept[k]])
                numbers_[k].add(cell, lines_, types(k), column.ids);
        }
        rows_.lists.insert(rows_.lists.end(), spelt_.begin(), spelt_.end());
        rows_.ptr.push_back(rows_.ptr.back() + static_cast<std::int64_t>(T));
        rows_.ids.push_back(id);
        rows_.ends.push_back(rows_.fields.size());
        return true;
    }

    void finish() {
        for (std::size_t k = 0; k < numbers_.size(); ++k) numbers_[k].finish(types(k), rows_.columns[k].ids);
    }

  private:
    Interner& types(std::size_t k) { return shared_.empty() ? rows_.columns[k].types : *shared_[k]; }

    // Which list has this key; L if it is no list.
    std::size_t list_named(std::string_view key) const {
        const TokenKeys& keys = rows_.keys;
        if (key == keys.words) return 0;
        const auto other = std::ranges::find(keys.others, key);
        if (other != keys.others.end()) return 1 + static_cast<std::size_t>(other - keys.others.begin());
        return !keys.tags.empty() && key == keys.tags ? cells_.size() - 1 : cells_.size();
    }

    TokenObjects& rows_;
    std::string_view lines_;
    std::span<Interner* const> shared_;
    std::vector<std::vector<std::string_view>> cells_; // [L]
    std::vector<std::string_view> spelt_;              // [L]
    std::vector<CellNumbers> numbers_;                 // [kept]
};

} // namespace

std::optional<TokenObjects> read_token_objects(std::string_view lines, TokenKeys keys, std::span<Interner* const> shared) {
    TokenObjects rows;
    rows.keys = std::move(keys);
    TokenObjectReader objects(rows, lines, shared);
    JsonReader reader(rows.made);
    if (!reader.each_line(lines, [&] { return objects.add(reader); })) return std::nullopt;
    objects.finish();
    return rows;
}

std::string labelled_lines(const TokenObjects& rows, std::span<const std::string> labels, std::span<const std::int32_t> ids) {
    const std::size_t N = rows.ids.size(), L = rows.keys.lists();
    std::vector<std::string> names; // of the further lists
    for (const std::string& other : rows.keys.others) {
        append_json(names.emplace_back(", "), other);
        names.back().append(": ");
    }
    std::vector<std::string> further; // labels after the first of a sentence
    for (const std::string& label : labels) further.push_back(", " + label);
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
        const auto first = static_cast<std::size_t>(rows.ptr[row]), end = static_cast<std::size_t>(rows.ptr[row + 1]);
        if (first < end) out.append(labels[static_cast<std::size_t>(ids[first])]);
        for (std::size_t t = first + 1; t < end; ++t) out.append(further[static_cast<std::size_t>(ids[t])]);
        out.push_back(']');
        for (; field < rows.ends[row]; ++field)
            out.append(", ").append(rows.fields[field].key.json).append(": ").append(rows.fields[field].value.json);
        out.append("}\n");
    }
    return out;
}

} // namespace chaffinch::text
