// The frozen index of n-grams: new text gets the features that training kept, and no others.
#pragma once

#include "ngrams.hpp"

#include <memory>
#include <mutex>
#include <string>

namespace chaffinch::features {

class NGramIndex {
  public:
    // Throws std::invalid_argument if a number in the trie is out of place.
    // symbols: the strings of nodes 0 .. S-1, all different; F: how many features there are.
    NGramIndex(text::Interner symbols, std::vector<std::int32_t> parents, std::vector<std::int32_t> lasts,
               std::vector<std::int32_t> features, std::int64_t F);

    const text::Interner& symbols() const { return symbols_; }
    std::span<const std::int32_t> parents() const { return parents_; }
    std::span<const std::int32_t> lasts() const { return lasts_; }
    std::span<const std::int32_t> features() const { return features_; }
    std::int64_t feature_count() const { return F_; }

    // Rows of the n-grams that the index knows, of texts or of their symbols; with counts, unless presence is enough.
    NGramRows rows(std::span<const std::string_view> texts, text::Cut cut, const text::TokenRule& rule, bool presence,
              std::size_t threads) const;
    NGramRows rows(const text::Symbols& text, bool presence, std::size_t threads) const;

    // The n-gram of every feature, its symbols joined; features without a node are empty.
    std::vector<std::string> names(std::string_view joint) const;

    // The hashed feature (see hashed_rows) of every feature's n-gram.
    std::vector<std::int64_t> buckets(std::uint64_t bucket_count) const;

    // The index with feature f renumbered to to[f], or dropped if that is -1. to: [F], below new_F
    NGramIndex renumbered(std::span<const std::int32_t> to, std::int64_t new_F) const;

  private:
    friend NGramIndex index_of(CountedNGrams&& counted, const text::Symbols& symbols);

    struct Slot {
        std::uint32_t parent, last;
        std::int32_t node, feature;
    };

    // Finds an n-gram's node; built at the first lookup, since training does not need it.
    struct Table {
        std::once_flag made;
        std::vector<Slot> slots; // [power of two] linear probing, at most half full
        std::vector<std::uint8_t> tags; // [slots] 0: empty; else seven bits of the key's hash, so that an absent key
                                        // seldom needs a look at the slots, which do not fit in cache
        std::uint32_t depth = 1; // symbols in the longest n-gram
    };

    struct Trusted {};
    NGramIndex(Trusted, text::Interner symbols, std::vector<std::int32_t> parents, std::vector<std::int32_t> lasts,
               std::vector<std::int32_t> features, std::int64_t F);

    void check() const;
    const Table& table() const;
    void fill(Table& table) const;
    void add_rows(const text::SymbolBlock& block, bool presence, NGramRows& out) const;

    text::Interner symbols_;
    std::vector<std::int32_t> parents_, lasts_, features_; // as in Trie
    std::int64_t F_;
    std::unique_ptr<Table> table_ = std::make_unique<Table>();
};

// The index of what was counted; takes the trie.
NGramIndex index_of(CountedNGrams&& counted, const text::Symbols& symbols);

// Rows whose features are hashes of n-grams, modulo bucket_count; nothing is learnt and nothing is stored.
NGramRows hashed_rows(const text::Symbols& text, const NGramRule& rule, std::uint64_t bucket_count, std::size_t threads);

} // namespace chaffinch::features
