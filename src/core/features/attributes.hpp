// Features that users name themselves: per token a list of attributes with values, each name kept once.
//
// An attribute that a token has twice counts with the sum of its values.
#pragma once

#include "interner.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chaffinch::features {

// Tokens as lists of attributes.
struct AttributeRows {
    std::vector<std::int64_t> ptr{0};  // [T+1]
    std::vector<std::int32_t> ids;     // [nnz]
    std::vector<float> values;         // [nnz]
    bool ones = true;                  // every value is 1
};

class AttributeIndex {
  public:
    std::int32_t size() const { return names_.size(); }
    std::string_view name(std::int32_t id) const { return names_[id]; }
    std::int32_t find(std::string_view name) const { return names_.find(name); }
    std::int32_t intern(std::string_view name) { return names_.intern(name); }

    // Adds an attribute to the token that is being read. growing: new names get an id; otherwise they are ignored.
    void add(std::string_view name, float value, bool growing, AttributeRows& rows) {
        const std::uint64_t hash = text::hash_bytes(name);
        const std::int32_t id = growing ? names_.intern_hashed(name, hash) : names_.find_hashed(name, hash);
        if (id != text::Interner::absent) add(id, value, rows);
    }
    void add(std::int32_t id, float value, AttributeRows& rows);

    // The token is complete.
    void end_token(AttributeRows& rows) const { rows.ptr.push_back(static_cast<std::int64_t>(rows.ids.size())); }

    // Rows of another index in ids of this one, names numbered in order of first sight; unknown names are ignored
    // unless growing.
    AttributeRows translated(const AttributeIndex& from, std::span<const std::int64_t> ptr, // need not start at 0
                             std::span<const std::int32_t> ids, const float* values, bool growing);

  private:
    text::Interner names_;
    std::vector<std::int64_t> last_; // [names]  where the attribute was added last
};

// The attributes of a token in CRFsuite's text: `name` or `name:value`, separated by tabs; a backslash before a colon or
// a backslash is an escape. Calls add(name, value); false if a value is no finite number: `bad` is then the attribute.
template <class Add> bool read_attribute_text(std::string_view cell, std::string& name, std::string_view& bad, Add&& add);

// The finite number that all of `text` spells, as strtod reads it.
bool read_number(std::string_view text, double& value);

template <class Add> bool read_attribute_text(std::string_view cell, std::string& name, std::string_view& bad, Add&& add) {
    while (!cell.empty()) {
        const std::size_t tab = cell.find('\t');
        const std::string_view item = cell.substr(0, tab);
        cell = tab == std::string_view::npos ? std::string_view() : cell.substr(tab + 1);
        if (item.empty()) continue;
        name.clear();
        std::size_t i = 0;
        for (; i < item.size() && item[i] != ':'; ++i) {
            if (item[i] == '\\' && i + 1 < item.size()) ++i;
            name.push_back(item[i]);
        }
        double value = 1;
        if (i + 1 < item.size() && !read_number(item.substr(i + 1), value)) {
            bad = item;
            return false;
        }
        add(std::string_view(name), value);
    }
    return true;
}

} // namespace chaffinch::features
