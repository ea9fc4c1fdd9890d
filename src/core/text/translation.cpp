#include "translation.hpp"

#include "parallel.hpp"
#include "transpose.hpp"

#include <algorithm>
#include <cmath>

namespace chaffinch::text {

namespace {

constexpr std::int64_t tokens_per_block = 2048;
constexpr std::int64_t words_per_block = 64;

std::size_t blocks_of(std::int64_t n, std::int64_t size) { return static_cast<std::size_t>((n + size - 1) / size); }

} // namespace

TranslationTable::TranslationTable(const SentencePairs& x, std::size_t threads) {
    const std::int64_t N = x.pairs(), tokens = static_cast<std::int64_t>(x.f.size());
    // Every pair of words that occur in one sentence pair: each e with its f, ascending.
    std::vector<std::vector<std::int32_t>> met(x.E + 1);
    std::vector<std::int32_t> once;
    for (std::int64_t n = 0; n < N; ++n) {
        const auto f = x.f.subspan(x.f_ptr[n], x.f_ptr[n + 1] - x.f_ptr[n]);
        once.assign(x.e.begin() + x.e_ptr[n], x.e.begin() + x.e_ptr[n + 1]);
        std::ranges::sort(once);
        once.erase(std::unique(once.begin(), once.end()), once.end());
        for (const std::int32_t e : once) met[e].insert(met[e].end(), f.begin(), f.end());
    }
    met[x.E].assign(x.f.begin(), x.f.end());
    machine::parallel_blocks(blocks_of(x.E + 1, words_per_block), threads, [&](std::size_t b) {
        const auto first = static_cast<std::int64_t>(b) * words_per_block;
        for (std::int64_t e = first; e < std::min(x.E + 1, first + words_per_block); ++e) {
            std::ranges::sort(met[e]);
            met[e].erase(std::unique(met[e].begin(), met[e].end()), met[e].end());
        }
    });
    rows_.assign(x.E + 2, 0);
    for (std::int64_t e = 0; e <= x.E; ++e) {
        rows_[e + 1] = rows_[e] + static_cast<std::int64_t>(met[e].size());
        columns_.insert(columns_.end(), met[e].begin(), met[e].end());
        met[e] = {};
    }
    token_ptr_.assign(tokens + 1, 0);
    token_pair_.resize(tokens);
    for (std::int64_t n = 0; n < N; ++n)
        for (std::int64_t j = x.f_ptr[n]; j < x.f_ptr[n + 1]; ++j) {
            token_ptr_[j + 1] = token_ptr_[j] + (x.e_ptr[n + 1] - x.e_ptr[n]) + 1;
            token_pair_[j] = static_cast<std::int32_t>(n);
        }
    token_cells_.resize(token_ptr_[tokens]);
    machine::parallel_blocks(blocks_of(tokens, tokens_per_block), threads, [&](std::size_t b) {
        const auto first = static_cast<std::int64_t>(b) * tokens_per_block;
        for (std::int64_t j = first; j < std::min(tokens, first + tokens_per_block); ++j) {
            const std::int64_t n = token_pair_[j];
            std::int64_t at = token_ptr_[j];
            for (std::int64_t i = x.e_ptr[n]; i < x.e_ptr[n + 1]; ++i) token_cells_[at++] = cell(x.e[i], x.f[j]);
            token_cells_[at] = cell(x.E, x.f[j]);
        }
    });
    cell_tokens_.resize(token_cells_.size());
    cell_ptr_ = machine::transpose(std::span<const std::int64_t>(token_ptr_), std::span<const std::int64_t>(token_cells_),
                                   static_cast<std::int64_t>(columns_.size()),
                                   [&](std::int64_t at, std::int64_t j, std::int64_t) { cell_tokens_[at] = j; });
    t_.assign(columns_.size(), 1.0);
}

double TranslationTable::train(std::int64_t rounds, std::size_t threads) {
    const auto tokens = static_cast<std::int64_t>(token_pair_.size());
    const auto E1 = static_cast<std::int64_t>(rows_.size()) - 1;
    std::vector<double> share(tokens); // 1 / sum_i t(f_j | e_i)
    std::vector<double> logs(blocks_of(tokens, tokens_per_block));
    for (std::int64_t e = 0; e < E1; ++e)
        for (std::int64_t c = rows_[e]; c < rows_[e + 1]; ++c) t_[c] = 1.0 / static_cast<double>(rows_[e + 1] - rows_[e]);
    for (std::int64_t round = 0; round < rounds; ++round) {
        machine::parallel_blocks(logs.size(), threads, [&](std::size_t b) {
            const auto first = static_cast<std::int64_t>(b) * tokens_per_block;
            double log = 0;
            for (std::int64_t j = first; j < std::min(tokens, first + tokens_per_block); ++j) {
                double sum = 0;
                for (std::int64_t k = token_ptr_[j]; k < token_ptr_[j + 1]; ++k) sum += t_[token_cells_[k]];
                share[j] = sum > 0 ? 1.0 / sum : 0.0;
                log += std::log(sum) - std::log(static_cast<double>(token_ptr_[j + 1] - token_ptr_[j]));
            }
            logs[b] = log;
        });
        machine::parallel_blocks(blocks_of(E1, words_per_block), threads, [&](std::size_t b) {
            const auto first = static_cast<std::int64_t>(b) * words_per_block;
            for (std::int64_t e = first; e < std::min(E1, first + words_per_block); ++e) {
                double total = 0;
                for (std::int64_t c = rows_[e]; c < rows_[e + 1]; ++c) {
                    double count = 0;
                    for (std::int64_t k = cell_ptr_[c]; k < cell_ptr_[c + 1]; ++k) count += share[cell_tokens_[k]];
                    total += t_[c] *= count;
                }
                for (std::int64_t c = rows_[e]; total > 0 && c < rows_[e + 1]; ++c) t_[c] /= total;
            }
        });
    }
    double total = 0;
    for (const double log : logs) total += log;
    return rounds > 0 ? total : 0.0;
}

std::vector<std::int32_t> TranslationTable::together() const {
    std::vector<std::int32_t> counts(columns_.size(), 0);
    for (std::size_t c = 0; c < counts.size(); ++c) {
        std::int32_t last = -1;
        for (std::int64_t k = cell_ptr_[c]; k < cell_ptr_[c + 1]; ++k) {
            const std::int32_t pair = token_pair_[cell_tokens_[k]];
            counts[c] += pair != last;
            last = pair;
        }
    }
    return counts;
}

std::int64_t TranslationTable::cell(std::int64_t e, std::int32_t f) const {
    const auto first = columns_.begin() + rows_[e], last = columns_.begin() + rows_[e + 1];
    return std::lower_bound(first, last, f) - columns_.begin();
}

void look_up(std::span<const std::int64_t> rows, std::span<const std::int32_t> columns, std::span<const float> table,
             std::span<const std::int32_t> e, std::span<const std::int32_t> f, float missing, std::span<float> out) {
    for (std::size_t i = 0; i < e.size(); ++i)
        for (std::size_t j = 0; j < f.size(); ++j) {
            float& here = out[i * f.size() + j];
            here = missing;
            if (e[i] < 0 || f[j] < 0) continue;
            const auto first = columns.begin() + rows[e[i]], last = columns.begin() + rows[e[i] + 1];
            const auto at = std::lower_bound(first, last, f[j]);
            if (at != last && *at == f[j]) here = table[at - columns.begin()];
        }
}

} // namespace chaffinch::text
