#include "tokenise.hpp"

#include "clones.hpp"
#include "parallel.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace chaffinch::text {

namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 21;
constexpr std::size_t ahead = 8; // words between prefetching a slot and reading it

struct Point {
    std::uint32_t code;
    std::uint32_t bytes;
};

// The code point at s[i]; s is valid UTF-8.
inline Point point_at(std::string_view s, std::size_t i) {
    const auto byte = [&](std::size_t k) { return static_cast<std::uint32_t>(static_cast<unsigned char>(s[i + k])); };
    const std::uint32_t b = byte(0);
    if (b < 0x80) return {b, 1};
    if (b < 0xe0) return {(b & 0x1f) << 6 | (byte(1) & 0x3f), 2};
    if (b < 0xf0) return {(b & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
    return {(b & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f), 4};
}

// Calls emit(start, end) in bytes for each token: a longest run of word characters, or one mark.
template <class Emit> void scan_words(std::string_view text, const TokenRule& rule, Emit&& emit) {
    const std::uint8_t* kinds = rule.kinds.data();
    const std::size_t n = text.size();
    std::size_t i = 0;
    while (i < n) {
        Point c = point_at(text, i);
        const std::uint8_t kind = kinds[c.code];
        const std::size_t start = i;
        i += c.bytes;
        if (kind == word_char) {
            std::int64_t length = 1;
            for (; i < n; i += c.bytes, ++length) {
                c = point_at(text, i);
                if (kinds[c.code] != word_char) break;
            }
            if (length >= rule.shortest) emit(start, i);
        } else if (kind == mark_char && rule.marks) {
            emit(start, i);
        }
    }
}

// Copies n bytes, A to Z lowered if asked; whether all of them are ASCII.
CHAFFINCH_HOT bool copied(const char* from, std::size_t n, bool lower, char* to) {
    const unsigned char capitals = lower ? 26 : 0;
    unsigned char any = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto c = static_cast<unsigned char>(from[i]);
        any |= c;
        to[i] = static_cast<char>(c + (static_cast<unsigned char>(c - 'A') < capitals ? 32 : 0));
    }
    return any < ascii_points;
}

// The ASCII characters of a kind, as ranges of consecutive ones: few, so that a loop over ranges beats a table.
struct AsciiRange {
    unsigned char first, more; // more: how many follow the first
};

std::vector<AsciiRange> ranges_of(const TokenRule& rule, CharKind kind) {
    std::vector<AsciiRange> ranges;
    for (unsigned char c = 0; c < ascii_points; ++c) {
        if (rule.kinds[c] != kind) continue;
        if (!ranges.empty() && ranges.back().first + ranges.back().more + 1 == c) ++ranges.back().more;
        else ranges.push_back({c, 0});
    }
    return ranges;
}

// bits[i / 64] has bit i % 64 if character i is in a range, for whole runs of 64 characters.
CHAFFINCH_HOT void mark_ranges(const char* text, std::size_t runs, std::span<const AsciiRange> ranges, std::uint64_t* bits) {
    for (std::size_t r = 0; r < runs; ++r) {
        unsigned char within[64] = {}; // 0 or 1
        const char* here = text + 64 * r;
        for (const AsciiRange range : ranges)
            for (std::size_t i = 0; i < 64; ++i)
                within[i] |= static_cast<unsigned char>(static_cast<unsigned char>(here[i] - range.first) <= range.more);
        std::uint64_t all = 0;
        for (std::size_t i = 0; i < 64; i += 8) { // the product moves the lowest bit of byte k to bit 56 + k
            std::uint64_t eight;
            std::memcpy(&eight, within + i, 8);
            all |= (eight * 0x0102040810204080ULL >> 56) << i;
        }
        bits[r] = all;
    }
}

// scan_words of ASCII text with 64 readable bytes behind it, 64 characters at a time: words start where a word
// character follows none and end where none follows one; the k-th start and the k-th end belong together.
class AsciiScan {
  public:
    explicit AsciiScan(const TokenRule& rule) : word_ranges_(ranges_of(rule, word_char)) {
        if (rule.marks) mark_ranges_ = ranges_of(rule, mark_char);
    }

    template <class Emit> void operator()(std::string_view text, const TokenRule& rule, Emit&& emit) {
        starts_.resize(std::max(starts_.size(), text.size() + 1));
        ends_.resize(starts_.size());
        const std::size_t runs = text.size() / 64 + 1; // at the end too, where a last word ends
        words_.resize(std::max(words_.size(), runs));
        marks_.resize(words_.size());
        mark_ranges(text.data(), runs, word_ranges_, words_.data());
        mark_ranges(text.data(), runs, mark_ranges_, marks_.data());
        std::size_t starts = 0, ends = 0;
        std::uint64_t word_before = 0, mark_before = 0; // the last bit of the 64 before
        for (std::size_t r = 0; r < runs; ++r) {
            const std::size_t i = 64 * r, left = text.size() - i;
            const std::uint64_t within = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
            const std::uint64_t words = within & words_[r], marks = within & marks_[r];
            const std::uint64_t after_word = words << 1 | word_before, after_mark = marks << 1 | mark_before;
            starts = listed((words & ~after_word) | marks, i, starts_, starts);
            ends = listed((after_word & ~words) | after_mark, i, ends_, ends);
            word_before = words >> 63;
            mark_before = marks >> 63;
        }
        for (std::size_t k = 0; k < starts; ++k)
            if (static_cast<std::int32_t>(ends_[k] - starts_[k]) >= rule.shortest ||
                rule.kinds[static_cast<unsigned char>(text[starts_[k]])] == mark_char)
                emit(starts_[k], ends_[k]);
    }

  private:
    // Appends where the bits are.
    static std::size_t listed(std::uint64_t bits, std::size_t from, std::vector<std::uint32_t>& out, std::size_t size) {
        for (; bits != 0; bits &= bits - 1) out[size++] = static_cast<std::uint32_t>(from) + static_cast<std::uint32_t>(std::countr_zero(bits));
        return size;
    }

    std::vector<AsciiRange> word_ranges_, mark_ranges_;
    std::vector<std::uint64_t> words_, marks_; // [runs of 64] which characters are of the kind
    std::vector<std::uint32_t> starts_, ends_;
};

// The id of a string: a table that still grows gives it one, a frozen one says if it is absent.
inline std::int32_t id_of(Interner& types, std::string_view s, std::uint64_t hash) { return types.intern_padded(s, hash); }
inline std::int32_t id_of(const Interner& types, std::string_view s, std::uint64_t hash) { return types.find_padded(s, hash); }

// Characters to ids, ASCII by a table.
template <class Types> class CharTable {
  public:
    explicit CharTable(Types& types) : types_(types) { ascii_.fill(unasked); }

    std::int32_t operator()(std::string_view c) {
        if (c.size() > 1) return id_of(types_, c, hash_bytes(c));
        std::int32_t& id = ascii_[static_cast<unsigned char>(c[0])];
        if (id == unasked) id = id_of(types_, c, hash_bytes(c));
        return id;
    }

  private:
    static constexpr std::int32_t unasked = Interner::absent - 1;

    Types& types_;
    std::array<std::int32_t, ascii_points> ascii_;
};

// One space, padded as all strings are that are looked up.
constexpr char padded_space[1 + padding] = {' '};
constexpr std::string_view space{padded_space, 1};

// Buffers for cutting texts, reused for many texts.
struct Workspace {
    std::vector<char> padded; // the text, lowered if asked, and bytes behind it that may be read
    std::vector<HashedString> words;
    AsciiScan scan_ascii;
};

inline void add_ids(const Interner& types, const std::vector<HashedString>& words, std::vector<std::int32_t>& ids) {
    ids.resize(ids.size() + words.size());
    types.find_all(words, ids.data() + ids.size() - words.size());
}
inline void add_ids(Interner& types, const std::vector<HashedString>& words, std::vector<std::int32_t>& ids) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i + ahead < words.size()) types.prefetch(words[i + ahead].hash);
        ids.push_back(types.intern_padded(words[i].text, words[i].hash));
    }
}

// Scans the whole text first, so that what a look-up reads is prefetched.
template <class Types>
void add_words(std::string_view text, bool ascii, const TokenRule& rule, Types& types, Workspace& work,
               SymbolBlock& block) {
    std::vector<HashedString>& words = work.words;
    words.clear();
    const auto add = [&](std::size_t start, std::size_t end) {
        const std::string_view word = text.substr(start, end - start);
        words.push_back({word, hash_padded(word)});
    };
    if (ascii) work.scan_ascii(text, rule, add);
    else scan_words(text, rule, add);
    add_ids(types, words, block.ids);
    block.segments.push_back(static_cast<std::uint32_t>(block.ids.size()));
}

template <class Types>
void add_chars(std::string_view text, const TokenRule& rule, CharTable<Types>& chars, SymbolBlock& block) {
    std::size_t spaces = 0; // length of the run of white space that ends here
    for (std::size_t i = 0; i < text.size();) {
        const Point c = point_at(text, i);
        spaces = rule.kinds[c.code] == space_char ? spaces + 1 : 0;
        if (spaces < 2) block.ids.push_back(chars(text.substr(i, c.bytes)));
        if (spaces == 2) block.ids.back() = chars(space);
        i += c.bytes;
    }
    block.segments.push_back(static_cast<std::uint32_t>(block.ids.size()));
}

template <class Types>
void add_chars_in_words(std::string_view text, const TokenRule& rule, CharTable<Types>& chars, SymbolBlock& block) {
    bool inside = false;
    const auto close = [&] {
        if (inside) {
            block.ids.push_back(chars(space));
            block.segments.push_back(static_cast<std::uint32_t>(block.ids.size()));
        }
        inside = false;
    };
    for (std::size_t i = 0; i < text.size();) {
        const Point c = point_at(text, i);
        if (rule.kinds[c.code] == space_char) {
            close();
        } else {
            if (!inside) block.ids.push_back(chars(space));
            inside = true;
            block.ids.push_back(chars(text.substr(i, c.bytes)));
        }
        i += c.bytes;
    }
    close();
}

template <class Types>
SymbolBlock block_of(std::span<const std::string_view> texts, Cut cut, const TokenRule& rule, Types& types) {
    SymbolBlock block{{}, {0}, {0}};
    CharTable<Types> chars(types);
    Workspace work{{}, {}, AsciiScan(rule)};
    for (std::string_view text : texts) {
        work.padded.resize(std::max(work.padded.size(), text.size() + 64));
        const bool ascii = copied(text.data(), text.size(), rule.lower, work.padded.data());
        text = {work.padded.data(), text.size()};
        if (cut == Cut::words) add_words(text, ascii, rule, types, work, block);
        if (cut == Cut::chars) add_chars(text, rule, chars, block);
        if (cut == Cut::chars_in_words) add_chars_in_words(text, rule, chars, block);
        block.documents.push_back(static_cast<std::uint32_t>(block.segments.size() - 1));
    }
    return block;
}

} // namespace

std::vector<std::size_t> block_bounds(std::span<const std::string_view> texts, std::size_t block_bytes) {
    std::vector<std::size_t> bounds{0};
    std::size_t bytes = 0;
    for (std::size_t n = 0; n < texts.size(); ++n) {
        bytes += texts[n].size();
        if (bytes >= block_bytes || n + 1 == texts.size()) {
            bounds.push_back(n + 1);
            bytes = 0;
        }
    }
    return bounds;
}

Symbols symbols_of(std::span<const std::string_view> texts, Cut cut, TokenRule rule, std::size_t threads) {
    const std::vector<std::size_t> bounds = block_bounds(texts, block_bytes);
    const std::size_t B = bounds.size() - 1;
    Symbols out;
    out.blocks.resize(B);
    std::vector<Interner> local(B);
    machine::parallel_blocks(B, threads, [&](std::size_t b) {
        out.blocks[b] = block_of(texts.subspan(bounds[b], bounds[b + 1] - bounds[b]), cut, rule, local[b]);
    });
    if (B == 1) {
        out.types = std::move(local[0]);
        return out;
    }
    std::vector<std::vector<std::int32_t>> global(B);
    for (std::size_t b = 0; b < B; ++b) {
        global[b].reserve(static_cast<std::size_t>(local[b].size()));
        for (std::int32_t id = 0; id < local[b].size(); ++id) global[b].push_back(out.types.intern(local[b][id]));
    }
    machine::parallel_blocks(B, threads, [&](std::size_t b) {
        for (std::int32_t& id : out.blocks[b].ids) id = global[b][static_cast<std::size_t>(id)];
    });
    return out;
}

SymbolBlock known_symbols(std::span<const std::string_view> texts, Cut cut, const TokenRule& rule, const Interner& types) {
    return block_of(texts, cut, rule, types);
}

void rename_types(Symbols& symbols, std::span<const std::string_view> names, std::size_t threads) {
    Interner renamed;
    std::vector<std::int32_t> to;
    to.reserve(names.size());
    for (const std::string_view name : names) to.push_back(renamed.intern(name));
    symbols.types = std::move(renamed);
    machine::parallel_blocks(symbols.blocks.size(), threads, [&](std::size_t b) {
        for (std::int32_t& id : symbols.blocks[b].ids) id = to[static_cast<std::size_t>(id)];
    });
}

void word_offsets(std::string_view text, TokenRule rule, std::vector<std::int64_t>& starts,
                  std::vector<std::int64_t>& ends) {
    std::size_t byte = 0;
    std::int64_t character = 0;
    const auto character_at = [&](std::size_t target) {
        for (; byte < target; ++byte) character += (static_cast<unsigned char>(text[byte]) & 0xc0) != 0x80;
        return character;
    };
    scan_words(text, rule, [&](std::size_t start, std::size_t end) {
        starts.push_back(character_at(start));
        ends.push_back(character_at(end));
    });
}

} // namespace chaffinch::text
