// The table behind n-gram counting: distinct pairs of node and symbol, with what is counted of each.
#pragma once

#include "ngrams.hpp"

#include <cstdint>
#include <vector>

namespace chaffinch {

struct Occurrence {
    std::uint32_t parent;   // then: which node of its partition this is, or ~0 if that is in too few documents
    std::uint32_t symbol;
    std::uint32_t position; // in its block
};

struct Node {
    std::uint32_t parent, symbol;
    std::uint32_t total, documents;
    std::uint32_t last_document; // where it was seen last
    std::int64_t first;          // position in all blocks of the first sight
};

// The distinct keys of one partition, in order of first sight; linear probing, at most half full.
struct Partition {
    std::vector<Node> nodes;
    std::vector<std::int32_t> slots = std::vector<std::int32_t>(64, -1);

    void prefetch(const Occurrence& o) const {
        __builtin_prefetch(&slots[mix(o.parent, o.symbol) & (slots.size() - 1)]);
    }

    std::uint32_t node_of(std::uint32_t parent, std::uint32_t symbol) {
        const std::size_t mask = slots.size() - 1;
        std::size_t i = mix(parent, symbol) & mask;
        for (; slots[i] >= 0; i = (i + 1) & mask) {
            const Node& node = nodes[static_cast<std::size_t>(slots[i])];
            if (node.parent == parent && node.symbol == symbol) return static_cast<std::uint32_t>(slots[i]);
        }
        const auto id = static_cast<std::uint32_t>(nodes.size());
        slots[i] = static_cast<std::int32_t>(id);
        nodes.push_back({parent, symbol, 0, 0, ~0u, -1});
        if (2 * nodes.size() > slots.size()) grow();
        return id;
    }

    void grow() {
        slots.assign(slots.size() * 2, -1);
        const std::size_t mask = slots.size() - 1;
        for (std::size_t id = 0; id < nodes.size(); ++id) {
            std::size_t i = mix(nodes[id].parent, nodes[id].symbol) & mask;
            while (slots[i] >= 0) i = (i + 1) & mask;
            slots[i] = static_cast<std::int32_t>(id);
        }
    }
};

} // namespace chaffinch
