#include "ngrams.hpp"

#include "parallel.hpp"
#include "radix.hpp"

#include <algorithm>
#include <bit>

namespace chaffinch {

namespace {

// Occurrences are dealt into partitions by a hash of their key, so that each partition's table stays in cache
// and partitions are counted side by side. How many there are depends on the input alone.
constexpr int partition_bits = 6;
constexpr std::int64_t few_positions = 1 << 16;

enum NodeFlag : std::uint8_t { all_stops = 1, opens_word = 2, is_feature = 4 };

struct Occurrence {
    std::uint32_t parent;   // then: which node of its partition this is
    std::uint32_t symbol;   // then: how often its document holds the node, or 0 if this is not the first
    std::uint32_t position; // in its block
};

struct Node {
    std::uint32_t parent, symbol;
    std::uint32_t total, documents;
    std::uint32_t last_document, last_index; // where it was seen last: document, and occurrence of that bucket
    std::int64_t first;                      // position in all blocks of the first sight
};

// The distinct keys of one partition, in order of first sight; linear probing, at most half full.
struct Partition {
    std::vector<Node> nodes;
    std::vector<std::int32_t> slots = std::vector<std::int32_t>(64, -1);

    std::uint32_t node_of(std::uint32_t parent, std::uint32_t symbol) {
        const std::size_t mask = slots.size() - 1;
        std::size_t i = mix(parent, symbol) & mask;
        for (; slots[i] >= 0; i = (i + 1) & mask) {
            const Node& node = nodes[static_cast<std::size_t>(slots[i])];
            if (node.parent == parent && node.symbol == symbol) return static_cast<std::uint32_t>(slots[i]);
        }
        const auto id = static_cast<std::uint32_t>(nodes.size());
        slots[i] = static_cast<std::int32_t>(id);
        nodes.push_back({parent, symbol, 0, 0, ~0u, 0, -1});
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

// One block's occurrences at one level, partition after partition, by position within each.
struct Buckets {
    std::vector<Occurrence> occurrences;
    std::vector<std::size_t> bounds; // [partitions+1]
};

// One block's features at one level: nodes with their counts, document after document.
struct LevelRows {
    std::vector<std::uint32_t> ptr; // [documents+1]
    std::vector<std::int32_t> nodes;
    std::vector<std::uint32_t> times;
};

struct Count {
    std::uint32_t feature, times;
};

class Counter {
  public:
    Counter(const Symbols& symbols, const NGramRule& rule, std::size_t threads)
        : symbols_(symbols), rule_(rule), threads_(threads), B_(symbols.blocks.size()), at_(B_), rows_(B_) {
        std::int64_t base = 0;
        std::uint32_t document = 0;
        for (const SymbolBlock& block : symbols.blocks) {
            bases_.push_back(base);
            first_documents_.push_back(document);
            base += static_cast<std::int64_t>(block.ids.size());
            document += static_cast<std::uint32_t>(block.documents.size() - 1);
        }
        positions_ = base;
        bits_ = positions_ < few_positions ? 0 : partition_bits;
    }

    CountedNGrams counted() {
        if (rule_.low == 1) {
            level(1);
            symbols_kept_ = node_count();
        } else {
            take_symbols();
        }
        for (std::int32_t n = 2; n <= rule_.high; ++n) level(n);
        number_features();
        out_.rows = rows();
        return std::move(out_);
    }

  private:
    std::size_t node_count() const { return flags_.size(); }
    std::size_t partitions() const { return std::size_t{1} << bits_; }

    // Level 1 without counting: every type is a node, the same number.
    void take_symbols() {
        symbols_kept_ = static_cast<std::size_t>(symbols_.types.size());
        for (std::size_t type = 0; type < symbols_kept_; ++type) {
            out_.trie.symbols.push_back(static_cast<std::int32_t>(type));
            node_of_type_.push_back(static_cast<std::int32_t>(type));
            flags_.push_back(symbol_flags(type));
            totals_.push_back(0);
            documents_.push_back(0);
        }
        for (std::size_t b = 0; b < B_; ++b) at_[b] = symbols_.blocks[b].ids;
    }

    void level(std::int32_t n) {
        std::vector<Buckets> buckets(B_);
        parallel_blocks(B_, threads_, [&](std::size_t b) { deal(n, b, buckets[b]); });
        std::vector<Partition> parts(partitions());
        parallel_blocks(parts.size(), threads_, [&](std::size_t p) { count(p, buckets, parts[p]); });
        const std::vector<std::vector<std::int32_t>> numbers = keep(n, parts);
        place(buckets, numbers);
    }

    // Writes the key of every n-gram whose prefix and suffix of n-1 symbols were kept: no other can be in
    // enough documents. Counts per partition first, so that the occurrences fit exactly.
    void deal(std::int32_t n, std::size_t b, Buckets& out) {
        const SymbolBlock& block = symbols_.blocks[b];
        const std::vector<std::int32_t>& at = at_[b];
        const auto each = [&](auto&& use) {
            for (std::size_t s = 0; s + 1 < block.segments.size(); ++s) {
                if (block.segments[s + 1] - block.segments[s] < static_cast<std::uint32_t>(n)) continue;
                const std::uint32_t last = block.segments[s + 1] - static_cast<std::uint32_t>(n);
                for (std::uint32_t i = block.segments[s]; i <= last; ++i) {
                    if (n == 1) {
                        use(0u, static_cast<std::uint32_t>(block.ids[i]), i);
                    } else if (at[i] >= 0 && at[i + 1] >= 0) {
                        const auto type = static_cast<std::size_t>(block.ids[i + static_cast<std::uint32_t>(n) - 1]);
                        use(static_cast<std::uint32_t>(at[i]), static_cast<std::uint32_t>(node_of_type_[type]), i);
                    }
                }
            }
        };
        const int shift = 64 - partition_bits;
        const auto part = [&](std::uint32_t parent, std::uint32_t symbol) {
            return bits_ == 0 ? 0 : static_cast<std::size_t>(mix(parent, symbol) >> shift);
        };
        out.bounds.assign(partitions() + 1, 0);
        each([&](std::uint32_t p, std::uint32_t s, std::uint32_t) { ++out.bounds[part(p, s) + 1]; });
        for (std::size_t p = 0; p < partitions(); ++p) out.bounds[p + 1] += out.bounds[p];
        std::vector<std::size_t> next(out.bounds.begin(), out.bounds.end() - 1);
        out.occurrences.resize(out.bounds.back());
        each([&](std::uint32_t p, std::uint32_t s, std::uint32_t i) {
            out.occurrences[next[part(p, s)]++] = {p, s, i};
        });
    }

    void count(std::size_t p, std::vector<Buckets>& buckets, Partition& part) const {
        for (std::size_t b = 0; b < B_; ++b) {
            const SymbolBlock& block = symbols_.blocks[b];
            Occurrence* bucket = buckets[b].occurrences.data() + buckets[b].bounds[p];
            const std::size_t size = buckets[b].bounds[p + 1] - buckets[b].bounds[p];
            std::size_t d = 0;
            for (std::uint32_t k = 0; k < size; ++k) {
                Occurrence& o = bucket[k];
                while (block.segments[block.documents[d + 1]] <= o.position) ++d;
                const auto document = first_documents_[b] + static_cast<std::uint32_t>(d);
                const std::uint32_t id = part.node_of(o.parent, o.symbol);
                Node& node = part.nodes[id];
                ++node.total;
                o.parent = id;
                if (node.last_document == document) {
                    ++bucket[node.last_index].symbol;
                    o.symbol = 0;
                } else {
                    if (node.first < 0) node.first = bases_[b] + o.position;
                    ++node.documents;
                    node.last_document = document;
                    node.last_index = k;
                    o.symbol = 1;
                }
            }
        }
    }

    // Numbers the nodes that are in enough documents by first sight, which is the rank of their first position.
    std::vector<std::vector<std::int32_t>> keep(std::int32_t n, const std::vector<Partition>& parts) {
        std::vector<std::uint64_t> firsts(static_cast<std::size_t>(positions_ / 64 + 1));
        for (const Partition& part : parts)
            for (const Node& node : part.nodes)
                if (node.documents >= rule_.least) firsts[node.first >> 6] |= std::uint64_t{1} << (node.first & 63);
        std::vector<std::uint32_t> before(firsts.size());
        std::uint32_t kept = 0;
        for (std::size_t w = 0; w < firsts.size(); ++w) {
            before[w] = kept;
            kept += static_cast<std::uint32_t>(std::popcount(firsts[w]));
        }
        const std::size_t base = node_count();
        flags_.resize(base + kept);
        totals_.resize(base + kept);
        documents_.resize(base + kept);
        if (n == 1) {
            out_.trie.symbols.resize(kept);
            node_of_type_.assign(static_cast<std::size_t>(symbols_.types.size()), -1);
        } else {
            out_.trie.parents.resize(base + kept - symbols_kept_);
            out_.trie.lasts.resize(base + kept - symbols_kept_);
        }
        std::vector<std::vector<std::int32_t>> numbers(parts.size());
        parallel_blocks(parts.size(), threads_, [&](std::size_t p) {
            numbers[p].reserve(parts[p].nodes.size());
            for (const Node& node : parts[p].nodes) {
                if (node.documents < rule_.least) {
                    numbers[p].push_back(-1);
                    continue;
                }
                const std::uint64_t below = (std::uint64_t{1} << (node.first & 63)) - 1;
                const auto word = static_cast<std::size_t>(node.first >> 6);
                const std::size_t id = base + before[word] + static_cast<std::size_t>(std::popcount(firsts[word] & below));
                numbers[p].push_back(static_cast<std::int32_t>(id));
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
            out_.trie.symbols[id] = static_cast<std::int32_t>(node.symbol);
            node_of_type_[node.symbol] = static_cast<std::int32_t>(id);
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

    // at[i] becomes the node of the n-gram at i, and the block's rows get the level's features.
    void place(std::vector<Buckets>& buckets, const std::vector<std::vector<std::int32_t>>& numbers) {
        parallel_blocks(B_, threads_, [&](std::size_t b) {
            const SymbolBlock& block = symbols_.blocks[b];
            std::vector<std::int32_t>& at = at_[b];
            at.assign(block.ids.size(), -1);
            std::vector<std::uint32_t> times(block.ids.size());
            std::size_t found = 0;
            for (std::size_t p = 0; p < partitions(); ++p)
                for (std::size_t k = buckets[b].bounds[p]; k < buckets[b].bounds[p + 1]; ++k) {
                    const Occurrence& o = buckets[b].occurrences[k];
                    const std::int32_t node = numbers[p][o.parent];
                    if (node < 0) continue;
                    at[o.position] = node;
                    if (o.symbol > 0 && (flags_[static_cast<std::size_t>(node)] & is_feature)) {
                        times[o.position] = o.symbol;
                        ++found;
                    }
                }
            buckets[b] = {};
            LevelRows rows{{0}, {}, {}};
            rows.nodes.reserve(found);
            rows.times.reserve(found);
            for (std::size_t d = 0; d + 1 < block.documents.size(); ++d) {
                const std::uint32_t end = block.segments[block.documents[d + 1]];
                for (std::uint32_t i = block.segments[block.documents[d]]; i < end; ++i)
                    if (times[i] > 0) {
                        rows.nodes.push_back(at[i]);
                        rows.times.push_back(times[i]);
                    }
                rows.ptr.push_back(static_cast<std::uint32_t>(rows.nodes.size()));
            }
            rows_[b].push_back(std::move(rows));
        });
    }

    void number_features() {
        std::vector<std::uint64_t> order; // total, complemented so that it falls, then node
        for (std::size_t id = 0; id < node_count(); ++id)
            if (flags_[id] & is_feature) order.push_back(std::uint64_t{~totals_[id]} << 32 | id);
        std::ranges::sort(order);
        out_.trie.features.assign(node_count(), -1);
        out_.totals.reserve(order.size());
        out_.documents.reserve(order.size());
        for (const std::uint64_t key : order) {
            const auto id = static_cast<std::uint32_t>(key);
            out_.trie.features[id] = static_cast<std::int32_t>(out_.totals.size());
            out_.totals.push_back(totals_[id]);
            out_.documents.push_back(static_cast<std::int32_t>(documents_[id]));
        }
    }

    Rows rows() {
        Rows out{{0}, {}, {}};
        std::vector<std::size_t> first_rows;
        for (std::size_t b = 0; b < B_; ++b) {
            first_rows.push_back(out.ptr.size() - 1);
            for (std::size_t d = 0; d + 1 < symbols_.blocks[b].documents.size(); ++d) {
                std::int64_t size = out.ptr.back();
                for (const LevelRows& level : rows_[b]) size += level.ptr[d + 1] - level.ptr[d];
                out.ptr.push_back(size);
            }
        }
        out.ids.resize(static_cast<std::size_t>(out.ptr.back()));
        out.values.resize(out.ids.size());
        parallel_blocks(B_, threads_, [&](std::size_t b) {
            std::vector<Count> row, scratch;
            for (std::size_t d = 0; d + 1 < symbols_.blocks[b].documents.size(); ++d) {
                row.clear();
                for (const LevelRows& level : rows_[b])
                    for (std::uint32_t k = level.ptr[d]; k < level.ptr[d + 1]; ++k) {
                        const auto node = static_cast<std::size_t>(level.nodes[k]);
                        row.push_back({static_cast<std::uint32_t>(out_.trie.features[node]), level.times[k]});
                    }
                radix_sort(row, scratch, [](const Count& count) { return count.feature; });
                auto k = static_cast<std::size_t>(out.ptr[first_rows[b] + d]);
                for (const Count& count : row) {
                    out.ids[k] = static_cast<std::int32_t>(count.feature);
                    out.values[k++] = static_cast<float>(count.times);
                }
            }
            rows_[b].clear();
        });
        return out;
    }

    const Symbols& symbols_;
    const NGramRule& rule_;
    const std::size_t threads_, B_;
    int bits_ = 0;
    std::int64_t positions_ = 0;
    std::size_t symbols_kept_ = 0;
    std::vector<std::int64_t> bases_;            // [B] position of each block's start in all blocks
    std::vector<std::uint32_t> first_documents_; // [B]
    std::vector<std::vector<std::int32_t>> at_;  // [B][positions] node of the n-gram that starts here, or -1
    std::vector<std::vector<LevelRows>> rows_;   // [B][levels]
    std::vector<std::int32_t> node_of_type_;     // [types] or -1
    std::vector<std::uint8_t> flags_;            // [nodes] NodeFlag
    std::vector<std::uint32_t> totals_;          // [nodes]
    std::vector<std::uint32_t> documents_;       // [nodes]
    CountedNGrams out_;
};

} // namespace

CountedNGrams count_ngrams(const Symbols& symbols, const NGramRule& rule, std::size_t threads) {
    return Counter(symbols, rule, threads).counted();
}

} // namespace chaffinch
