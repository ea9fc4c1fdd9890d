#include "relabel.hpp"

#include "short_copies.hpp"

namespace chaffinch::text {

std::size_t RelabelledText::size() const {
    std::size_t bytes = text.size() + end.size();
    for (std::size_t i = 0; i < places.size(); i += 2) bytes -= static_cast<std::size_t>(places[i + 1] - places[i]);
    for (const std::vector<std::string>& column : cells)
        for (const std::int32_t id : ids) bytes += column[static_cast<std::size_t>(id)].size();
    return bytes;
}

void RelabelledText::write(char* to, std::size_t bytes) const {
    ShortCopies out(to, bytes);
    const std::vector<PaddedStrings> padded(cells.begin(), cells.end());
    const char* const readable = text.data() + text.size();
    const char* before = text.data(); // what stands there is written
    const std::int64_t* place = places.data();
    for (const std::int32_t id : ids)
        for (const PaddedStrings& column : padded) {
            const char* const cell = text.data() + place[0];
            out.put({before, static_cast<std::size_t>(cell - before)}, readable);
            column.put(static_cast<std::size_t>(id), out);
            before = text.data() + place[1];
            place += 2;
        }
    out.put({before, static_cast<std::size_t>(readable - before)}, readable);
    out.put(end, end.data() + end.size());
}

} // namespace chaffinch::text
