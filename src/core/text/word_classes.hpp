// Word classes from plain text: the classes that best predict the next word's class, and a tree over them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace chaffinch::text {

// The class bigram model scores a text by (Brown et al. 1992, "Class-based n-gram models", eq. 10, times the
// number of bigrams and without the part that no clustering changes):
//
//     L = sum over c, d of f(N(c, d)) - sum over c of f(Nl(c)) - sum over d of f(Nr(d)),   f(n) = n log n
//
// where N counts neighbouring classes, Nl and Nr its row and column sums. First each word, most frequent first, joins
// the class that increases L most (the first C words get a class each); then each word in turn is moved to its best
// class, until no word moves (the exchange algorithm of Martin, Liermann and Ney 1998). Sentence boundaries are a class
// of their own that nothing joins.
class WordClasses {
  public:
    // ids [tokens] in [0, types), -1 for words that have no class and are stepped over; the most frequent
    // type must be 0, the next 1, and so on.
    WordClasses(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, std::int32_t types,
                std::int32_t classes);

    // One round over all words: how many changed class. The first round puts every word into one.
    std::int64_t improve();

    // Repeatedly joins the pair of classes whose union costs L least, until `classes` are left. Starting with more
    // classes than wanted keeps the exchange from settling on the classes of the most frequent words.
    void shrink(std::int32_t classes);

    double score() const;

    std::span<const std::int32_t> classes() const { return class_; }

    // The bit path of every class: the two classes whose union costs L least are joined repeatedly; a path leads from
    // the root of that tree to the class.
    std::vector<std::string> paths() const;

  private:
    class Joiner;
    struct Neighbour {
        std::int32_t word; // types: the boundary
        std::int32_t count;
    };

    double f(std::int64_t n) const;
    void gather(std::int32_t word);
    std::int32_t best_class();
    void recount(std::int32_t classes);
    void change(std::int32_t c, std::int32_t sign);
    std::int64_t &at(std::int32_t c, std::int32_t d) {
        return rows_[static_cast<std::size_t>(c) * wide_ + d];
    }

    std::int32_t types_;
    std::int32_t classes_n_;          // C, without the boundary
    std::size_t wide_;                // C + 1
    std::vector<double> f_;           // f(n) for small n
    std::vector<std::int32_t> class_; // [types], -1: none yet

    std::vector<std::int64_t> after_ptr_, before_ptr_; // [types+1]
    std::vector<Neighbour> after_, before_;            // distinct neighbours of each word, itself left out
    std::vector<std::int32_t> twice_;                  // [types] how often the word follows itself

    std::vector<std::int64_t> rows_, columns_; // [C+1][C+1]: N and its transpose
    std::vector<std::int64_t> left_, right_;   // [C+1]: row and column sums

    // The word at hand: its neighbours by class.
    std::vector<std::int64_t> next_, previous_;       // [C+1] counts
    std::vector<std::int32_t> next_in_, previous_in_; // classes with a count
    std::int64_t self_ = 0;
    std::vector<double> gain_; // [C]
};

} // namespace chaffinch::text
