// The table behind n-gram counting: distinct pairs of node and symbol, with their counts.
#pragma once

#include "ngrams.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace chaffinch::features {

// An n-gram: the node of all but its last symbol, and that.
struct NGramKey {
    std::uint32_t parent, symbol;
    std::uint64_t hash;
};

inline NGramKey ngram_key(std::int32_t parent, std::int32_t symbol) {
    const auto p = static_cast<std::uint32_t>(parent), s = static_cast<std::uint32_t>(symbol);
    return {p, s, mix(p, s)};
}

struct Node {
    std::uint32_t parent, symbol;
    std::uint32_t total, documents;
    std::uint32_t last_document; // where it was seen last
    std::int64_t first;          // position in all blocks of the first sight
};

// The distinct keys of one partition, in order of first sight; linear probing, at most half full.
class NodeTable {
  public:
    std::vector<Node> nodes;

    // occurrences: the number of lookups; about half of the keys are distinct.
    explicit NodeTable(std::size_t occurrences) : slots_(std::bit_ceil(std::max<std::size_t>(occurrences, 64)), -1) {}

    void prefetch(const NGramKey& key) const { __builtin_prefetch(&slots_[key.hash & (slots_.size() - 1)]); }

    std::uint32_t node_of(const NGramKey& key) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t i = key.hash & mask;
        for (; slots_[i] >= 0; i = (i + 1) & mask) {
            const Node& node = nodes[static_cast<std::size_t>(slots_[i])];
            if (node.parent == key.parent && node.symbol == key.symbol) return static_cast<std::uint32_t>(slots_[i]);
        }
        const auto id = static_cast<std::uint32_t>(nodes.size());
        slots_[i] = static_cast<std::int32_t>(id);
        nodes.push_back({key.parent, key.symbol, 0, 0, ~0u, -1});
        if (2 * nodes.size() > slots_.size()) grow();
        return id;
    }

  private:
    void grow() {
        slots_.assign(slots_.size() * 2, -1);
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t id = 0; id < nodes.size(); ++id) {
            std::size_t i = mix(nodes[id].parent, nodes[id].symbol) & mask;
            while (slots_[i] >= 0) i = (i + 1) & mask;
            slots_[i] = static_cast<std::int32_t>(id);
        }
    }

    std::vector<std::int32_t> slots_; // [power of two] which node, or -1
};

} // namespace chaffinch::features
