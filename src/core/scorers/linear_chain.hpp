// A trained linear chain: rows of feature ids in, labels out, many sentences at a time.
//
//   score(x, y) = start[y_0] + end[y_{T-1}] + sum_t sum_{f at t} v unary[f][y_t] + sum_t pair[y_{t-1}][y_t]
//
// v: the value of f at t, 1 if there are no values; the second order adds the terms of chain.hpp. A weight of -inf
// forbids. If no labelling of a sentence is allowed, it gets label 0 from the first position that cannot be reached,
// and before it the best path to that position: the plain algorithm gives the same when it compares minus infinity with
// itself.
#pragma once

#include "aligned.hpp"
#include "chain.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::scorers {

// Sentences as rows of features.
struct SentenceRows {
    std::span<const std::int64_t> sentences; // [N+1] bounds into tokens
    std::span<const std::int64_t> ptr;       // [tokens+1] bounds into ids
    std::span<const std::int32_t> ids;       // [nnz] feature ids, all below F
    const float* values = nullptr;           // [nnz] or null: all are 1

    float value(std::int64_t k) const { return values ? values[k] : 1.0f; }
    std::size_t size() const { return sentences.size() - 1; }
};

// Spans to give probabilities for; a span's kind says which labels begin it and which continue it.
struct AskedSpans {
    std::span<const std::int64_t> ptr;   // [N+1] the spans of each sentence
    std::span<const std::int64_t> begin; // [spans] tokens of the sentence
    std::span<const std::int64_t> end;   // [spans] exclusive
    std::span<const std::int32_t> kind;  // [spans]
    std::span<const std::int32_t> opens; // [kinds][opens.size() / kinds] labels, filled up with -1
    std::span<const std::int32_t> goes;  // [kinds][goes.size() / kinds]
    std::size_t kinds;
};

class LinearChain {
  public:
    // All arrays are copied; unary rows are padded to whole vectors. triple, first and last are null for order 1.
    LinearChain(const float* unary, std::int64_t F, std::int64_t Y, const float* start, const float* end,
                const float* pair, const float* triple, const float* first, const float* last);

    std::int64_t features() const { return F_; }
    std::int64_t labels() const { return Y_; }
    bool second_order() const { return second_; }

    void tag(const SentenceRows& x, std::size_t threads,
             std::span<std::int32_t> labels) const; // [tokens]

    // The k best of each sentence. Sentence n has its k rows of length T_n at k * sentences[n].
    void kbest(const SentenceRows& x, std::int64_t k, std::size_t threads,
               std::span<std::int32_t> labels,       // [k * tokens]
               std::span<double> scores,             // [N * k]
               std::span<std::int64_t> found) const; // [N] how many there are

    void marginals(const SentenceRows& x, std::size_t threads,
                   std::span<float> out,            // [tokens][Y]
                   std::span<double> log_z) const;  // [N]

    // The same with every score divided by a temperature; a sentence without a labelling has log_z = -inf and zeros.
    void marginals_at(const SentenceRows& x, float temperature, std::size_t threads,
                      std::span<float> out,            // [tokens][Y]
                      std::span<double> log_z) const;  // [N]

    // The labels of tag and the marginals of marginals_at, with the features looked up once.
    void decide(const SentenceRows& x, float temperature, std::size_t threads,
                std::span<std::int32_t> labels,  // [tokens]
                std::span<float> out,            // [tokens][Y]
                std::span<double> log_z) const;  // [N]

    // The probability of each span with exactly these bounds. Order 1 only.
    void span_probabilities(const SentenceRows& x, double temperature, const AskedSpans& spans,
                            const double* p, // [tokens][Y] marginals, or null: they are computed in double precision
                            std::size_t threads,
                            std::span<double> out) const; // [spans]

  private:
    // Weights divided by a temperature, and the potentials that look into them.
    struct Tempered {
        machine::AlignedVector<float> pair;
        std::vector<float> start, end, triple, first, last;
        structures::ChainPotentials<float> potentials;
    };
    // The marginals of one sentence, in a workspace.
    struct TemperedMarginals {
        structures::ChainMarginals<float> marginals;
        machine::AlignedVector<float> unary;
    };

    Tempered tempered(float temperature) const;
    double marginals_of(TemperedMarginals& workspace, const structures::ChainSentence<float>& sentence,
                        float temperature, float* rows) const;
    structures::ChainPotentials<float> potentials() const;
    void broken(const structures::ChainSentence<float>& x, std::int64_t blocked, std::int32_t* labels) const;

    std::int64_t F_, Y_, S_;
    bool second_;
    machine::AlignedVector<float> unary_; // [F][S]
    machine::AlignedVector<float> pair_;  // [Y][S]
    std::vector<float> start_, end_, triple_, first_, last_;
};

} // namespace chaffinch::scorers
