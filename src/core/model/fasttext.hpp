// fastText's classifier: the mean of the vectors of words, character n-grams and word n-grams, times a vector for each label.
//
//     h   = 1/n  sum of V[r] over the rows r of a text            V [rows][D]
//     s_y = U[y].h                                                U [Y][D]
//
// Joulin et al. 2017, "Bag of tricks for efficient text classification". Sums are taken in fastText's order and in its
// precision, so that its answers are repeated to the last bit, up to the contraction of multiplications and additions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chaffinch::model {

// Vectors, dense or as the codes of a product quantiser; the memory is the owner's.
struct VectorRows {
    std::int64_t rows = 0, D = 0;
    std::span<const float> dense;              // [rows][D]; empty: quantised
    std::int64_t part = 1;                     // numbers in each part of a vector; the last part may be shorter
    std::span<const std::uint8_t> codes;       // [rows][parts]
    std::span<const float> centroids;          // [D * 256], part after part
    std::span<const std::uint8_t> norm_codes;  // [rows]; empty: no norms
    std::span<const float> norms;              // [256]

    std::int64_t parts() const { return (D + part - 1) / part; }
    float norm(std::int64_t row) const;
    void add(std::int64_t row, float* x) const;            // x += V[row]
    void put_unscaled(std::int64_t row, float* x) const;   // x = V[row] / norm
};

// How labels get their probabilities: softmax; a sigmoid each, from a table of 512 steps; a Huffman tree of sigmoids.
enum class LabelOutput : std::uint8_t { softmax, sigmoid, tree };

struct FastTextSettings {
    std::int32_t words = 0, labels = 0;
    std::int32_t shortest = 0, longest = 0; // character n-grams; longest 0: none
    std::int32_t word_ngrams = 1;
    std::uint32_t buckets = 0;
    bool pruned = false; // only the buckets that are listed have a row
    LabelOutput output = LabelOutput::softmax;
};

enum class RowKind : std::uint8_t { word, characters, ngram };

struct NamedRow {
    std::int32_t row;
    RowKind kind;
    std::string name;
};

struct HuffmanNode {
    std::int32_t left = -1, right = -1; // a leaf has none
};

class FastText {
  public:
    using Ranked = std::vector<std::pair<float, std::int32_t>>; // log scores and labels

    // text, ptr: the words, then the labels, end to end. counts: how often each label occurred, for the tree.
    // Throws std::invalid_argument if they do not fit together.
    FastText(const FastTextSettings& settings, std::span<const std::uint8_t> text, std::span<const std::int64_t> ptr,
             std::span<const std::int64_t> counts, std::span<const std::int32_t> buckets,
             std::span<const std::int32_t> bucket_rows, const VectorRows& input, const VectorRows& output);

    const FastTextSettings& settings() const { return settings_; }
    std::int64_t dimensions() const { return input_.D; }

    std::int32_t find(std::string_view token) const; // its number among words and labels, or -1

    // The rows of a text; a line break is a space, and the end of the text a word of its own.
    void rows(std::string_view text, std::vector<std::int32_t>& out) const;
    std::vector<NamedRow> named_rows(std::string_view text) const;
    std::vector<NamedRow> named_subwords(std::string_view word) const;

    void hidden(std::span<const std::int32_t> rows, std::span<float> h) const; // [D]
    void scores(std::span<const float> h, std::span<float> out) const;         // [Y] log(p + 1e-5)

    // The k best labels whose probability reaches the threshold, best first, equal ones in the order of fastText's heap.
    void best(std::span<const float> h, std::int32_t k, float threshold, std::span<float> room, Ranked& out) const;

    // The rows of U and their signs on the way from the root to each label, if the labels are a tree.
    struct Paths {
        std::vector<std::int64_t> ptr;  // [Y+1]
        std::vector<std::int32_t> rows; // [nnz]
        std::vector<std::int8_t> signs; // +1: to the right
    };
    Paths paths() const;

    const VectorRows& input() const { return input_; }
    const VectorRows& output() const { return output_; }

  private:
    template <class Sink> void each_row(std::string_view text, Sink&& sink) const;
    template <class Sink> void each_subword(std::string_view word, Sink&& sink) const;
    std::int32_t bucket_row(std::uint32_t bucket) const; // or -1
    std::string_view token(std::int32_t id) const;
    void build_index();
    void build_buckets(std::span<const std::int32_t> buckets, std::span<const std::int32_t> rows);
    void build_tree(std::span<const std::int64_t> counts);
    void build_output();
    void dots(std::span<const float> h, std::span<float> out) const;
    void probabilities(std::span<const float> h, std::span<float> out) const;
    float node_probability(std::int32_t node, const float* h) const;

    FastTextSettings settings_;
    std::span<const std::uint8_t> text_;
    std::span<const std::int64_t> ptr_;
    VectorRows input_, output_;
    std::vector<std::int32_t> index_;                            // open addressing by hash
    std::vector<std::pair<std::uint32_t, std::int32_t>> kept_;   // the same of buckets; row -1: free
    std::vector<HuffmanNode> tree_;                                 // leaves 0..Y, then inner nodes; the root last
    std::vector<float> by_column_;                               // [D][Y] U transposed; of a tree [Y-1][D]
    std::vector<float> label_norms_;                             // [Y], if U is quantised with norms
};

} // namespace chaffinch::model
