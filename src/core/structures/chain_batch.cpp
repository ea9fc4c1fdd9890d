#include "chain_batch.hpp"

#include "parallel.hpp"
#include "sentence_twos.hpp"
#include "stop.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace chaffinch::structures {

namespace {

constexpr std::int64_t most_blocks = 64;
constexpr std::int64_t together = 4; // sentences of a block, at least, if they go two by two

template <class Real> std::int64_t sentences(const ChainBatch<Real>& batch) {
    return static_cast<std::int64_t>(batch.bounds.size()) - 1;
}

template <class Real> std::size_t blocks(const ChainBatch<Real>& batch) {
    return static_cast<std::size_t>(std::min(sentences(batch), most_blocks));
}

// Rows of pairs before each sentence: T - 1 for each sentence that is not empty.
template <class Real> std::vector<std::int64_t> pair_bounds(const ChainBatch<Real>& batch) {
    std::vector<std::int64_t> at(batch.bounds.size(), 0);
    for (std::size_t n = 0; n + 1 < at.size(); ++n)
        at[n + 1] = at[n] + std::max<std::int64_t>(0, batch.bounds[n + 1] - batch.bounds[n] - 1);
    return at;
}

template <class Real>
ChainSentence<Real> sentence(const ChainBatch<Real>& batch, const std::vector<std::int64_t>& pair_at, std::int64_t n) {
    const std::int64_t at = batch.bounds[n], Y = batch.shared.Y;
    ChainSentence<Real> x{.unary = batch.unary + at * batch.stride, .T = batch.bounds[n + 1] - at, .stride = batch.stride};
    if (batch.allowed) x.allowed = batch.allowed + at * Y;
    if (batch.pairs) x.pairs = batch.pairs + pair_at[n] * Y * Y;
    return x;
}

// Makes one Machine per block and calls work(machine, block, from, to) -> Blocked for its sentences.
template <class Machine, class Real, class Work>
Blocked each_block(const ChainBatch<Real>& batch, std::size_t count, std::size_t threads, Work&& work) {
    const std::int64_t N = sentences(batch);
    std::vector<Blocked> blocked(count);
    machine::parallel_blocks(count, threads, [&](std::size_t block) {
        Machine machine;
        machine.prepare(batch.shared);
        const std::int64_t from = N * static_cast<std::int64_t>(block) / static_cast<std::int64_t>(count);
        const std::int64_t to = N * static_cast<std::int64_t>(block + 1) / static_cast<std::int64_t>(count);
        blocked[block] = work(machine, block, from, to);
    });
    const auto first = std::ranges::find_if(blocked, [](const Blocked& b) { return b.sentence >= 0; });
    return first == blocked.end() ? Blocked{} : *first;
}

// The same sentence by sentence: work(machine, block, n, sentence) -> Found for each that is not empty.
template <class Machine, class Real, class Work>
Blocked each_sentence(const ChainBatch<Real>& batch, std::size_t threads, Work&& work) {
    const std::vector<std::int64_t> pair_at = pair_bounds(batch);
    return each_block<Machine>(batch, blocks(batch), threads, [&](auto& machine, std::size_t block, std::int64_t from, std::int64_t to) {
        for (std::int64_t n = from; n < to; ++n) {
            machine::check_stop();
            const ChainSentence<Real> x = sentence(batch, pair_at, n);
            if (x.T == 0) continue;
            if (const Found found = work(machine, block, n, x); found.blocked >= 0) return Blocked{n, found.blocked};
        }
        return Blocked{};
    });
}

} // namespace

template <class Real>
Blocked viterbi_batch(const ChainBatch<Real>& batch, std::size_t threads, std::int32_t* labels, double* scores) {
    std::fill_n(scores, sentences(batch), 0.0);
    const std::vector<std::int64_t> pair_at = pair_bounds(batch);
    const std::int64_t count = std::min((sentences(batch) + together - 1) / together, most_blocks);
    return each_block<ChainViterbi<Real>>(
        batch, static_cast<std::size_t>(count), threads, [&](auto& viterbi, std::size_t, std::int64_t from, std::int64_t to) {
            Blocked first;
            const auto took = [&](std::int64_t n, const Found& found) {
                scores[n] = found.value;
                if (found.blocked >= 0 && (first.sentence < 0 || n < first.sentence)) first = {n, found.blocked};
            };
            in_twos(
                batch.bounds, from, to,
                [&](std::int64_t m, std::int64_t n) {
                    machine::check_stop();
                    Found found[2];
                    viterbi.two({sentence(batch, pair_at, m), sentence(batch, pair_at, n)},
                                {labels + batch.bounds[m], labels + batch.bounds[n]}, found);
                    took(m, found[0]), took(n, found[1]);
                },
                [&](std::int64_t n) { took(n, viterbi(sentence(batch, pair_at, n), labels + batch.bounds[n])); });
            return first;
        });
}

template <class Real>
Blocked kbest_batch(const ChainBatch<Real>& batch, std::int64_t k, std::size_t threads, std::int32_t* labels,
                    double* scores, std::int64_t* counts) {
    std::fill_n(counts, sentences(batch), 0);
    return each_sentence<ChainViterbi<Real>>(
        batch, threads, [&](auto& viterbi, std::size_t, std::int64_t n, const ChainSentence<Real>& x) {
            Found found;
            counts[n] = viterbi.best(x, k, labels + k * batch.bounds[n], scores + k * n, found.blocked);
            return found;
        });
}

template <class Real>
Blocked marginals_batch(const ChainBatch<Real>& batch, std::size_t threads, const ChainExpectations<Real>& out,
                        double* log_z) {
    const std::int64_t Y = batch.shared.Y;
    const std::size_t count = blocks(batch);
    const std::vector<std::int64_t> pair_at = pair_bounds(batch);
    const auto size = [&](const Real* wanted, std::int64_t n) { return wanted ? static_cast<std::size_t>(n) : 0; };
    struct Sums {
        std::vector<Real> pair, triple, first, last;
    };
    std::vector<Sums> sums(count);
    std::fill_n(log_z, sentences(batch), 0.0);
    const Blocked blocked = each_sentence<ChainMarginals<Real>>(
        batch, threads, [&](auto& marginals, std::size_t block, std::int64_t n, const ChainSentence<Real>& x) {
            Sums& s = sums[block];
            s.pair.resize(size(out.pair, Y * Y)), s.triple.resize(size(out.triple, Y * Y * Y));
            s.first.resize(size(out.first, Y * Y)), s.last.resize(size(out.last, Y * Y));
            const auto at = [](std::vector<Real>& v) { return v.empty() ? nullptr : v.data(); };
            ChainExpectations<Real> here{.unary = out.unary ? out.unary + batch.bounds[n] * out.unary_stride : nullptr,
                                         .unary_stride = out.unary_stride,
                                         .pair = at(s.pair),
                                         .pair_stride = Y,
                                         .pairs = out.pairs ? out.pairs + pair_at[n] * Y * Y : nullptr,
                                         .triple = at(s.triple),
                                         .first = at(s.first),
                                         .last = at(s.last)};
            const Found found = marginals(x, here);
            log_z[n] = found.value;
            return found;
        });
    const auto reduce = [](const std::vector<Real>& from, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                           Real* to) {
        if (from.empty()) return;
        for (std::int64_t a = 0; a < rows; ++a)
            for (std::int64_t b = 0; b < columns; ++b) to[a * stride + b] += from[a * columns + b];
    };
    for (const Sums& s : sums) {
        reduce(s.pair, Y, Y, out.pair_stride, out.pair);
        reduce(s.triple, Y, Y * Y, Y * Y, out.triple);
        reduce(s.first, Y, Y, Y, out.first);
        reduce(s.last, Y, Y, Y, out.last);
    }
    return blocked;
}

template <class Real> Blocked log_z_batch(const ChainBatch<Real>& batch, std::size_t threads, double* log_z) {
    std::fill_n(log_z, sentences(batch), 0.0);
    return each_sentence<ChainMarginals<Real>>(
        batch, threads, [&](auto& marginals, std::size_t, std::int64_t n, const ChainSentence<Real>& x) {
            const Found found = marginals.log_z(x);
            log_z[n] = found.value;
            return found;
        });
}

template <class Real> Blocked max_marginals_batch(const ChainBatch<Real>& batch, std::size_t threads, Real* out) {
    return each_sentence<ChainViterbi<Real>>(
        batch, threads, [&](auto& viterbi, std::size_t, std::int64_t n, const ChainSentence<Real>& x) {
            return viterbi.max_marginals(x, out + batch.bounds[n] * batch.shared.Y);
        });
}

template <class Real>
Blocked sample_batch(const ChainBatch<Real>& batch, std::int64_t n_samples, std::uint64_t seed, std::size_t threads,
                     std::int32_t* labels) {
    return each_sentence<ChainMarginals<Real>>(
        batch, threads, [&](auto& marginals, std::size_t, std::int64_t n, const ChainSentence<Real>& x) {
            machine::Random mixed(seed + static_cast<std::uint64_t>(n)); // each sentence draws from a stream of its own
            machine::Random random(mixed.next() ^ seed);
            return marginals.sample(x, n_samples, random, labels + n_samples * batch.bounds[n]);
        });
}

#define CHAFFINCH_CHAIN_BATCH(Real)                                                                              \
    template Blocked viterbi_batch(const ChainBatch<Real>&, std::size_t, std::int32_t*, double*);                \
    template Blocked kbest_batch(const ChainBatch<Real>&, std::int64_t, std::size_t, std::int32_t*, double*,     \
                                 std::int64_t*);                                                                 \
    template Blocked marginals_batch(const ChainBatch<Real>&, std::size_t, const ChainExpectations<Real>&,       \
                                     double*);                                                                   \
    template Blocked log_z_batch(const ChainBatch<Real>&, std::size_t, double*);                                 \
    template Blocked max_marginals_batch(const ChainBatch<Real>&, std::size_t, Real*);                           \
    template Blocked sample_batch(const ChainBatch<Real>&, std::int64_t, std::uint64_t, std::size_t, std::int32_t*);
CHAFFINCH_CHAIN_BATCH(float)
CHAFFINCH_CHAIN_BATCH(double)
#undef CHAFFINCH_CHAIN_BATCH

} // namespace chaffinch::structures
