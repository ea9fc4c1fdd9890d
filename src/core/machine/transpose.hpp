// Sparse rows by column: the transpose of (ptr, ids), by counting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::machine {

// Returns the start of each column's entries, [columns + 1]. Calls place(at, row, k) for every entry k, row by row:
// entry k becomes entry `at` of the transpose, so the rows of a column ascend.
template <class Id, class Place>
std::vector<std::int64_t> transpose(std::span<const std::int64_t> ptr, // [rows + 1]
                                    std::span<const Id> ids,           // [nnz]  below `columns`
                                    std::int64_t columns, Place&& place) {
    std::vector<std::int64_t> begin(static_cast<std::size_t>(columns) + 1);
    for (const Id c : ids) ++begin[static_cast<std::size_t>(c) + 1];
    for (std::size_t c = 1; c < begin.size(); ++c) begin[c] += begin[c - 1];
    std::vector<std::int64_t> next(begin.begin(), begin.end() - 1);
    for (std::size_t row = 0; row + 1 < ptr.size(); ++row)
        for (std::int64_t k = ptr[row]; k < ptr[row + 1]; ++k)
            place(next[static_cast<std::size_t>(ids[static_cast<std::size_t>(k)])]++, static_cast<std::int64_t>(row), k);
    return begin;
}

} // namespace chaffinch::machine
