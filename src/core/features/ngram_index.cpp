#include "ngram_index.hpp"

#include "ngram_rows.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace chaffinch::features {

namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 17; // of text, so that its symbols stay in cache

std::uint8_t tag_of(std::uint64_t hash) { return static_cast<std::uint8_t>(0x80 | hash >> 57); }

std::vector<std::uint64_t> type_hashes(const text::Interner& types) {
    std::vector<std::uint64_t> hashes;
    hashes.reserve(static_cast<std::size_t>(types.size()));
    for (std::int32_t id = 0; id < types.size(); ++id) hashes.push_back(text::hash_bytes(types[id]));
    return hashes;
}

} // namespace

NGramIndex::NGramIndex(Trusted, text::Interner symbols, std::vector<std::int32_t> parents, std::vector<std::int32_t> lasts,
                       std::vector<std::int32_t> features, std::int64_t F)
    : symbols_(std::move(symbols)), parents_(std::move(parents)), lasts_(std::move(lasts)),
      features_(std::move(features)), F_(F) {}

NGramIndex::NGramIndex(text::Interner symbols, std::vector<std::int32_t> parents, std::vector<std::int32_t> lasts,
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
    table.tags.assign(slots.size(), 0);
    const std::size_t mask = slots.size() - 1;
    for (std::size_t k = 0; k < K; ++k) {
        const auto parent = static_cast<std::uint32_t>(parents_[k]);
        const auto last = static_cast<std::uint32_t>(lasts_[k]);
        depth[S + k] = depth[parent] + 1;
        table.depth = std::max(table.depth, static_cast<std::uint32_t>(depth[S + k]));
        const std::uint64_t hash = mix(parent, last);
        std::size_t i = hash & mask;
        for (; table.tags[i] != 0; i = (i + 1) & mask)
            if (slots[i].parent == parent && slots[i].last == last)
                throw std::invalid_argument("an n-gram index has an n-gram twice");
        slots[i] = {parent, last, static_cast<std::int32_t>(S + k), features_[S + k]};
        table.tags[i] = tag_of(hash);
    }
}

NGramRows NGramIndex::rows(std::span<const std::string_view> texts, text::Cut cut, const text::TokenRule& rule, bool presence,
                      std::size_t threads) const {
    table();
    const std::vector<std::size_t> bounds = text::block_bounds(texts, chunk_bytes);
    return gathered(bounds.size() - 1, threads, [&](std::size_t b) {
        NGramRows out;
        add_rows(text::known_symbols(texts.subspan(bounds[b], bounds[b + 1] - bounds[b]), cut, rule, symbols_), presence, out);
        return out;
    });
}

NGramRows NGramIndex::rows(const text::Symbols& text, bool presence, std::size_t threads) const {
    table();
    std::vector<std::int32_t> known; // [types of text] symbol, or -1
    for (std::int32_t id = 0; id < text.types.size(); ++id) known.push_back(symbols_.find(text.types[id]));
    return gathered(text.blocks.size(), threads, [&](std::size_t b) {
        text::SymbolBlock block = text.blocks[b];
        for (std::int32_t& id : block.ids) id = known[static_cast<std::size_t>(id)];
        NGramRows out;
        add_rows(block, presence, out);
        return out;
    });
}

// block.ids: symbols of this index, or -1. Level by level: prefetch the tags of a whole document, then the slots of
// those that match, then read them.
void NGramIndex::add_rows(const text::SymbolBlock& block, bool presence, NGramRows& out) const {
    struct Probe {
        std::uint64_t hash;
        std::uint32_t position, slot;
    };
    const Slot* slots = table_->slots.data();
    const std::uint8_t* tags = table_->tags.data();
    const auto mask = static_cast<std::uint32_t>(table_->slots.size() - 1);
    const std::vector<std::int32_t>& symbols = block.ids;
    std::vector<std::int32_t> at = symbols, features, scratch;
    std::vector<Probe> probes;
    if (table_->depth <= 2) { // an upper bound that is seldom far off
        out.ids.reserve(out.ids.size() + symbols.size() * table_->depth);
        if (!presence) out.values.reserve(out.ids.capacity());
    }
    for (std::size_t d = 0; d + 1 < block.documents.size(); ++d) {
        const std::uint32_t begin = block.documents[d], end = block.documents[d + 1];
        const std::uint32_t length = block.segments[end] - block.segments[begin];
        features.resize(std::size_t{length} * table_->depth);
        probes.resize(length);
        std::size_t found = 0; // features are written, then counted if valid: no unpredictable branch
        for (std::uint32_t i = block.segments[begin]; i < block.segments[end]; ++i) {
            const std::int32_t f = symbols[i] < 0 ? -1 : features_[static_cast<std::size_t>(symbols[i])];
            features[found] = f;
            found += f >= 0;
        }
        for (std::uint32_t n = 2; n <= table_->depth; ++n) {
            std::size_t asked = 0;
            for (std::uint32_t s = begin; s < end; ++s)
                for (std::uint32_t i = block.segments[s]; i + n <= block.segments[s + 1]; ++i) {
                    const bool known = (at[i] | symbols[i + n - 1]) >= 0;
                    at[i] = known ? at[i] : -1;
                    const std::uint64_t hash =
                        mix(static_cast<std::uint32_t>(at[i]), static_cast<std::uint32_t>(symbols[i + n - 1]));
                    const auto slot = static_cast<std::uint32_t>(hash) & mask;
                    __builtin_prefetch(&tags[slot]);
                    probes[asked] = {hash, i, slot};
                    asked += known;
                }
            std::size_t fitting = 0;
            for (std::size_t k = 0; k < asked; ++k) {
                Probe probe = probes[k];
                const std::uint8_t tag = tag_of(probe.hash);
                while (tags[probe.slot] != 0 && tags[probe.slot] != tag) probe.slot = (probe.slot + 1) & mask;
                __builtin_prefetch(&slots[probe.slot]);
                if (table_->depth > 2) at[probe.position] |= -(tags[probe.slot] == 0);
                probes[fitting] = probe;
                fitting += tags[probe.slot] != 0;
            }
            for (std::size_t k = 0; k < fitting; ++k) {
                const Probe& probe = probes[k];
                const auto parent = static_cast<std::uint32_t>(at[probe.position]);
                const auto last = static_cast<std::uint32_t>(symbols[probe.position + n - 1]);
                std::uint32_t slot = probe.slot;
                while (tags[slot] != 0 && (slots[slot].parent != parent || slots[slot].last != last))
                    slot = (slot + 1) & mask;
                at[probe.position] = slots[slot].node;
                features[found] = slots[slot].feature;
                found += slots[slot].feature >= 0;
            }
        }
        features.resize(found);
        add_row(features, scratch, presence, out);
    }
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
    text::Interner kept;
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

NGramIndex index_of(CountedNGrams&& counted, const text::Symbols& symbols) {
    text::Interner kept;
    for (const std::int32_t type : counted.trie.symbols) kept.intern(symbols.types[type]);
    return {NGramIndex::Trusted{},
            std::move(kept),
            std::move(counted.trie.parents),
            std::move(counted.trie.lasts),
            std::move(counted.trie.features),
            static_cast<std::int64_t>(counted.totals.size())};
}

NGramRows hashed_rows(const text::Symbols& text, const NGramRule& rule, std::uint64_t bucket_count, std::size_t threads) {
    const std::vector<std::uint64_t> types = type_hashes(text.types);
    const auto stops = [&](std::int32_t type) { return !rule.stops.empty() && rule.stops[static_cast<std::size_t>(type)]; };
    return gathered(text.blocks.size(), threads, [&](std::size_t b) {
        const text::SymbolBlock& block = text.blocks[b];
        NGramRows out;
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
            add_row(features, scratch, rule.presence, out);
        }
        return out;
    });
}

} // namespace chaffinch::features
