#include "string_templates.hpp"

#include "parallel.hpp"

#include <algorithm>
#include <bit>

namespace chaffinch::features {

namespace {

constexpr std::uint64_t base = 0x9e3779b97f4a7c15ULL;
constexpr std::int64_t block_tokens = 4096;

std::uint64_t mixed(std::uint64_t h) {
    h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93ULL;
    return h ^ (h >> 32);
}

} // namespace

HashedText hashed(std::string_view text) {
    HashedText made;
    const std::size_t end = text.find('\0');
    made.cut = end != std::string_view::npos;
    made.text = text.substr(0, end);
    for (const char c : made.text) {
        made.hash = made.hash * base + static_cast<unsigned char>(c) + 1;
        made.power *= base;
    }
    return made;
}

StringTemplates::StringTemplates(std::vector<char> bytes, std::vector<std::int64_t> key_bounds,
                                 std::vector<char> literals, std::vector<std::int64_t> literal_bounds,
                                 std::vector<TemplatePiece> pieces, std::vector<std::int64_t> bounds,
                                 std::vector<std::uint8_t> kinds, std::int32_t edges)
    : bytes_(std::move(bytes)), key_bounds_(std::move(key_bounds)), literal_bytes_(std::move(literals)),
      pieces_(std::move(pieces)), bounds_(std::move(bounds)), kinds_(std::move(kinds)), edges_(edges) {
    for (std::size_t i = 0; i + 1 < literal_bounds.size(); ++i)
        literals_.push_back(hashed({literal_bytes_.data() + literal_bounds[i],
                                    static_cast<std::size_t>(literal_bounds[i + 1] - literal_bounds[i])}));
    slots_.resize(std::bit_ceil(static_cast<std::size_t>(std::max<std::int64_t>(size(), 8)) * 2));
    const std::size_t mask = slots_.size() - 1;
    for (std::int64_t k = 0; k < size(); ++k) {
        const std::uint64_t h = mixed(hashed(key(k)).hash);
        std::size_t i = h & mask;
        while (slots_[i].key != absent) i = (i + 1) & mask;
        slots_[i] = {static_cast<std::uint32_t>(h >> 32), static_cast<std::int32_t>(k)};
    }
}

std::int32_t StringTemplates::find(Pieces pieces, std::uint64_t hash) const {
    const std::uint64_t h = mixed(hash);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = h & mask; slots_[i].key != absent; i = (i + 1) & mask) {
        if (slots_[i].tag != static_cast<std::uint32_t>(h >> 32)) continue;
        std::string_view rest = key(slots_[i].key);
        const bool same = std::ranges::all_of(pieces, [&rest](const HashedText* piece) {
            if (!rest.starts_with(piece->text)) return false;
            rest.remove_prefix(piece->text.size());
            return true;
        });
        if (same && rest.empty()) return slots_[i].key;
    }
    return absent;
}

// The string of a column that a piece reads, as a number among the column's values.
std::int64_t StringTemplates::value(const TemplatePiece& piece, Position here, std::span<const std::int32_t> ids) const {
    const std::int64_t E = edges_;
    std::int64_t at = piece.offset;
    if (piece.place == TemplatePiece::relative) at += here.t;
    if (piece.place == TemplatePiece::from_end) at += here.T - 1;
    if (at < 0) return std::min(-at - 1, E - 1);
    if (at >= here.T) return E + std::min(at - here.T, E - 1);
    return 2 * E + ids[here.first + at];
}

// The feature of template `number` at token t of the sentence of T tokens that begins at token `first`.
std::int32_t StringTemplates::feature(std::int64_t number, std::int64_t first, std::int64_t t, std::int64_t T,
                                      std::span<const StringColumn> columns,
                                      std::vector<const HashedText*>& texts) const {
    texts.clear();
    std::uint64_t hash = 0;
    for (std::int64_t p = bounds_[number]; p < bounds_[number + 1]; ++p) {
        const TemplatePiece& piece = pieces_[p];
        const HashedText* text = nullptr;
        if (piece.place == TemplatePiece::literal) {
            text = &literals_[piece.index];
        } else {
            text = &columns[piece.index].values[value(piece, {first, t, T}, columns[piece.index].ids)];
        }
        texts.push_back(text);
        hash = hash * text->power + text->hash;
        if (text->cut) break;
    }
    return find(texts, hash);
}

StringRows StringTemplates::rows(std::span<const std::int64_t> sentences, std::span<const StringColumn> columns,
                                 std::size_t threads) const {
    const auto templates = static_cast<std::int64_t>(kinds_.size());
    const auto N = static_cast<std::int64_t>(sentences.size()) - 1;
    // A template of one column of the token itself is looked up once for each string of the column.
    std::vector<std::vector<std::int32_t>> known(kinds_.size());
    const std::int64_t tokens = N > 0 ? sentences[N] - sentences[0] : 0;
    machine::parallel_blocks(kinds_.size(), threads, [&](std::size_t k) {
        std::int64_t column = -1, references = 0;
        for (std::int64_t p = bounds_[k]; p < bounds_[k + 1]; ++p)
            if (pieces_[p].place != TemplatePiece::literal) column = pieces_[p].index, ++references;
        if (references != 1 || static_cast<std::int64_t>(columns[column].values.size()) > tokens) return;
        std::vector<const HashedText*> texts;
        for (const HashedText& value : columns[column].values) {
            texts.clear();
            std::uint64_t hash = 0;
            for (std::int64_t p = bounds_[k]; p < bounds_[k + 1]; ++p) {
                const TemplatePiece& piece = pieces_[p];
                texts.push_back(piece.place == TemplatePiece::literal ? &literals_[piece.index] : &value);
                hash = hash * texts.back()->power + texts.back()->hash;
                if (texts.back()->cut) break;
            }
            known[k].push_back(find(texts, hash));
        }
    });
    const auto looked_up = [&](std::int64_t k, std::int64_t first, std::int64_t t, std::int64_t T) {
        for (std::int64_t p = bounds_[k]; p < bounds_[k + 1]; ++p) {
            const TemplatePiece& piece = pieces_[p];
            if (piece.place == TemplatePiece::literal) continue;
            return known[k][value(piece, {first, t, T}, columns[piece.index].ids)];
        }
        return absent;
    };

    std::vector<std::int64_t> blocks{0}; // in sentences
    for (std::int64_t n = 1; n <= N; ++n)
        if (n == N || sentences[n] - sentences[blocks.back()] >= block_tokens) blocks.push_back(n);
    struct BlockRows {
        std::vector<std::int64_t> sizes, pair_sizes;
        std::vector<std::int32_t> ids, pair_ids;
    };
    std::vector<BlockRows> parts(blocks.size() - 1);
    machine::parallel_blocks(parts.size(), threads, [&](std::size_t b) {
        BlockRows& part = parts[b];
        std::vector<const HashedText*> texts;
        for (std::int64_t n = blocks[b]; n < blocks[b + 1]; ++n) {
            machine::check_stop();
            const std::int64_t first = sentences[n], T = sentences[n + 1] - first;
            for (std::int64_t t = 0; t < T; ++t) {
                const std::size_t before = part.ids.size(), pairs_before = part.pair_ids.size();
                for (std::int64_t k = 0; k < templates; ++k) {
                    if (kinds_[k] == pair && t == 0) continue;
                    const std::int32_t f =
                        known[k].empty() ? feature(k, first, t, T, columns, texts) : looked_up(k, first, t, T);
                    if (f == absent) continue;
                    if (kinds_[k] & unary) part.ids.push_back(f);
                    if ((kinds_[k] & pair) && t > 0) part.pair_ids.push_back(f);
                }
                part.sizes.push_back(static_cast<std::int64_t>(part.ids.size() - before));
                part.pair_sizes.push_back(static_cast<std::int64_t>(part.pair_ids.size() - pairs_before));
            }
        }
    });

    StringRows made{{0}, {0}, {}, {}};
    for (const BlockRows& part : parts) {
        for (const std::int64_t n : part.sizes) made.ptr.push_back(made.ptr.back() + n);
        for (const std::int64_t n : part.pair_sizes) made.pair_ptr.push_back(made.pair_ptr.back() + n);
        made.ids.insert(made.ids.end(), part.ids.begin(), part.ids.end());
        made.pair_ids.insert(made.pair_ids.end(), part.pair_ids.begin(), part.pair_ids.end());
    }
    return made;
}

} // namespace chaffinch::features
