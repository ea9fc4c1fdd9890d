#include "interner.hpp"

#include <algorithm>

namespace chaffinch::text {

std::int32_t Interner::find(std::string_view s) const { return find_hashed(s, hash_bytes(s)); }

std::int32_t Interner::find_hashed(std::string_view s, std::uint64_t hash) const {
    return slots_[slot_of(hash, [&](std::string_view other) { return same_bytes(other, s); })].id;
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
