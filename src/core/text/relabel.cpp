#include "relabel.hpp"

namespace chaffinch::text {

std::string relabelled(std::string_view text, std::span<const std::int64_t> places,
                       std::span<const std::vector<std::string>> cells, std::span<const std::int32_t> ids) {
    std::string out;
    out.reserve(text.size() + text.size() / 8);
    std::size_t copied = 0, place = 0; // what stands before ``copied`` is in ``out``
    for (const std::int32_t id : ids)
        for (const std::vector<std::string>& column : cells) {
            const auto begin = static_cast<std::size_t>(places[place]);
            out.append(text.substr(copied, begin - copied));
            out.append(column[static_cast<std::size_t>(id)]);
            copied = static_cast<std::size_t>(places[place + 1]);
            place += 2;
        }
    out.append(text.substr(copied));
    return out;
}

} // namespace chaffinch::text
