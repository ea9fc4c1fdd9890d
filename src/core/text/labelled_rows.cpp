#include "labelled_rows.hpp"

#include "short_copies.hpp"

namespace chaffinch::text {

// Each cell is followed by a separator and the label by a line feed.
std::size_t LabelledRows::size() const {
    std::size_t bytes = ptr.size() - 1 + ids.size() * (columns * separator.size() + 1);
    for (std::size_t i = 0; i < places.size(); i += 2) bytes += static_cast<std::size_t>(places[i + 1] - places[i]);
    for (const std::int32_t id : ids) bytes += labels[static_cast<std::size_t>(id)].size();
    return bytes;
}

void LabelledRows::write(char* to, std::size_t bytes) const {
    ShortCopies out(to, bytes);
    const PaddedStrings padded(labels), between(std::vector{std::string(separator)});
    const char* const readable = text.data() + text.size();
    const std::int64_t* place = places.data();
    for (std::size_t n = 0; n + 1 < ptr.size(); ++n) {
        for (auto t = static_cast<std::size_t>(ptr[n]); t < static_cast<std::size_t>(ptr[n + 1]); ++t) {
            for (std::size_t c = 0; c < columns; ++c, place += 2) {
                out.put({text.data() + place[0], static_cast<std::size_t>(place[1] - place[0])}, readable);
                between.put(0, out);
            }
            padded.put(static_cast<std::size_t>(ids[t]), out);
            out.put('\n');
        }
        out.put('\n');
    }
}

} // namespace chaffinch::text
