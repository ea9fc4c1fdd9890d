// Builds rows from the features of documents.
#pragma once

#include "give_back.hpp"
#include "ngrams.hpp"
#include "parallel.hpp"
#include "radix.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace chaffinch::features {

constexpr std::size_t many_cells = std::size_t{1} << 20;

// The features of one document, in any order and repeated, become a row.
inline void add_row(std::vector<std::int32_t>& features, std::vector<std::int32_t>& scratch, bool presence, NGramRows& out) {
    machine::radix_sort(features, scratch, [](std::int32_t f) { return static_cast<std::uint32_t>(f); });
    const std::size_t begin = out.ids.size();
    std::size_t size = begin;
    std::int32_t before = -1;
    out.ids.resize(begin + features.size());
    if (!presence) out.values.resize(begin + features.size());
    for (const std::int32_t f : features) { // without a branch on repeats, which would be unpredictable
        size += f != before;
        out.ids[size - 1] = f;
        if (!presence) out.values[size - 1] = f != before ? 1.0f : out.values[size - 1] + 1.0f;
        before = f;
    }
    out.ids.resize(size);
    if (!presence) out.values.resize(size);
    out.ptr.push_back(static_cast<std::int64_t>(size));
}

// Rows of all documents; block_rows(b) makes those of one block, without the 0 that they begin at.
template <class BlockRows> NGramRows gathered(std::size_t blocks, std::size_t threads, BlockRows&& block_rows) {
    std::vector<NGramRows> parts(blocks);
    machine::parallel_blocks(blocks, threads, [&](std::size_t b) { parts[b] = block_rows(b); });
    if (blocks == 1) {
        parts[0].ptr.insert(parts[0].ptr.begin(), 0);
        return std::move(parts[0]);
    }
    NGramRows out{{0}, {}, {}};
    std::size_t nnz = 0, counted = 0;
    for (const NGramRows& part : parts) nnz += part.ids.size(), counted += part.values.size();
    out.ids.reserve(nnz);
    out.values.reserve(counted);
    std::size_t freed = nnz; // cells freed so far: first the blocks' scratch memory, then the blocks
    for (NGramRows& part : parts) {
        if (freed >= many_cells) {
            machine::give_back_memory();
            freed = 0;
        }
        const auto before = static_cast<std::int64_t>(out.ids.size());
        for (const std::int64_t end : part.ptr) out.ptr.push_back(end + before);
        out.ids.insert(out.ids.end(), part.ids.begin(), part.ids.end());
        out.values.insert(out.values.end(), part.values.begin(), part.values.end());
        freed += part.ids.size();
        part = {};
    }
    return out;
}

} // namespace chaffinch::features
