#include "pruned_chain.hpp"

#include "parallel.hpp"
#include "stop.hpp"

#include <algorithm>
#include <limits>

namespace chaffinch::scorers {

namespace {

constexpr std::size_t sentences_per_block = 64;
constexpr float relaxed = 0.01f; // factor for a threshold that allows no labelling
constexpr float lowest = 1e-30f;

// Calls work(lattice, n) for every sentence with a token, rebuilding its lattice with each pruning until work returns
// true.
template <class Work>
void for_each_lattice(const SentenceRows& x, const structures::LatticeWeights& w, const structures::Pruning& pruning, std::size_t threads, Work&& work) {
    const std::size_t blocks = (x.size() + sentences_per_block - 1) / sentences_per_block;
    machine::parallel_blocks(blocks, threads, [&](std::size_t b) {
        structures::Lattice lattice;
        const std::size_t last = std::min(x.size(), (b + 1) * sentences_per_block);
        for (std::size_t n = b * sentences_per_block; n < last; ++n) {
            machine::check_stop();
            const auto from = static_cast<std::size_t>(x.sentences[n]);
            const auto T = static_cast<std::size_t>(x.sentences[n + 1]) - from;
            if (T == 0) continue;
            for (structures::Pruning tried = pruning;;) {
                lattice.build(w, x.ptr.subspan(from, T + 1), x.ids, tried, x.values);
                const bool all = tried.threshold <= lowest;
                if (work(lattice, n, all) || all) break;
                tried = {.threshold = tried.threshold * relaxed, .most = w.Y};
            }
        }
    });
}

} // namespace

structures::LatticeWeights PrunedChain::weights() const {
    return {.rows = {ptr_, labels_, weights_},
            .Y = labels(),
            .start = start_.data(),
            .end = end_.data(),
            .pair = pair_.data()};
}

void PrunedChain::kbest(const SentenceRows& x, std::int64_t k, std::size_t threads, std::span<std::int32_t> labels,
                        std::span<double> scores, std::span<std::int64_t> found) const {
    std::ranges::fill(found, 0);
    for_each_lattice(x, weights(), pruning_, threads, [&](structures::Lattice& lattice, std::size_t n, bool last) {
        std::int32_t* out = labels.data() + k * x.sentences[n];
        double* values = scores.data() + static_cast<std::int64_t>(n) * k;
        found[n] = lattice.best(k, out, values);
        if (found[n] == 0 && last) {
            for (std::int64_t t = 0; t < lattice.T(); ++t)
                out[t] = static_cast<std::int32_t>(std::max_element(lattice.own(t), lattice.own(t) + this->labels()) - lattice.own(t));
            values[0] = -std::numeric_limits<double>::infinity();
            found[n] = 1;
        }
        return found[n] > 0;
    });
}

void PrunedChain::marginals(const SentenceRows& x, std::size_t threads, std::span<float> out,
                            std::span<double> log_z) const {
    const std::int64_t Y = labels();
    std::ranges::fill(out, 0.0f);
    std::ranges::fill(log_z, 0.0);
    for_each_lattice(x, weights(), pruning_, threads, [&](structures::Lattice& lattice, std::size_t n, bool last) {
        log_z[n] = lattice.sum();
        const bool possible = log_z[n] > -std::numeric_limits<double>::infinity();
        for (std::int64_t t = 0; t < lattice.T() && (possible || last); ++t) {
            float* row = out.data() + (x.sentences[n] + t) * Y;
            const auto states = lattice.states(t);
            if (possible)
                for (std::size_t i = 0; i < states.size(); ++i)
                    row[states[i]] = static_cast<float>(lattice.node(t, static_cast<std::int64_t>(i)));
            else
                row[std::max_element(lattice.own(t), lattice.own(t) + Y) - lattice.own(t)] = 1;
        }
        return possible;
    });
}

std::int64_t PrunedChain::states(const SentenceRows& x, std::size_t threads) const {
    std::vector<std::int64_t> counts(x.size(), 0);
    for_each_lattice(x, weights(), pruning_, threads, [&](structures::Lattice& lattice, std::size_t n, bool) {
        for (std::int64_t t = 0; t < lattice.T(); ++t) counts[n] += static_cast<std::int64_t>(lattice.states(t).size());
        return true;
    });
    std::int64_t sum = 0;
    for (const std::int64_t c : counts) sum += c;
    return sum;
}

} // namespace chaffinch::scorers
