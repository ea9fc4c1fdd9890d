// Global features of the candidates of k-best lists of labellings, read off a whole labelled sentence.
//
// A feature is a 64-bit hash of its template and values; no string is built. Features that all candidates of a list
// share cancel in every learner that compares them, and are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace chaffinch::features {

// The key of a string, the same on every machine: FNV-1a, mixed.
std::uint64_t string_key(std::string_view text);

// What a label says. Plain labels have no span: span = 0.
struct TagLabel {
    std::uint64_t key;  // of the whole label
    std::uint64_t span; // of the type of its span; 0 outside
    bool opens;         // B, S: a span begins here whatever came before
    bool closes;        // E, S: a span ends here whatever comes after
};

struct TagLists {
    std::span<const std::int64_t> lists;     // [N+1]  bounds in candidates
    std::span<const std::int64_t> sentences; // [N+1]  bounds in tokens
    std::span<const std::int32_t> tags;      // candidates of list n lie end to end, T_n labels each
    std::span<const TagLabel> labels;        // [Y]
    std::span<const std::uint64_t> words;    // [tokens]  keys of the words in lower case
    std::span<const std::uint64_t> shapes;   // [tokens]  keys of their shapes
    std::span<const std::uint64_t> extra;    // [tokens]  keys of a further column, such as parts of speech; or empty
};

struct KeyedRows {
    std::vector<std::int64_t> ptr;   // [candidates+1]
    std::vector<std::uint64_t> keys; // [nnz]
    std::vector<float> values;       // [nnz]  how often
};

KeyedRows tag_list_features(const TagLists& x, std::size_t threads);

} // namespace chaffinch::features
