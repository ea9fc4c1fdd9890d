#include "ordered_greedy.hpp"

#include "parallel.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace chaffinch::search {

namespace {

constexpr std::int64_t block_tokens = 1024;

} // namespace

void ordered_greedy(const scorers::OrderedSums<double>& weights, const GreedyContext& c, const GreedyInput& x,
                    std::size_t threads, std::int32_t* labels, double* scores) {
    const std::int64_t Y = weights.C(), N = static_cast<std::int64_t>(x.sentences.size()) - 1, S = c.slots;
    std::vector<std::int64_t> blocks{0};
    for (std::int64_t n = 1; n <= N; ++n)
        if (n == N || x.sentences[n] - x.sentences[blocks.back()] >= block_tokens) blocks.push_back(n);
    machine::parallel_blocks(blocks.size() - 1, threads, [&](std::size_t b) {
        std::vector<double> sums, row(static_cast<std::size_t>(Y));
        std::vector<std::int32_t> slots(static_cast<std::size_t>(S)), ids;
        for (std::int64_t n = blocks[b]; n < blocks[b + 1]; ++n) {
            machine::check_stop();
            std::int64_t before = Y, before2 = Y + 1;
            for (std::int64_t t = x.sentences[n]; t < x.sentences[n + 1]; ++t) {
                std::int32_t y = x.known[t];
                if (y >= 0) {
                    if (scores) std::fill_n(scores + t * Y, Y, 0.0);
                } else {
                    std::copy_n(x.fixed.begin() + t * S, S, slots.begin());
                    slots[c.before] = c.of_before[before];
                    slots[c.before2] = c.of_before2[before2];
                    slots[c.both] = c.of_both[before * (Y + 2) + before2];
                    slots[c.with_word] = -1;
                    if (const std::int32_t w = x.words[t]; w >= 0)
                        for (std::int64_t k = c.word_ptr[w]; k < c.word_ptr[w + 1]; ++k)
                            if (c.word_labels[k] == before) slots[c.with_word] = c.word_features[k];
                    ids.clear();
                    std::ranges::copy_if(slots, std::back_inserter(ids), [](std::int32_t f) { return f >= 0; });
                    const std::array<std::int64_t, 2> ptr{0, static_cast<std::int64_t>(ids.size())};
                    weights.add(ptr, ids, {}, 0, sums, row.data());
                    y = -1;
                    for (std::int32_t k = 0; k < Y; ++k)
                        if (c.allowed[k] && (y < 0 || row[k] >= row[y])) y = k;
                    if (scores) std::ranges::copy(row, scores + t * Y);
                }
                labels[t] = y;
                before2 = before, before = y;
            }
        }
    });
}

} // namespace chaffinch::search
