#include "attributes.hpp"

#include <charconv>
#include <cmath>

namespace chaffinch::features {

void AttributeIndex::add(std::int32_t id, float value, AttributeRows& rows) {
    if (static_cast<std::size_t>(id) >= last_.size()) last_.resize(2 * static_cast<std::size_t>(id) + 64, -1);
    const std::int64_t begin = rows.ptr.back(), at = last_[id];
    if (at >= begin && at < static_cast<std::int64_t>(rows.ids.size()) && rows.ids[at] == id) {
        rows.values[at] += value;
        rows.ones = false;
        return;
    }
    last_[id] = static_cast<std::int64_t>(rows.ids.size());
    rows.ids.push_back(id);
    rows.values.push_back(value);
    rows.ones &= value == 1.0f;
}

AttributeRows AttributeIndex::translated(const AttributeIndex& from, std::span<const std::int64_t> ptr,
                                         std::span<const std::int32_t> ids, const float* values, bool growing) {
    constexpr std::int32_t unasked = -2;
    std::vector<std::int32_t> place(static_cast<std::size_t>(from.size()), unasked);
    AttributeRows rows;
    for (std::size_t t = 0; t + 1 < ptr.size(); ++t) {
        for (std::int64_t k = ptr[t]; k < ptr[t + 1]; ++k) {
            std::int32_t& to = place[ids[k]];
            if (to == unasked) to = growing ? intern(from.name(ids[k])) : find(from.name(ids[k]));
            if (to != text::Interner::absent) add(to, values ? values[k] : 1.0f, rows);
        }
        end_token(rows);
    }
    return rows;
}

bool read_number(std::string_view text, double& value) {
    if (!text.empty() && text.front() == '+') text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

} // namespace chaffinch::features
