#include "interner.hpp"

namespace chaffinch {

std::int32_t Interner::find(std::string_view s) const { return find_hashed(s, hash_bytes(s)); }

std::int32_t Interner::find_hashed(std::string_view s, std::uint64_t h) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = h & mask;; i = (i + 1) & mask) {
        const Slot slot = slots_[i];
        if (slot.id == absent || (slot.tag == tag_of(h) && same_bytes((*this)[slot.id], s))) return slot.id;
    }
}

std::int32_t Interner::intern_hashed(std::string_view s, std::uint64_t h) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = h & mask;
    for (; slots_[i].id != absent; i = (i + 1) & mask)
        if (slots_[i].tag == tag_of(h) && same_bytes((*this)[slots_[i].id], s)) return slots_[i].id;
    const std::int32_t id = size();
    slots_[i] = {tag_of(h), id};
    hashes_.push_back(h);
    bytes_.insert(bytes_.end(), s.begin(), s.end());
    starts_.push_back(static_cast<std::int64_t>(bytes_.size()));
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

} // namespace chaffinch
