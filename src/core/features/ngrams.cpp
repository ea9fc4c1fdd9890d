#include "ngrams.hpp"

#include "give_back.hpp"
#include "ngram_rows.hpp"
#include "ngram_table.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <utility>

namespace chaffinch::features {

namespace {

// Occurrences are dealt into partitions by a hash of their key, so that each partition's table stays in cache
// and partitions are counted side by side. How many there are depends on the input alone.
constexpr std::size_t most_partitions = 255;
constexpr std::uint8_t nowhere = most_partitions;
constexpr std::int64_t few_positions = 1 << 16, many_positions = 1 << 22;
constexpr std::size_t ahead = 12, far_ahead = 48; // occurrences between prefetching a slot, or a key, and reading it

enum NodeFlag : std::uint8_t { all_stops = 1, opens_word = 2, is_feature = 4 };

// One block's occurrences at one level.
struct Dealt {
    std::vector<std::uint8_t> partition; // [positions] of the n-gram that starts here, or nowhere
    std::vector<std::uint32_t> bounds;   // [partitions+1] into starts
    std::vector<std::uint32_t> starts;   // position of each, partition after partition, rising in each; once counted:
                                         // 1 + which of its partition's nodes it is, or 0 if that is in too few documents
};

// One block's features at one level: nodes, document after document, as often as they occur.
struct LevelRows {
    std::vector<std::uint32_t> ptr; // [documents+1]
    std::vector<std::int32_t> nodes;
};

// The nodes kept of a level, partition after partition.
struct NodeNumbers {
    std::vector<std::uint32_t> bounds; // [partitions] how many come before each one's
    std::vector<std::int32_t> nodes;   // [1+kept] the first stands for none: -1
};

class Counter {
  public:
    Counter(text::Symbols& symbols, const NGramRule& rule, std::size_t threads)
        : types_(static_cast<std::size_t>(symbols.types.size())), blocks_(std::move(symbols.blocks)), rule_(rule),
          threads_(threads), B_(blocks_.size()), ends_(B_), at_(B_), between_(B_) {
        symbols.blocks.clear();
        std::int64_t base = 0;
        std::uint32_t document = 0;
        for (const text::SymbolBlock& block : blocks_) {
            bases_.push_back(base);
            first_documents_.push_back(document);
            base += static_cast<std::int64_t>(block.ids.size());
            document += static_cast<std::uint32_t>(block.documents.size() - 1);
        }
        for (std::size_t b = 0; b < B_; ++b)
            for (const std::uint32_t segment : std::span(blocks_[b].documents).subspan(1))
                ends_[b].push_back(blocks_[b].segments[segment]);
        positions_ = base;
        P_ = positions_ < few_positions ? 1 : most_partitions;
    }

    CountedNGrams counted() {
        give_back(); // memory left over from cutting the texts
        count_symbols();
        for (std::int32_t n = 2; n <= rule_.high; ++n) level(n);
        number_features();
        give_back();
        out_.rows = rows();
        return std::move(out_);
    }

    // For few texts, returning free memory costs more than it gains.
    void give_back() const {
        if (positions_ >= many_positions) machine::give_back_memory();
    }

  private:
    // How often each type that a block holds occurs in it.
    struct TypeCount {
        std::int32_t type;
        std::uint32_t total, documents, first; // first: position in the block
    };

    std::size_t node_count() const { return flags_.size(); }

    // Level 1 needs no table: a type is its own key. Blocks are counted side by side and added in order.
    void count_symbols() {
        std::vector<std::vector<TypeCount>> counts(B_);
        machine::parallel_blocks(B_, threads_, [&](std::size_t b) { counts[b] = type_counts(b); });
        std::vector<Node> nodes(types_, Node{0, 0, 0, 0, 0, -1});
        std::vector<std::int32_t> order; // types by first sight
        for (std::size_t b = 0; b < B_; ++b)
            for (const TypeCount& count : counts[b]) {
                Node& node = nodes[static_cast<std::size_t>(count.type)];
                if (node.first < 0) {
                    node.symbol = static_cast<std::uint32_t>(count.type);
                    node.first = bases_[b] + count.first;
                    order.push_back(count.type);
                }
                node.total += count.total;
                node.documents += count.documents;
            }
        counts.clear();
        std::vector<std::int32_t> node_of_type(types_, -1);
        for (const std::int32_t type : order)
            if (nodes[static_cast<std::size_t>(type)].documents >= rule_.least) {
                node_of_type[static_cast<std::size_t>(type)] = static_cast<std::int32_t>(symbols_kept_++);
                out_.trie.symbols.push_back(type);
            }
        flags_.resize(symbols_kept_);
        totals_.resize(symbols_kept_);
        documents_.resize(symbols_kept_);
        for (std::size_t id = 0; id < symbols_kept_; ++id)
            describe(1, id, nodes[static_cast<std::size_t>(out_.trie.symbols[id])]);
        machine::parallel_blocks(B_, threads_, [&](std::size_t b) { // from here on: the node of the symbol, or -1
            for (std::int32_t& id : blocks_[b].ids) id = node_of_type[static_cast<std::size_t>(id)];
        });
    }

    std::vector<TypeCount> type_counts(std::size_t b) const {
        const std::vector<std::int32_t>& ids = blocks_[b].ids;
        struct Sight {
            std::uint32_t document = ~0u, count = 0;
        };
        std::vector<Sight> sights(types_);
        std::vector<TypeCount> counts;
        std::uint32_t i = 0;
        for (std::uint32_t d = 0; d < ends_[b].size(); ++d)
            for (; i < ends_[b][d]; ++i) {
                Sight& sight = sights[static_cast<std::size_t>(ids[i])];
                if (sight.document == ~0u) {
                    sight.count = static_cast<std::uint32_t>(counts.size());
                    counts.push_back({ids[i], 0, 0, i});
                }
                TypeCount& count = counts[sight.count];
                ++count.total;
                count.documents += sight.document != d;
                sight.document = d;
            }
        return counts;
    }

    void level(std::int32_t n) {
        std::vector<Dealt> dealt(B_);
        machine::parallel_blocks(B_, threads_, [&](std::size_t b) { dealt[b] = deal(n, b); });
        std::vector<std::vector<Node>> nodes(P_); // those kept
        machine::parallel_blocks(P_, threads_, [&](std::size_t p) { nodes[p] = counted(n, p, dealt); });
        const NodeNumbers numbers = keep(n, nodes);
        nodes.clear();
        machine::parallel_blocks(B_, threads_, [&](std::size_t b) {
            std::vector<std::int32_t> at = nodes_at(std::exchange(dealt[b], {}), numbers);
            if (n > 2) between_[b].push_back(features_at(b, at_[b]));
            at_[b] = std::move(at);
        });
    }

    // The node of the n-gram's first n-1 symbols, by position.
    const std::vector<std::int32_t>& before(std::int32_t n, std::size_t b) const { return n == 2 ? blocks_[b].ids : at_[b]; }

    // Deals every n-gram whose prefix and suffix of n-1 symbols were kept: no other can be in enough documents. It has
    // no unpredictable branch.
    Dealt deal(std::int32_t n, std::size_t b) const {
        const text::SymbolBlock& block = blocks_[b];
        const std::vector<std::int32_t>& at = before(n, b);
        Dealt out;
        out.partition.assign(at.size(), nowhere);
        std::array<std::uint32_t, most_partitions + 2> next{};
        for (std::size_t s = 0; s + 1 < block.segments.size(); ++s)
            for (std::uint32_t i = block.segments[s]; i + static_cast<std::uint32_t>(n) <= block.segments[s + 1]; ++i) {
                const std::uint64_t hash = ngram_key(at[i], block.ids[i + static_cast<std::uint32_t>(n) - 1]).hash;
                const auto part = static_cast<std::uint8_t>((hash >> 32) * P_ >> 32);
                out.partition[i] = (at[i] | at[i + 1]) < 0 ? nowhere : part;
                ++next[std::size_t{out.partition[i]} + 1];
            }
        for (std::size_t p = 0; p < P_; ++p) next[p + 1] += next[p];
        out.bounds.assign(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(P_) + 1);
        next[nowhere] = out.bounds.back(); // a last place that is never read
        out.starts.resize(out.bounds.back() + 1);
        for (std::uint32_t i = 0; i < out.partition.size(); ++i) {
            std::uint32_t& to = next[out.partition[i]];
            out.starts[to] = i;
            to += out.partition[i] != nowhere;
        }
        return out;
    }

    // They are spread over the block: each is prefetched long before it is read.
    void gather_keys(std::int32_t n, std::size_t b, std::span<const std::uint32_t> starts, std::vector<NGramKey>& keys) const {
        const std::int32_t *at = before(n, b).data(), *ids = blocks_[b].ids.data() + n - 1;
        keys.resize(starts.size());
        for (std::size_t k = 0; k < starts.size(); ++k) {
            const std::uint32_t later = starts[std::min(k + far_ahead, starts.size() - 1)];
            __builtin_prefetch(at + later);
            if (n > 2) __builtin_prefetch(ids + later);
            keys[k] = ngram_key(at[starts[k]], ids[starts[k]]);
        }
    }

    // The n-grams of a partition that are in enough documents; most are not.
    std::vector<Node> counted(std::int32_t n, std::size_t p, std::vector<Dealt>& dealt) const {
        std::size_t total = 0;
        for (const Dealt& block : dealt) total += block.bounds[p + 1] - block.bounds[p];
        NodeTable table(total);
        std::vector<NGramKey> keys;
        for (std::size_t b = 0; b < B_; ++b) {
            const std::span<std::uint32_t> starts = within(dealt[b], p);
            gather_keys(n, b, starts, keys);
            std::size_t d = 0;
            for (std::size_t k = 0; k < starts.size(); ++k) {
                if (k + ahead < keys.size()) table.prefetch(keys[k + ahead]);
                while (ends_[b][d] <= starts[k]) ++d;
                const auto document = first_documents_[b] + static_cast<std::uint32_t>(d);
                const std::uint32_t id = table.node_of(keys[k]);
                Node& node = table.nodes[id];
                if (node.first < 0) node.first = bases_[b] + starts[k];
                ++node.total;
                node.documents += node.last_document != document;
                node.last_document = document;
                starts[k] = id;
            }
        }
        std::vector<std::uint32_t> to(table.nodes.size());
        std::vector<Node> kept;
        for (std::size_t id = 0; id < to.size(); ++id)
            if (table.nodes[id].documents >= rule_.least) {
                kept.push_back(table.nodes[id]);
                to[id] = static_cast<std::uint32_t>(kept.size());
            }
        kept.shrink_to_fit();
        for (Dealt& block : dealt)
            for (std::uint32_t& id : within(block, p)) id = to[id];
        return kept;
    }

    static std::span<std::uint32_t> within(Dealt& dealt, std::size_t p) {
        return std::span(dealt.starts).subspan(dealt.bounds[p], dealt.bounds[p + 1] - dealt.bounds[p]);
    }

    // The node at each position, or -1, reading the dealt occurrences in the same order.
    std::vector<std::int32_t> nodes_at(Dealt&& dealt, const NodeNumbers& numbers) const {
        std::vector<std::int32_t> at(dealt.partition.size());
        std::array<std::uint32_t, most_partitions + 1> next{};
        std::ranges::copy(dealt.bounds, next.begin());
        next[nowhere] = dealt.bounds.back();
        dealt.starts.back() = 0;
        for (std::size_t i = 0; i < at.size(); ++i) {
            const std::uint8_t p = dealt.partition[i];
            const std::uint32_t id = dealt.starts[next[p]];
            at[i] = numbers.nodes[id == 0 ? 0 : numbers.bounds[p] + id];
            next[p] += p != nowhere;
        }
        return at;
    }

    // Numbers the nodes by first sight, which is the rank of their first position.
    NodeNumbers keep(std::int32_t n, const std::vector<std::vector<Node>>& nodes) {
        NodeNumbers numbers;
        std::uint32_t kept = 0;
        for (const std::vector<Node>& part : nodes) {
            numbers.bounds.push_back(kept);
            kept += static_cast<std::uint32_t>(part.size());
        }
        std::vector<std::uint64_t> firsts(static_cast<std::size_t>(positions_ / 64 + 1));
        machine::parallel_blocks(P_, threads_, [&](std::size_t p) {
            for (const Node& node : nodes[p])
                std::atomic_ref(firsts[static_cast<std::size_t>(node.first >> 6)])
                    .fetch_or(std::uint64_t{1} << (node.first & 63), std::memory_order_relaxed);
        });
        std::vector<std::uint32_t> before(firsts.size());
        for (std::size_t w = 1; w < firsts.size(); ++w)
            before[w] = before[w - 1] + static_cast<std::uint32_t>(std::popcount(firsts[w - 1]));
        const std::size_t base = node_count();
        flags_.resize(base + kept);
        totals_.resize(base + kept);
        documents_.resize(base + kept);
        out_.trie.parents.resize(base + kept - symbols_kept_);
        out_.trie.lasts.resize(base + kept - symbols_kept_);
        numbers.nodes.assign(std::size_t{1} + kept, -1);
        machine::parallel_blocks(P_, threads_, [&](std::size_t p) {
            std::size_t k = numbers.bounds[p];
            for (const Node& node : nodes[p]) {
                const std::uint64_t below = (std::uint64_t{1} << (node.first & 63)) - 1;
                const auto word = static_cast<std::size_t>(node.first >> 6);
                const std::size_t id = base + before[word] + static_cast<std::size_t>(std::popcount(firsts[word] & below));
                numbers.nodes[++k] = static_cast<std::int32_t>(id);
                describe(n, id, node);
            }
        });
        return numbers;
    }

    void describe(std::int32_t n, std::size_t id, const Node& node) {
        totals_[id] = node.total;
        documents_[id] = node.documents;
        std::uint8_t flags;
        bool whole = false;
        if (n == 1) {
            flags = symbol_flags(node.symbol);
        } else {
            out_.trie.parents[id - symbols_kept_] = static_cast<std::int32_t>(node.parent);
            out_.trie.lasts[id - symbols_kept_] = static_cast<std::int32_t>(node.symbol);
            flags = flags_[node.parent] & (all_stops | opens_word);
            if (!(flags_[node.symbol] & all_stops)) flags &= opens_word;
            whole = (flags & opens_word) && out_.trie.symbols[node.symbol] == rule_.pad;
        }
        if ((n >= rule_.low || whole) && node.documents <= rule_.most && !(flags & all_stops)) flags |= is_feature;
        flags_[id] = flags;
    }

    std::uint8_t symbol_flags(std::size_t type) const {
        const bool stop = !rule_.stops.empty() && rule_.stops[type] != 0;
        const bool opens = static_cast<std::int32_t>(type) == rule_.pad;
        return static_cast<std::uint8_t>((stop ? all_stops : 0) | (opens ? opens_word : 0));
    }

    // The features among a level's nodes, once the positions are no longer needed.
    LevelRows features_at(std::size_t b, const std::vector<std::int32_t>& at) const {
        LevelRows rows{{0}, {}};
        std::uint32_t i = 0;
        for (const std::uint32_t end : ends_[b]) {
            for (; i < end; ++i)
                if (at[i] >= 0 && (flags_[static_cast<std::size_t>(at[i])] & is_feature)) rows.nodes.push_back(at[i]);
            rows.ptr.push_back(static_cast<std::uint32_t>(rows.nodes.size()));
        }
        return rows;
    }

    void number_features() {
        std::vector<std::uint32_t> order, scratch;
        for (std::uint32_t id = 0; id < node_count(); ++id)
            if (flags_[id] & is_feature) order.push_back(id);
        const std::uint32_t largest = order.empty() ? 0 : std::ranges::max(totals_);
        machine::radix_sort(order, scratch, [&](std::uint32_t id) { return largest - totals_[id]; });
        out_.trie.features.assign(node_count(), -1);
        out_.totals.reserve(order.size());
        out_.documents.reserve(order.size());
        for (const std::uint32_t id : order) {
            out_.trie.features[id] = static_cast<std::int32_t>(out_.totals.size());
            out_.totals.push_back(totals_[id]);
            out_.documents.push_back(static_cast<std::int32_t>(documents_[id]));
        }
        machine::release(flags_);
        machine::release(totals_);
        machine::release(documents_);
    }

    NGramRows rows() {
        return gathered(B_, threads_, [&](std::size_t b) {
            NGramRows out;
            std::vector<std::int32_t> features, scratch;
            std::vector<std::int32_t> &ids = blocks_[b].ids, &at = at_[b];
            at.resize(ids.size(), -1);
            std::size_t most = ids.size() + at.size();
            for (const LevelRows& level : between_[b]) most += level.nodes.size();
            out.ids.reserve(most); // unwritten memory is not resident
            std::uint32_t i = 0;
            for (std::size_t d = 0; d < ends_[b].size(); ++d) {
                features.resize(2 * std::size_t{ends_[b][d] - i});
                std::size_t found = 0;
                for (; i < ends_[b][d]; ++i)
                    for (const std::int32_t node : {ids[i], at[i]}) {
                        const std::int32_t f = node < 0 ? -1 : out_.trie.features[static_cast<std::size_t>(node)];
                        features[found] = f;
                        found += f >= 0;
                    }
                features.resize(found);
                for (const LevelRows& level : between_[b])
                    for (std::uint32_t k = level.ptr[d]; k < level.ptr[d + 1]; ++k)
                        features.push_back(out_.trie.features[static_cast<std::size_t>(level.nodes[k])]);
                add_row(features, scratch, rule_.presence, out);
            }
            machine::release(ids);
            machine::release(at);
            machine::release(between_[b]);
            return out;
        });
    }

    const std::size_t types_;
    std::vector<text::SymbolBlock> blocks_;
    const NGramRule& rule_;
    const std::size_t threads_, B_;
    std::size_t P_ = 1; // partitions
    std::int64_t positions_ = 0;
    std::size_t symbols_kept_ = 0;
    std::vector<std::int64_t> bases_;            // [B] position of each block's start in all blocks
    std::vector<std::uint32_t> first_documents_; // [B]
    std::vector<std::vector<std::uint32_t>> ends_; // [B][documents] position where each ends
    std::vector<std::vector<std::int32_t>> at_;    // [B][positions] node of the n-gram that starts here, or -1; from level 2 on
    std::vector<std::vector<LevelRows>> between_; // [B][levels] from 2 to the last but one
    std::vector<std::uint8_t> flags_;            // [nodes] NodeFlag
    std::vector<std::uint32_t> totals_;          // [nodes]
    std::vector<std::uint32_t> documents_;       // [nodes]
    CountedNGrams out_;
};

} // namespace

CountedNGrams count_ngrams(text::Symbols& symbols, const NGramRule& rule, std::size_t threads) {
    std::int64_t positions = 0;
    for (const text::SymbolBlock& block : symbols.blocks) positions += static_cast<std::int64_t>(block.ids.size());
    CountedNGrams counted = Counter(symbols, rule, threads).counted();
    if (positions >= many_positions) machine::give_back_memory();
    return counted;
}

} // namespace chaffinch::features
