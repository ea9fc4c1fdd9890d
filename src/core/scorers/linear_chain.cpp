#include "linear_chain.hpp"

#include "parallel.hpp"
#include "score.hpp"
#include "stop.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace chaffinch::scorers {

namespace {

constexpr std::size_t sentences_per_block = 64;

machine::AlignedVector<float> padded_rows(const float* rows, std::int64_t n, std::int64_t Y, std::int64_t S) {
    machine::AlignedVector<float> out(static_cast<std::size_t>(n * S), 0.0f);
    for (std::int64_t i = 0; i < n; ++i) std::copy_n(rows + i * Y, Y, out.data() + i * S);
    return out;
}

std::vector<float> copied(const float* values, std::int64_t n) {
    return values == nullptr ? std::vector<float>() : std::vector<float>(values, values + n);
}

// Calls work(n, unary scores, T) for every sentence with a token; `make` gives each block its own workspace.
template <class Make, class Work>
void for_each_sentence(const SentenceRows& x, const machine::AlignedVector<float>& w, std::int64_t S, std::size_t threads,
                       Make&& make, Work&& work) {
    const std::size_t blocks = (x.size() + sentences_per_block - 1) / sentences_per_block;
    machine::parallel_blocks(blocks, threads, [&](std::size_t b) {
        auto workspace = make();
        machine::AlignedVector<float> scores;
        const std::size_t last = std::min(x.size(), (b + 1) * sentences_per_block);
        for (std::size_t n = b * sentences_per_block; n < last; ++n) {
            machine::check_stop();
            const std::int64_t from = x.sentences[n];
            const std::int64_t T = x.sentences[n + 1] - from;
            if (T == 0) continue;
            float* unary = machine::room(scores, T * S);
            score_rows(x.ptr.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(T + 1)), x.ids,
                       w.data(), S, unary, x.values);
            work(workspace, n, structures::ChainSentence<float>{.unary = unary, .T = T, .stride = S});
        }
    });
}

} // namespace

LinearChain::LinearChain(const float* unary, std::int64_t F, std::int64_t Y, const float* start, const float* end,
                         const float* pair, const float* triple, const float* first, const float* last)
    : F_(F), Y_(Y), S_(machine::padded(Y)), second_(triple != nullptr), unary_(padded_rows(unary, F, Y, S_)),
      pair_(padded_rows(pair, Y, Y, S_)), start_(copied(start, Y)), end_(copied(end, Y)),
      triple_(copied(triple, Y * Y * Y)), first_(copied(first, Y * Y)), last_(copied(last, Y * Y)) {}

structures::ChainPotentials<float> LinearChain::potentials() const {
    structures::ChainPotentials<float> p{.Y = Y_, .order = second_ ? 2 : 1, .pair = pair_.data(), .pair_stride = S_};
    p.start = start_.data();
    p.end = end_.data();
    if (second_) {
        p.triple = triple_.data();
        p.first = first_.data();
        p.last = last_.data();
    }
    return p;
}

void LinearChain::tag(const SentenceRows& x, std::size_t threads, std::span<std::int32_t> labels) const {
    const auto make = [&] {
        structures::ChainViterbi<float> viterbi;
        viterbi.prepare(potentials());
        return viterbi;
    };
    for_each_sentence(x, unary_, S_, threads, make,
                      [&](structures::ChainViterbi<float>& viterbi, std::size_t n, const structures::ChainSentence<float>& sentence) {
                          std::int32_t* out = labels.data() + x.sentences[n];
                          const structures::Found best = viterbi(sentence, out);
                          if (best.blocked >= 0) broken(sentence, best.blocked, out);
                      });
}

void LinearChain::kbest(const SentenceRows& x, std::int64_t k, std::size_t threads, std::span<std::int32_t> labels,
                        std::span<double> scores, std::span<std::int64_t> found) const {
    const auto make = [&] {
        structures::ChainViterbi<float> viterbi;
        viterbi.prepare(potentials());
        return viterbi;
    };
    std::ranges::fill(found, 0);
    for_each_sentence(x, unary_, S_, threads, make,
                      [&](structures::ChainViterbi<float>& viterbi, std::size_t n, const structures::ChainSentence<float>& sentence) {
                          std::int32_t* out = labels.data() + k * x.sentences[n];
                          double* values = scores.data() + static_cast<std::int64_t>(n) * k;
                          std::int64_t blocked = -1;
                          found[n] = viterbi.best(sentence, k, out, values, blocked);
                          if (blocked >= 0) {
                              broken(sentence, blocked, out);
                              values[0] = -std::numeric_limits<double>::infinity();
                              found[n] = 1;
                          }
                      });
}

void LinearChain::marginals(const SentenceRows& x, std::size_t threads, std::span<float> out,
                            std::span<double> log_z) const {
    const auto make = [&] {
        structures::ChainMarginals<float> marginals;
        marginals.prepare(potentials());
        return marginals;
    };
    std::ranges::fill(log_z, 0.0);
    for_each_sentence(x, unary_, S_, threads, make,
                      [&](structures::ChainMarginals<float>& marginals, std::size_t n, const structures::ChainSentence<float>& sentence) {
                          float* rows = out.data() + x.sentences[n] * Y_;
                          const structures::Found z = marginals(sentence, {.unary = rows, .unary_stride = Y_});
                          log_z[n] = z.value;
                          if (z.blocked >= 0) {
                              std::vector<std::int32_t> labels(static_cast<std::size_t>(sentence.T));
                              broken(sentence, z.blocked, labels.data());
                              std::fill_n(rows, sentence.T * Y_, 0.0f);
                              for (std::int64_t t = 0; t < sentence.T; ++t) rows[t * Y_ + labels[t]] = 1.0f;
                              log_z[n] = -std::numeric_limits<double>::infinity();
                          }
                      });
}

void LinearChain::marginals_at(const SentenceRows& x, float temperature, std::size_t threads, std::span<float> out,
                               std::span<double> log_z) const {
    const auto divided = [temperature](auto values) {
        for (float& value : values) value /= temperature;
        return values;
    };
    const auto pair = divided(pair_);
    const auto start = divided(start_), end = divided(end_), triple = divided(triple_), first = divided(first_),
               last = divided(last_);
    structures::ChainPotentials<float> p = potentials();
    p.pair = pair.data();
    p.start = start.data();
    p.end = end.data();
    if (second_) {
        p.triple = triple.data();
        p.first = first.data();
        p.last = last.data();
    }
    const auto make = [&] {
        std::pair<structures::ChainMarginals<float>, machine::AlignedVector<float>> workspace;
        workspace.first.prepare(p);
        return workspace;
    };
    std::ranges::fill(log_z, 0.0);
    for_each_sentence(x, unary_, S_, threads, make,
                      [&](auto& workspace, std::size_t n, const structures::ChainSentence<float>& sentence) {
                          float* rows = out.data() + x.sentences[n] * Y_;
                          float* unary = machine::room(workspace.second, sentence.T * S_);
                          for (std::int64_t i = 0; i < sentence.T * S_; ++i) unary[i] = sentence.unary[i] / temperature;
                          structures::ChainSentence<float> scaled = sentence;
                          scaled.unary = unary;
                          const structures::Found z = workspace.first(scaled, {.unary = rows, .unary_stride = Y_});
                          log_z[n] = z.value;
                          if (z.blocked >= 0) {
                              std::fill_n(rows, sentence.T * Y_, 0.0f);
                              log_z[n] = -std::numeric_limits<double>::infinity();
                          }
                      });
}

// Positions from `blocked` on get label 0; the rest is the best way into it, or else one label 0 more.
void LinearChain::broken(const structures::ChainSentence<float>& x, std::int64_t blocked, std::int32_t* labels) const {
    std::int64_t p = std::min(blocked, x.T - 1);
    std::fill(labels + p, labels + x.T, 0);
    structures::ChainPotentials<float> into = potentials();
    into.last = nullptr;
    std::vector<float> to_first(static_cast<std::size_t>(Y_));
    for (std::int64_t y = 0; y < Y_; ++y) to_first[y] = second_ ? 0.0f : pair_[y * S_];
    into.end = to_first.data();
    structures::ChainViterbi<float> viterbi;
    viterbi.prepare(into);
    for (; p > 0; --p) {
        structures::ChainSentence<float> beginning = x;
        beginning.T = p;
        if (viterbi(beginning, labels).blocked < 0) return;
        labels[p - 1] = 0;
    }
}

} // namespace chaffinch::scorers
