#include "linear_chain.hpp"

#include "chain_conditionals.hpp"
#include "parallel.hpp"
#include "score.hpp"
#include "sentence_twos.hpp"
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

template <class Work> void for_each_block(const SentenceRows& x, std::size_t threads, Work&& work) {
    const std::size_t blocks = (x.size() + sentences_per_block - 1) / sentences_per_block;
    machine::parallel_blocks(blocks, threads, [&](std::size_t b) {
        work(b * sentences_per_block, std::min(x.size(), (b + 1) * sentences_per_block));
    });
}

// Sentence n with its scores, which lie in `room`.
structures::ChainSentence<float> scored(const SentenceRows& x, const machine::AlignedVector<float>& w, std::int64_t S,
                                        std::size_t n, machine::AlignedVector<float>& room) {
    machine::check_stop();
    const std::int64_t from = x.sentences[n], T = x.sentences[n + 1] - from;
    float* unary = machine::room(room, T * S);
    score_rows(x.ptr.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(T + 1)), x.ids, w.data(), S, unary,
               x.values);
    return {.unary = unary, .T = T, .stride = S};
}

// Calls work(n, unary scores, T) for every sentence with a token; `make` gives each block its own workspace.
template <class Make, class Work>
void for_each_sentence(const SentenceRows& x, const machine::AlignedVector<float>& w, std::int64_t S, std::size_t threads,
                       Make&& make, Work&& work) {
    for_each_block(x, threads, [&](std::size_t first, std::size_t last) {
        auto workspace = make();
        machine::AlignedVector<float> scores;
        for (std::size_t n = first; n < last; ++n) {
            if (x.sentences[n + 1] == x.sentences[n]) continue;
            work(workspace, n, scored(x, w, S, n, scores));
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
    for_each_block(x, threads, [&](std::size_t first, std::size_t last) {
        structures::ChainViterbi<float> viterbi;
        viterbi.prepare(potentials());
        machine::AlignedVector<float> room[2];
        const auto scores = [&](std::int64_t n, std::size_t k) {
            return scored(x, unary_, S_, static_cast<std::size_t>(n), room[k]);
        };
        const auto took = [&](const structures::ChainSentence<float>& sentence, const structures::Found& best, std::int32_t* out) {
            if (best.blocked >= 0) broken(sentence, best.blocked, out);
        };
        const auto two = [&](std::int64_t m, std::int64_t n) {
            const structures::ChainSentence<float> sentences[] = {scores(m, 0), scores(n, 1)};
            std::int32_t* const out[] = {labels.data() + x.sentences[m], labels.data() + x.sentences[n]};
            structures::Found best[2];
            viterbi.two(sentences, out, best);
            for (std::size_t k = 0; k < 2; ++k) took(sentences[k], best[k], out[k]);
        };
        const auto one = [&](std::int64_t n) {
            const structures::ChainSentence<float> sentence = scores(n, 0);
            std::int32_t* const out = labels.data() + x.sentences[n];
            took(sentence, viterbi(sentence, out), out);
        };
        structures::in_twos(x.sentences, static_cast<std::int64_t>(first), static_cast<std::int64_t>(last), two, one);
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

LinearChain::Tempered LinearChain::tempered(float temperature) const {
    const auto divided = [temperature](auto values) {
        for (float& value : values) value /= temperature;
        return values;
    };
    Tempered made{divided(pair_), divided(start_), divided(end_), divided(triple_), divided(first_), divided(last_), potentials()};
    structures::ChainPotentials<float>& p = made.potentials;
    p.pair = made.pair.data();
    p.start = made.start.data();
    p.end = made.end.data();
    if (second_) {
        p.triple = made.triple.data();
        p.first = made.first.data();
        p.last = made.last.data();
    }
    return made;
}

double LinearChain::marginals_of(TemperedMarginals& workspace, const structures::ChainSentence<float>& sentence,
                                 float temperature, float* rows) const {
    float* unary = machine::room(workspace.unary, sentence.T * S_);
    for (std::int64_t i = 0; i < sentence.T * S_; ++i) unary[i] = sentence.unary[i] / temperature;
    structures::ChainSentence<float> scaled = sentence;
    scaled.unary = unary;
    const structures::Found z = workspace.marginals(scaled, {.unary = rows, .unary_stride = Y_});
    if (z.blocked < 0) return z.value;
    std::fill_n(rows, sentence.T * Y_, 0.0f);
    return -std::numeric_limits<double>::infinity();
}

void LinearChain::marginals_at(const SentenceRows& x, float temperature, std::size_t threads, std::span<float> out,
                               std::span<double> log_z) const {
    const Tempered weights = tempered(temperature);
    const auto make = [&] {
        TemperedMarginals workspace;
        workspace.marginals.prepare(weights.potentials);
        return workspace;
    };
    std::ranges::fill(log_z, 0.0);
    for_each_sentence(x, unary_, S_, threads, make,
                      [&](TemperedMarginals& workspace, std::size_t n, const structures::ChainSentence<float>& sentence) {
                          log_z[n] = marginals_of(workspace, sentence, temperature, out.data() + x.sentences[n] * Y_);
                      });
}

void LinearChain::decide(const SentenceRows& x, float temperature, std::size_t threads, std::span<std::int32_t> labels,
                         std::span<float> out, std::span<double> log_z) const {
    const Tempered weights = tempered(temperature);
    const auto make = [&] {
        std::pair<structures::ChainViterbi<float>, TemperedMarginals> workspace;
        workspace.first.prepare(potentials());
        workspace.second.marginals.prepare(weights.potentials);
        return workspace;
    };
    std::ranges::fill(log_z, 0.0);
    for_each_sentence(x, unary_, S_, threads, make,
                      [&](auto& workspace, std::size_t n, const structures::ChainSentence<float>& sentence) {
                          std::int32_t* best = labels.data() + x.sentences[n];
                          const structures::Found found = workspace.first(sentence, best);
                          if (found.blocked >= 0) broken(sentence, found.blocked, best);
                          log_z[n] = marginals_of(workspace.second, sentence, temperature,
                                                  out.data() + x.sentences[n] * Y_);
                      });
}

void LinearChain::span_probabilities(const SentenceRows& x, double temperature, const AskedSpans& spans, const double* p,
                                     std::size_t threads, std::span<double> out) const {
    using Workspace = std::pair<structures::ChainConditionals, std::vector<double>>;
    const structures::ChainConditionals conditionals(pair_.data(), S_, start_.data(), end_.data(), Y_, temperature);
    const auto make = [&] { return Workspace(conditionals, {}); };
    const std::size_t opens = spans.opens.size() / std::max<std::size_t>(spans.kinds, 1);
    const std::size_t goes = spans.goes.size() / std::max<std::size_t>(spans.kinds, 1);
    for_each_sentence(x, unary_, S_, threads, make,
                      [&](Workspace& workspace, std::size_t n, const structures::ChainSentence<float>& sentence) {
                          if (spans.ptr[n] == spans.ptr[n + 1]) return;
                          auto& [chain, room] = workspace;
                          chain.prepare(sentence.unary, sentence.T, sentence.stride);
                          const double* own = p == nullptr ? nullptr : p + x.sentences[n] * Y_;
                          if (own == nullptr) {
                              room.resize(static_cast<std::size_t>(sentence.T * Y_));
                              chain.marginals(room.data());
                              own = room.data();
                          }
                          for (std::int64_t s = spans.ptr[n]; s < spans.ptr[n + 1]; ++s) {
                              const auto kind = static_cast<std::size_t>(spans.kind[s]);
                              out[s] = chain.span(own + spans.begin[s] * Y_, spans.begin[s], spans.end[s],
                                                  spans.opens.subspan(kind * opens, opens),
                                                  spans.goes.subspan(kind * goes, goes));
                          }
                      });
}

// Positions from `blocked` on get label 0; the positions before it get the best path into it, or one more label 0.
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
