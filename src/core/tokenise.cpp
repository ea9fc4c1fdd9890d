#include "tokenise.hpp"

#include "clones.hpp"
#include "parallel.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace chaffinch {

namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 21;
constexpr std::size_t ahead = 8; // words between asking memory for a slot and reading it

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

CHAFFINCH_HOT void lower_ascii(const char* from, std::size_t n, char* to) {
    for (std::size_t i = 0; i < n; ++i) {
        const auto c = static_cast<unsigned char>(from[i]);
        to[i] = static_cast<char>(c + (static_cast<unsigned char>(c - 'A') < 26 ? 32 : 0));
    }
}

// Characters to ids, ASCII by a table.
class CharTable {
  public:
    explicit CharTable(Interner& types) : types_(types) { ascii_.fill(Interner::absent); }

    std::int32_t operator()(std::string_view c) {
        if (c.size() > 1) return types_.intern(c);
        std::int32_t& id = ascii_[static_cast<unsigned char>(c[0])];
        if (id == Interner::absent) id = types_.intern(c);
        return id;
    }

  private:
    Interner& types_;
    std::array<std::int32_t, ascii_points> ascii_;
};

struct HashedWord {
    std::string_view text;
    std::uint64_t hash;
};

// Scans the whole text first, so that memory is asked for each word's slot long before it is read.
void add_words(std::string_view text, const TokenRule& rule, Interner& types, std::vector<HashedWord>& words,
               SymbolBlock& block) {
    words.clear();
    scan_words(text, rule, [&](std::size_t start, std::size_t end) {
        const std::string_view word = text.substr(start, end - start);
        words.push_back({word, hash_bytes(word)});
    });
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i + ahead < words.size()) types.prefetch(words[i + ahead].hash);
        block.ids.push_back(types.intern_hashed(words[i].text, words[i].hash));
    }
    block.segments.push_back(static_cast<std::uint32_t>(block.ids.size()));
}

void add_chars(std::string_view text, const TokenRule& rule, CharTable& chars, SymbolBlock& block) {
    std::size_t spaces = 0; // length of the run of white space that ends here
    for (std::size_t i = 0; i < text.size();) {
        const Point c = point_at(text, i);
        spaces = rule.kinds[c.code] == space_char ? spaces + 1 : 0;
        if (spaces < 2) block.ids.push_back(chars(text.substr(i, c.bytes)));
        if (spaces == 2) block.ids.back() = chars(" ");
        i += c.bytes;
    }
    block.segments.push_back(static_cast<std::uint32_t>(block.ids.size()));
}

void add_chars_in_words(std::string_view text, const TokenRule& rule, CharTable& chars, SymbolBlock& block) {
    bool inside = false;
    const auto close = [&] {
        if (inside) {
            block.ids.push_back(chars(" "));
            block.segments.push_back(static_cast<std::uint32_t>(block.ids.size()));
        }
        inside = false;
    };
    for (std::size_t i = 0; i < text.size();) {
        const Point c = point_at(text, i);
        if (rule.kinds[c.code] == space_char) {
            close();
        } else {
            if (!inside) block.ids.push_back(chars(" "));
            inside = true;
            block.ids.push_back(chars(text.substr(i, c.bytes)));
        }
        i += c.bytes;
    }
    close();
}

SymbolBlock block_of(std::span<const std::string_view> texts, Cut cut, const TokenRule& rule, Interner& types) {
    SymbolBlock block{{}, {0}, {0}};
    CharTable chars(types);
    std::string lowered;
    std::vector<HashedWord> words;
    for (std::string_view text : texts) {
        if (rule.lower) {
            lowered.resize(text.size());
            lower_ascii(text.data(), text.size(), lowered.data());
            text = lowered;
        }
        if (cut == Cut::words) add_words(text, rule, types, words, block);
        if (cut == Cut::chars) add_chars(text, rule, chars, block);
        if (cut == Cut::chars_in_words) add_chars_in_words(text, rule, chars, block);
        block.documents.push_back(static_cast<std::uint32_t>(block.segments.size() - 1));
    }
    return block;
}

// Bounds of runs of texts that hold about block_bytes each.
std::vector<std::size_t> block_bounds(std::span<const std::string_view> texts) {
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

} // namespace

Symbols symbols_of(std::span<const std::string_view> texts, Cut cut, TokenRule rule, std::size_t threads) {
    const std::vector<std::size_t> bounds = block_bounds(texts);
    const std::size_t B = bounds.size() - 1;
    Symbols out;
    out.blocks.resize(B);
    std::vector<Interner> local(B);
    parallel_blocks(B, threads, [&](std::size_t b) {
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
    parallel_blocks(B, threads, [&](std::size_t b) {
        for (std::int32_t& id : out.blocks[b].ids) id = global[b][static_cast<std::size_t>(id)];
    });
    return out;
}

void rename_types(Symbols& symbols, std::span<const std::string_view> names, std::size_t threads) {
    Interner renamed;
    std::vector<std::int32_t> to;
    to.reserve(names.size());
    for (const std::string_view name : names) to.push_back(renamed.intern(name));
    symbols.types = std::move(renamed);
    parallel_blocks(symbols.blocks.size(), threads, [&](std::size_t b) {
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

} // namespace chaffinch
