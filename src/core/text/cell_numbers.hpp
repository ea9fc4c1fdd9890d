// Ids of the cells of a column, numbered many at a time: the table of a large vocabulary is not in the nearest cache, and the
// loads of many cells overlap.
#pragma once

#include "interner.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace chaffinch::text {

class CellNumbers {
  public:
    // Appends the id of a cell to ids, now or at a later call; cells stay where they are until finish(). text: its bytes may be
    // read, so that a cell which does not end there is a padded string
    void add(std::string_view cell, std::string_view text, Interner& types, std::vector<std::int32_t>& ids) {
        const auto place = reinterpret_cast<std::uintptr_t>(cell.data()) - reinterpret_cast<std::uintptr_t>(text.data());
        if (place >= text.size() || text.size() - place < padding) {
            finish(types, ids);
            ids.push_back(types.intern(cell));
            return;
        }
        HashedString& next = waiting_[used_++];
        next.text = cell;
        next.hash = hash_padded(cell);
        if (used_ == most) finish(types, ids);
    }

    void finish(Interner& types, std::vector<std::int32_t>& ids) {
        const std::size_t before = ids.size();
        ids.resize(before + used_);
        types.intern_all(std::span(waiting_).first(used_), ids.data() + before);
        used_ = 0;
    }

  private:
    static constexpr std::size_t most = 128;

    std::array<HashedString, most> waiting_;
    std::size_t used_ = 0;
};

} // namespace chaffinch::text
