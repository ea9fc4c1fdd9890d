#include "ordered_viterbi.hpp"

#include "clones.hpp"
#include "exp.hpp"
#include "parallel.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace chaffinch::search {

namespace {

constexpr std::int64_t block_tokens = 1024;

// One step: best [Y] becomes that of the next token, back [Y] the labels it comes from.
template <Addition how>
CHAFFINCH_INLINE void step(const double* __restrict old, const double* __restrict pair, const double* __restrict unary,
                           std::int64_t Y, double* __restrict best, std::int32_t* __restrict back) {
    std::fill(best, best + Y, -std::numeric_limits<double>::infinity());
    std::fill(back, back + Y, 0);
    for (std::int64_t a = 0; a < Y; ++a) {
        const double before = old[a];
        const double* __restrict row = pair + a * Y;
        for (std::int64_t y = 0; y < Y; ++y) {
            double score;
            if constexpr (how == Addition::after) score = before + row[y];
            if constexpr (how == Addition::each) score = (before + row[y]) + unary[y];
            if constexpr (how == Addition::joined) score = before + (unary[y] + row[y]);
            const bool better = score > best[y];
            best[y] = better ? score : best[y];
            back[y] = better ? static_cast<std::int32_t>(a) : back[y];
        }
    }
    if constexpr (how == Addition::after)
        for (std::int64_t y = 0; y < Y; ++y) best[y] += unary[y];
}

CHAFFINCH_HOT void any_step(Addition how, const double* old, const double* pair, const double* unary, std::int64_t Y,
                            double* best, std::int32_t* back) {
    switch (how) {
    case Addition::after: return step<Addition::after>(old, pair, unary, Y, best, back);
    case Addition::each: return step<Addition::each>(old, pair, unary, Y, best, back);
    case Addition::joined: return step<Addition::joined>(old, pair, unary, Y, best, back);
    }
}

} // namespace

template <class Weight>
void ordered_viterbi(const scorers::OrderedSums<Weight>& unary, const scorers::OrderedSums<Weight>* pairs,
                     std::span<const double> pair, Addition addition, const OrderedInput& x, std::size_t threads,
                     std::int32_t* labels) {
    const std::int64_t Y = unary.C(), N = static_cast<std::int64_t>(x.sentences.size()) - 1;
    std::vector<std::int64_t> blocks{0};
    for (std::int64_t n = 1; n <= N; ++n)
        if (n == N || x.sentences[n] - x.sentences[blocks.back()] >= block_tokens) blocks.push_back(n);
    machine::parallel_blocks(blocks.size() - 1, threads, [&](std::size_t b) {
        std::vector<double> scores, moved(pairs ? static_cast<std::size_t>(Y * Y) : 0), old(Y), best(Y);
        std::vector<std::int32_t> back;
        std::vector<Weight> row;
        for (std::int64_t n = blocks[b]; n < blocks[b + 1]; ++n) {
            machine::check_stop();
            const std::int64_t first = x.sentences[n], T = x.sentences[n + 1] - first;
            if (T == 0) continue;
            scores.resize(static_cast<std::size_t>(T * Y));
            back.resize(static_cast<std::size_t>(T * Y));
            for (std::int64_t t = 0; t < T; ++t) unary.add(x.ptr, x.ids, x.values, first + t, row, scores.data() + t * Y);
            std::copy_n(scores.begin(), Y, best.begin());
            for (std::int64_t t = 1; t < T; ++t) {
                std::swap(old, best);
                const double* moves = pair.data();
                if (pairs) {
                    pairs->add(x.pair_ptr, x.pair_ids, {}, first + t, row, moved.data());
                    for (std::int64_t c = 0; c < Y * Y; ++c) moved[c] += pair[c];
                    moves = moved.data();
                }
                any_step(addition, old.data(), moves, scores.data() + t * Y, Y, best.data(), back.data() + t * Y);
            }
            std::int32_t y = static_cast<std::int32_t>(std::ranges::max_element(best) - best.begin());
            for (std::int64_t t = T - 1;; --t) {
                labels[first + t] = y;
                if (t == 0) break;
                y = back[t * Y + y];
            }
        }
    });
}

template void ordered_viterbi(const scorers::OrderedSums<float>&, const scorers::OrderedSums<float>*, std::span<const double>,
                              Addition, const OrderedInput&, std::size_t, std::int32_t*);
template void ordered_viterbi(const scorers::OrderedSums<double>&, const scorers::OrderedSums<double>*,
                              std::span<const double>, Addition, const OrderedInput&, std::size_t, std::int32_t*);

} // namespace chaffinch::search
