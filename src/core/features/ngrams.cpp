#include "ngrams.hpp"

#include "give_back.hpp"
#include "ngram_rows.hpp"
#include "ngram_table.hpp"

#include <algorithm>
#include <bit>

namespace chaffinch {

namespace {

// Occurrences are dealt into partitions by a hash of their key, so that each partition's table stays in cache
// and partitions are counted side by side. How many there are depends on the input alone.
constexpr int partition_bits = 8;
// Partitions are dealt and counted in rounds, so that only some of the occurrences are in memory at a time.
constexpr std::size_t rounds = 4;
constexpr std::int64_t few_positions = 1 << 16;
constexpr std::uint32_t dropped = ~0u;
constexpr std::uint32_t ahead = 12; // occurrences between asking memory for a slot and reading it

enum NodeFlag : std::uint8_t { all_stops = 1, opens_word = 2, is_feature = 4 };

// One block's occurrences at one level, partition after partition, by position within each.
struct Buckets {
    std::vector<Occurrence> occurrences;
    std::vector<std::size_t> bounds; // [partitions+1]
};

// One block's features at one level: nodes, document after document, as often as they occur.
struct LevelRows {
    std::vector<std::uint32_t> ptr; // [documents+1]
    std::vector<std::int32_t> nodes;
};

class Counter {
  public:
    Counter(Symbols& symbols, const NGramRule& rule, std::size_t threads)
        : types_(static_cast<std::size_t>(symbols.types.size())), blocks_(std::move(symbols.blocks)), rule_(rule),
          threads_(threads), B_(blocks_.size()), ends_(B_), at_(B_), between_(B_) {
        symbols.blocks.clear();
        std::int64_t base = 0;
        std::uint32_t document = 0;
        for (const SymbolBlock& block : blocks_) {
            bases_.push_back(base);
            first_documents_.push_back(document);
            base += static_cast<std::int64_t>(block.ids.size());
            document += static_cast<std::uint32_t>(block.documents.size() - 1);
        }
        for (std::size_t b = 0; b < B_; ++b)
            for (const std::uint32_t segment : std::span(blocks_[b].documents).subspan(1))
                ends_[b].push_back(blocks_[b].segments[segment]);
        positions_ = base;
        bits_ = positions_ < few_positions ? 0 : partition_bits;
    }

    CountedNGrams counted() {
        give_back_memory(); // what cutting the texts left
        count_symbols();
        for (std::int32_t n = 2; n <= rule_.high; ++n) level(n);
        number_features();
        give_back_memory();
        out_.rows = rows();
        return std::move(out_);
    }

  private:
    // How often each type that a block holds occurs in it.
    struct TypeCount {
        std::int32_t type;
        std::uint32_t total, documents, first; // first: position in the block
    };

    std::size_t node_count() const { return flags_.size(); }
    std::size_t partitions() const { return std::size_t{1} << bits_; }

    // Level 1 needs no table: a type is its own key. Blocks are counted side by side and added in order.
    void count_symbols() {
        std::vector<std::vector<TypeCount>> counts(B_);
        parallel_blocks(B_, threads_, [&](std::size_t b) { counts[b] = type_counts(b); });
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
        parallel_blocks(B_, threads_, [&](std::size_t b) { // from here on: the node of the symbol, or -1
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
        std::vector<std::vector<std::int32_t>> at(B_);
        for (std::size_t b = 0; b < B_; ++b) at[b].assign(blocks_[b].ids.size(), -1);
        std::vector<std::vector<Node>> nodes; // [partitions] those kept
        std::uint32_t kept = 0;
        std::vector<Buckets> buckets(B_);
        const std::size_t size = std::max<std::size_t>(1, partitions() / rounds);
        for (std::size_t first = 0; first < partitions(); first += size) {
            parallel_blocks(B_, threads_, [&](std::size_t b) { deal(n, b, first, size, buckets[b]); });
            std::vector<Partition> parts(size);
            parallel_blocks(size, threads_, [&](std::size_t p) { count(p, buckets, parts[p]); });
            std::vector<std::uint32_t> numbers; // of the first node of each partition
            for (Partition& part : parts) {
                numbers.push_back(kept);
                kept += static_cast<std::uint32_t>(part.nodes.size());
                nodes.push_back(std::move(part.nodes));
            }
            parallel_blocks(B_, threads_, [&](std::size_t b) {
                for (std::size_t p = 0; p < size; ++p)
                    for (std::size_t k = buckets[b].bounds[p]; k < buckets[b].bounds[p + 1]; ++k) {
                        const Occurrence& o = buckets[b].occurrences[k];
                        if (o.parent != dropped) at[b][o.position] = static_cast<std::int32_t>(numbers[p] + o.parent);
                    }
            });
        }
        buckets.clear();
        const std::vector<std::int32_t> numbers = keep(n, nodes);
        parallel_blocks(B_, threads_, [&](std::size_t b) {
            for (std::int32_t& node : at[b])
                if (node >= 0) node = numbers[static_cast<std::size_t>(node)];
            if (n > 2) between_[b].push_back(features_at(b, at_[b]));
            at_[b] = std::move(at[b]);
        });
    }

    // Writes the key of every n-gram whose prefix and suffix of n-1 symbols were kept: no other can be in
    // enough documents. Counts per partition first, so that the occurrences fit exactly; what belongs to another
    // round goes to a last place that nobody reads, for a branch could not be guessed.
    void deal(std::int32_t n, std::size_t b, std::size_t first, std::size_t size, Buckets& out) {
        const SymbolBlock& block = blocks_[b];
        const std::vector<std::int32_t>& at = n == 2 ? block.ids : at_[b];
        const auto each = [&](auto&& use) {
            for (std::size_t s = 0; s + 1 < block.segments.size(); ++s) {
                if (block.segments[s + 1] - block.segments[s] < static_cast<std::uint32_t>(n)) continue;
                const std::uint32_t last = block.segments[s + 1] - static_cast<std::uint32_t>(n);
                for (std::uint32_t i = block.segments[s]; i <= last; ++i) {
                    if ((at[i] | at[i + 1]) < 0) continue;
                    const auto parent = static_cast<std::uint32_t>(at[i]);
                    const auto symbol = static_cast<std::uint32_t>(block.ids[i + static_cast<std::uint32_t>(n) - 1]);
                    const std::size_t part = (mix(parent, symbol) >> (64 - partition_bits)) - first;
                    use(bits_ == 0 ? 0 : std::min(part, size), Occurrence{parent, symbol, i});
                }
            }
        };
        std::vector<std::size_t> next(size + 2);
        each([&](std::size_t part, const Occurrence&) { ++next[part + 1]; });
        for (std::size_t p = 0; p < size; ++p) next[p + 1] += next[p];
        out.bounds.assign(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(size) + 1);
        out.occurrences.resize(out.bounds.back() + 1);
        each([&](std::size_t part, const Occurrence& o) {
            out.occurrences[next[part]] = o;
            next[part] += part < size;
        });
    }

    void count(std::size_t p, std::vector<Buckets>& buckets, Partition& part) const {
        for (std::size_t b = 0; b < B_; ++b) {
            Occurrence* bucket = buckets[b].occurrences.data() + buckets[b].bounds[p];
            const std::size_t size = buckets[b].bounds[p + 1] - buckets[b].bounds[p];
            std::size_t d = 0;
            for (std::uint32_t k = 0; k < size; ++k) {
                if (k + ahead < size) part.prefetch(bucket[k + ahead]);
                Occurrence& o = bucket[k];
                while (ends_[b][d] <= o.position) ++d;
                const auto document = first_documents_[b] + static_cast<std::uint32_t>(d);
                o.parent = part.node_of(o.parent, o.symbol);
                Node& node = part.nodes[o.parent];
                if (node.first < 0) node.first = bases_[b] + o.position;
                ++node.total;
                node.documents += node.last_document != document;
                node.last_document = document;
            }
        }
        drop_rare(p, buckets, part);
    }

    // Most n-grams are in too few documents: forgotten at once, they do not add up over the partitions.
    void drop_rare(std::size_t p, std::vector<Buckets>& buckets, Partition& part) const {
        std::vector<std::uint32_t> to(part.nodes.size(), dropped);
        std::uint32_t kept = 0;
        for (std::size_t id = 0; id < to.size(); ++id)
            if (part.nodes[id].documents >= rule_.least) {
                to[id] = kept;
                part.nodes[kept++] = part.nodes[id];
            }
        part.nodes = std::vector<Node>(part.nodes.begin(), part.nodes.begin() + kept);
        part.slots = {};
        for (Buckets& bucket : buckets)
            for (std::size_t k = bucket.bounds[p]; k < bucket.bounds[p + 1]; ++k)
                bucket.occurrences[k].parent = to[bucket.occurrences[k].parent];
    }

    // Numbers the nodes by first sight, which is the rank of their first position.
    std::vector<std::int32_t> keep(std::int32_t n, const std::vector<std::vector<Node>>& nodes) {
        std::vector<std::uint64_t> firsts(static_cast<std::size_t>(positions_ / 64 + 1));
        for (const std::vector<Node>& part : nodes)
            for (const Node& node : part) firsts[node.first >> 6] |= std::uint64_t{1} << (node.first & 63);
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
        out_.trie.parents.resize(base + kept - symbols_kept_);
        out_.trie.lasts.resize(base + kept - symbols_kept_);
        std::vector<std::int32_t> numbers;
        numbers.reserve(kept);
        for (const std::vector<Node>& part : nodes)
            for (const Node& node : part) {
                const std::uint64_t below = (std::uint64_t{1} << (node.first & 63)) - 1;
                const auto word = static_cast<std::size_t>(node.first >> 6);
                const std::size_t id = base + before[word] + static_cast<std::size_t>(std::popcount(firsts[word] & below));
                numbers.push_back(static_cast<std::int32_t>(id));
                describe(n, id, node);
            }
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

    // What of a level's nodes are features, when the positions are no longer needed.
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
        radix_sort(order, scratch, [&](std::uint32_t id) { return largest - totals_[id]; });
        out_.trie.features.assign(node_count(), -1);
        out_.totals.reserve(order.size());
        out_.documents.reserve(order.size());
        for (const std::uint32_t id : order) {
            out_.trie.features[id] = static_cast<std::int32_t>(out_.totals.size());
            out_.totals.push_back(totals_[id]);
            out_.documents.push_back(static_cast<std::int32_t>(documents_[id]));
        }
    }

    Rows rows() {
        return gathered(B_, threads_, [&](std::size_t b) {
            Rows out;
            std::vector<std::int32_t> features, scratch;
            std::vector<std::int32_t> &ids = blocks_[b].ids, &at = at_[b];
            at.resize(ids.size(), -1);
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
            ids = {}, at = {}, between_[b] = {};
            return out;
        });
    }

    const std::size_t types_;
    std::vector<SymbolBlock> blocks_;
    const NGramRule& rule_;
    const std::size_t threads_, B_;
    int bits_ = 0;
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

CountedNGrams count_ngrams(Symbols& symbols, const NGramRule& rule, std::size_t threads) {
    CountedNGrams counted = Counter(symbols, rule, threads).counted();
    give_back_memory();
    return counted;
}

} // namespace chaffinch
