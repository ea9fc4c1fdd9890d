#include "interner.hpp"

#include <algorithm>

namespace chaffinch::text {

std::int32_t Interner::find(std::string_view s) const { return find_hashed(s, hash_bytes(s)); }

std::int32_t Interner::find_hashed(std::string_view s, std::uint64_t hash) const {
    return slots_[slot_of(hash, [&](std::string_view other) { return same_bytes(other, s); })].id;
}

void Interner::find_all(std::span<const HashedString> strings, std::int32_t* out) const {
    constexpr std::size_t batch = 32;
    const std::size_t mask = slots_.size() - 1;
    const auto prefetch_slots = [&](std::size_t first) {
        const std::size_t end = std::min(first + batch, strings.size());
        for (std::size_t i = first; i < end; ++i) prefetch(strings[i].hash);
    };
    prefetch_slots(0);
    for (std::size_t first = 0; first < strings.size(); first += batch) {
        const std::size_t end = std::min(first + batch, strings.size());
        prefetch_slots(end);
        for (std::size_t i = first; i < end; ++i) { // the first string with the same tag is nearly always the one
            std::size_t at = strings[i].hash & mask;
            while (slots_[at].id != absent && slots_[at].tag != tag_of(strings[i].hash)) at = (at + 1) & mask;
            out[i] = slots_[at].id;
            __builtin_prefetch(&starts_[static_cast<std::size_t>(std::max(out[i], 0))]);
        }
        for (std::size_t i = first; i < end; ++i)
            __builtin_prefetch(&bytes_[static_cast<std::size_t>(starts_[static_cast<std::size_t>(std::max(out[i], 0))])]);
        for (std::size_t i = first; i < end; ++i)
            if (out[i] != absent && !same_padded((*this)[out[i]], strings[i].text))
                out[i] = find_padded(strings[i].text, strings[i].hash);
    }
}

void Interner::intern_all(std::span<const HashedString> strings, std::int32_t* out) {
    find_all(strings, out);
    for (std::size_t i = 0; i < strings.size(); ++i)
        if (out[i] == absent) out[i] = intern_padded(strings[i].text, strings[i].hash);
}

std::int32_t Interner::intern_hashed(std::string_view s, std::uint64_t hash) {
    const std::size_t at = slot_of(hash, [&](std::string_view other) { return same_bytes(other, s); });
    return slots_[at].id != absent ? slots_[at].id : added(s, hash, at);
}

std::int32_t Interner::added(std::string_view s, std::uint64_t hash, std::size_t slot) {
    const std::int32_t id = size();
    slots_[slot] = {tag_of(hash), id};
    hashes_.push_back(hash);
    const std::size_t used = bytes_.size() - padding;
    bytes_.resize(bytes_.size() + s.size());
    std::copy(s.begin(), s.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(used));
    starts_.push_back(static_cast<std::int64_t>(used + s.size()));
    if (2 * hashes_.size() > slots_.size()) grow();
    return id;
}

void Interner::grow() {
    slots_.assign(slots_.size() * 2, Slot{});
    const std::size_t mask = slots_.size() - 1;
    for (std::int32_t id = 0; id < size(); ++id) {
        std::size_t i = hashes_[id] & mask;
        while (slots_[i].id != absent) i = (i + 1) & mask;
        slots_[i] = {tag_of(hashes_[id]), id};
    }
}

} // namespace chaffinch::text
