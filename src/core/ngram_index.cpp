#include "ngram_index.hpp"

#include "parallel.hpp"
#include "radix.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace chaffinch {

namespace {

// The features of one document, in any order and repeated, become a row.
void add_row(std::vector<std::int32_t>& features, std::vector<std::int32_t>& scratch, Rows& out) {
    radix_sort(features, scratch, [](std::int32_t f) { return static_cast<std::uint32_t>(f); });
    for (std::size_t k = 0; k < features.size();) {
        std::size_t end = k + 1;
        while (end < features.size() && features[end] == features[k]) ++end;
        out.ids.push_back(features[k]);
        out.values.push_back(static_cast<float>(end - k));
        k = end;
    }
    out.ptr.push_back(static_cast<std::int64_t>(out.ids.size()));
}

// Rows of all documents; block_rows(block) appends those of one block.
template <class BlockRows> Rows gathered(const Symbols& text, std::size_t threads, BlockRows&& block_rows) {
    std::vector<Rows> parts(text.blocks.size());
    parallel_blocks(parts.size(), threads, [&](std::size_t b) { parts[b] = block_rows(text.blocks[b]); });
    if (parts.size() == 1) {
        parts[0].ptr.insert(parts[0].ptr.begin(), 0);
        return std::move(parts[0]);
    }
    Rows out{{0}, {}, {}};
    std::size_t nnz = 0;
    for (const Rows& part : parts) nnz += part.ids.size();
    out.ids.reserve(nnz);
    out.values.reserve(nnz);
    for (Rows& part : parts) {
        for (const std::int64_t end : part.ptr) out.ptr.push_back(end + static_cast<std::int64_t>(out.ids.size()));
        out.ids.insert(out.ids.end(), part.ids.begin(), part.ids.end());
        out.values.insert(out.values.end(), part.values.begin(), part.values.end());
        part = {};
    }
    return out;
}

std::vector<std::uint64_t> type_hashes(const Interner& types) {
    std::vector<std::uint64_t> hashes;
    hashes.reserve(static_cast<std::size_t>(types.size()));
    for (std::int32_t id = 0; id < types.size(); ++id) hashes.push_back(hash_bytes(types[id]));
    return hashes;
}

} // namespace

NGramIndex::NGramIndex(Trusted, Interner symbols, std::vector<std::int32_t> parents, std::vector<std::int32_t> lasts,
                       std::vector<std::int32_t> features, std::int64_t F)
    : symbols_(std::move(symbols)), parents_(std::move(parents)), lasts_(std::move(lasts)),
      features_(std::move(features)), F_(F) {}

NGramIndex::NGramIndex(Interner symbols, std::vector<std::int32_t> parents, std::vector<std::int32_t> lasts,
                       std::vector<std::int32_t> features, std::int64_t F)
    : NGramIndex(Trusted{}, std::move(symbols), std::move(parents), std::move(lasts), std::move(features), F) {
    check();
    table();
}

void NGramIndex::check() const {
    const auto S = static_cast<std::size_t>(symbols_.size());
    const std::size_t K = parents_.size();
    if (lasts_.size() != K || features_.size() != S + K)
        throw std::invalid_argument("the arrays of an n-gram index differ in length");
    if (F_ < 0 || F_ > INT32_MAX) throw std::invalid_argument("an n-gram index has a wrong number of features");
    std::vector<std::uint8_t> named(static_cast<std::size_t>(F_));
    for (const std::int32_t f : features_) {
        if (f < -1 || f >= F_) throw std::invalid_argument("an n-gram index has a feature out of range");
        if (f >= 0 && named[static_cast<std::size_t>(f)]++) throw std::invalid_argument("an n-gram index has a feature twice");
    }
    for (std::size_t k = 0; k < K; ++k)
        if (parents_[k] < 0 || static_cast<std::size_t>(parents_[k]) >= S + k || lasts_[k] < 0 ||
            static_cast<std::size_t>(lasts_[k]) >= S)
            throw std::invalid_argument("an n-gram index has a node out of order");
}

const NGramIndex::Table& NGramIndex::table() const {
    std::call_once(table_->made, [&] { fill(*table_); });
    return *table_;
}

void NGramIndex::fill(Table& table) const {
    const auto S = static_cast<std::size_t>(symbols_.size());
    const std::size_t K = parents_.size();
    std::vector<Slot>& slots = table.slots;
    std::vector<std::int32_t> depth(S + K, 1);
    slots.assign(std::bit_ceil(std::max<std::size_t>(2 * K, 2)), Slot{0, 0, -1, -1});
    const std::size_t mask = slots.size() - 1;
    for (std::size_t k = 0; k < K; ++k) {
        const auto parent = static_cast<std::uint32_t>(parents_[k]);
        const auto last = static_cast<std::uint32_t>(lasts_[k]);
        depth[S + k] = depth[parent] + 1;
        table.depth = std::max(table.depth, static_cast<std::uint32_t>(depth[S + k]));
        std::size_t i = mix(parent, last) & mask;
        for (; slots[i].node >= 0; i = (i + 1) & mask)
            if (slots[i].parent == parent && slots[i].last == last)
                throw std::invalid_argument("an n-gram index has an n-gram twice");
        slots[i] = {parent, last, static_cast<std::int32_t>(S + k), features_[S + k]};
    }
}

Rows NGramIndex::rows(const Symbols& text, std::size_t threads) const {
    std::vector<std::int32_t> known; // [types of text] symbol, or -1
    for (std::int32_t id = 0; id < text.types.size(); ++id) known.push_back(symbols_.find(text.types[id]));
    const std::vector<Slot>& slots = table().slots;
    const std::size_t mask = slots.size() - 1;
    const std::uint32_t depth = table().depth;

    // Level by level: first ask memory for the slots of a whole document, then read them.
    return gathered(text, threads, [&](const SymbolBlock& block) {
        struct Probe {
            std::uint32_t position;
            std::size_t slot;
        };
        Rows out;
        std::vector<std::int32_t> symbols(block.ids.size()), at, features, scratch;
        for (std::size_t i = 0; i < symbols.size(); ++i) symbols[i] = known[static_cast<std::size_t>(block.ids[i])];
        at = symbols;
        std::vector<Probe> probes;
        for (std::size_t d = 0; d + 1 < block.documents.size(); ++d) {
            features.clear();
            const std::uint32_t begin = block.documents[d], end = block.documents[d + 1];
            for (std::uint32_t i = block.segments[begin]; i < block.segments[end]; ++i)
                if (symbols[i] >= 0 && features_[static_cast<std::size_t>(symbols[i])] >= 0)
                    features.push_back(features_[static_cast<std::size_t>(symbols[i])]);
            for (std::uint32_t n = 2; n <= depth; ++n) {
                probes.clear();
                for (std::uint32_t s = begin; s < end; ++s)
                    for (std::uint32_t i = block.segments[s]; i + n <= block.segments[s + 1]; ++i) {
                        if (at[i] < 0) continue;
                        if (symbols[i + n - 1] < 0) {
                            at[i] = -1;
                            continue;
                        }
                        const std::size_t slot = mask & mix(static_cast<std::uint32_t>(at[i]),
                                                            static_cast<std::uint32_t>(symbols[i + n - 1]));
                        __builtin_prefetch(&slots[slot]);
                        probes.push_back({i, slot});
                    }
                for (const Probe& probe : probes) {
                    const auto parent = static_cast<std::uint32_t>(at[probe.position]);
                    const auto last = static_cast<std::uint32_t>(symbols[probe.position + n - 1]);
                    std::size_t slot = probe.slot;
                    while (slots[slot].node >= 0 && (slots[slot].parent != parent || slots[slot].last != last))
                        slot = (slot + 1) & mask;
                    at[probe.position] = slots[slot].node;
                    if (slots[slot].feature >= 0) features.push_back(slots[slot].feature);
                }
            }
            add_row(features, scratch, out);
        }
        return out;
    });
}

std::vector<std::string> NGramIndex::names(std::string_view joint) const {
    const auto S = static_cast<std::size_t>(symbols_.size());
    std::vector<std::string> out(static_cast<std::size_t>(F_));
    std::vector<std::int32_t> reversed;
    for (std::size_t node = 0; node < features_.size(); ++node) {
        if (features_[node] < 0) continue;
        reversed.clear();
        std::size_t at = node;
        for (; at >= S; at = static_cast<std::size_t>(parents_[at - S])) reversed.push_back(lasts_[at - S]);
        std::string name(symbols_[static_cast<std::int32_t>(at)]);
        for (std::size_t k = reversed.size(); k-- > 0;) name.append(joint).append(symbols_[reversed[k]]);
        out[static_cast<std::size_t>(features_[node])] = std::move(name);
    }
    return out;
}

std::vector<std::int64_t> NGramIndex::buckets(std::uint64_t bucket_count) const {
    const auto S = static_cast<std::size_t>(symbols_.size());
    const std::vector<std::uint64_t> types = type_hashes(symbols_);
    std::vector<std::uint64_t> hashes = types;
    std::vector<std::int64_t> out(static_cast<std::size_t>(F_), -1);
    for (std::size_t node = 0; node < features_.size(); ++node) {
        if (node >= S)
            hashes.push_back(mix(hashes[static_cast<std::size_t>(parents_[node - S])],
                                 types[static_cast<std::size_t>(lasts_[node - S])]));
        if (features_[node] >= 0)
            out[static_cast<std::size_t>(features_[node])] = static_cast<std::int64_t>(hashes[node] % bucket_count);
    }
    return out;
}

NGramIndex NGramIndex::renumbered(std::span<const std::int32_t> to, std::int64_t new_F) const {
    const auto S = static_cast<std::size_t>(symbols_.size());
    const std::size_t nodes = features_.size();
    std::vector<std::int32_t> features(nodes, -1);
    std::vector<std::uint8_t> used(nodes);
    for (std::size_t node = nodes; node-- > 0;) { // children come after their parents
        if (features_[node] >= 0) features[node] = to[static_cast<std::size_t>(features_[node])];
        if (features[node] >= 0) used[node] = 1;
        if (used[node] && node >= S) {
            used[static_cast<std::size_t>(parents_[node - S])] = 1;
            used[static_cast<std::size_t>(lasts_[node - S])] = 1;
        }
    }
    Interner kept;
    std::vector<std::int32_t> number(nodes, -1), parents, lasts, kept_features;
    for (std::size_t node = 0; node < nodes; ++node) {
        if (!used[node]) continue;
        number[node] = static_cast<std::int32_t>(kept_features.size());
        kept_features.push_back(features[node]);
        if (node < S) {
            kept.intern(symbols_[static_cast<std::int32_t>(node)]);
        } else {
            parents.push_back(number[static_cast<std::size_t>(parents_[node - S])]);
            lasts.push_back(number[static_cast<std::size_t>(lasts_[node - S])]);
        }
    }
    NGramIndex out(Trusted{}, std::move(kept), std::move(parents), std::move(lasts), std::move(kept_features), new_F);
    out.check();
    return out;
}

NGramIndex index_of(CountedNGrams&& counted, const Symbols& symbols) {
    Interner kept;
    for (const std::int32_t type : counted.trie.symbols) kept.intern(symbols.types[type]);
    return {NGramIndex::Trusted{},
            std::move(kept),
            std::move(counted.trie.parents),
            std::move(counted.trie.lasts),
            std::move(counted.trie.features),
            static_cast<std::int64_t>(counted.totals.size())};
}

Rows hashed_rows(const Symbols& text, const NGramRule& rule, std::uint64_t bucket_count, std::size_t threads) {
    const std::vector<std::uint64_t> types = type_hashes(text.types);
    const auto stops = [&](std::int32_t type) { return !rule.stops.empty() && rule.stops[static_cast<std::size_t>(type)]; };
    return gathered(text, threads, [&](const SymbolBlock& block) {
        Rows out;
        std::vector<std::int32_t> features, scratch;
        for (std::size_t d = 0; d + 1 < block.documents.size(); ++d) {
            features.clear();
            for (std::uint32_t s = block.documents[d]; s < block.documents[d + 1]; ++s) {
                const std::uint32_t begin = block.segments[s], end = block.segments[s + 1];
                for (std::uint32_t i = begin; i < end; ++i) {
                    std::uint64_t hash = types[static_cast<std::size_t>(block.ids[i])];
                    bool only_stops = stops(block.ids[i]);
                    for (std::int32_t n = 1;; ++n) {
                        const std::uint32_t next = i + static_cast<std::uint32_t>(n);
                        const bool whole = rule.pad >= 0 && i == begin && next == end;
                        if ((n >= rule.low || whole) && !only_stops)
                            features.push_back(static_cast<std::int32_t>(hash % bucket_count));
                        if (next == end || n == rule.high) break;
                        hash = mix(hash, types[static_cast<std::size_t>(block.ids[next])]);
                        only_stops = only_stops && stops(block.ids[next]);
                    }
                }
            }
            add_row(features, scratch, out);
        }
        return out;
    });
}

} // namespace chaffinch
