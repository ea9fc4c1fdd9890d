#include "crf_objective.hpp"

#include "clones.hpp"
#include "exp.hpp"
#include "parallel.hpp"
#include "stop.hpp"
#include "transpose.hpp"

#include <algorithm>

namespace chaffinch::learners {

namespace {

constexpr std::int64_t features_per_block = 2048;

// The factor of the rows of delta: 1, the value of the feature there, or its square.
enum class Power { none, value, square };

// out[0 .. P lanes) = the sum of the rows of delta at n tokens, their first P packs, in registers.
template <Power power, std::int64_t P, class Real>
CHAFFINCH_INLINE void sum_packs(const std::int32_t* tokens, [[maybe_unused]] const float* values, std::int64_t n,
                                const Real* delta, std::int64_t S, Real* out) {
    constexpr std::int64_t ahead = 8;
    machine::Pack<Real> sum[P] = {}, part;
    for (std::int64_t k = 0; k < n; ++k) {
        if (k + ahead < n) __builtin_prefetch(delta + tokens[k + ahead] * S);
        const Real* row = delta + tokens[k] * S;
        for (std::int64_t p = 0; p < P; ++p) {
            machine::get<Real>(part, row + p * machine::lanes);
            if constexpr (power != Power::none) {
                const Real v = static_cast<Real>(values[k]);
                part *= power == Power::square ? v * v : v;
            }
            sum[p] += part;
        }
    }
    for (std::int64_t p = 0; p < P; ++p) machine::put<Real>(out + p * machine::lanes, sum[p]);
}

// out = the sum of the rows of delta at n tokens. S: whole packs.
template <Power power, class Real>
CHAFFINCH_INLINE void sum_rows(const std::int32_t* tokens, const float* values, std::int64_t n, const Real* delta,
                               std::int64_t S, Real* out) {
    constexpr std::int64_t most = 4;
    std::int64_t y = 0;
    for (; y + most * machine::lanes <= S; y += most * machine::lanes)
        sum_packs<power, most>(tokens, values, n, delta + y, S, out + y);
    switch ((S - y) / machine::lanes) {
    case 1: sum_packs<power, 1>(tokens, values, n, delta + y, S, out + y); break;
    case 2: sum_packs<power, 2>(tokens, values, n, delta + y, S, out + y); break;
    case 3: sum_packs<power, 3>(tokens, values, n, delta + y, S, out + y); break;
    default: break;
    }
}

// The rows of features from .. to. A long sum is made of short runs in the storage type, added up in double.
template <Power power, class Real>
CHAFFINCH_INLINE void gather_rows(const FeatureTokens& index, std::int64_t from, std::int64_t to, const Real* delta,
                                  std::int64_t S, Real* run, double* total, Real* out) {
    constexpr std::int64_t longest = 256;
    for (std::int64_t f = from; f < to; ++f) {
        const std::int32_t* tokens = index.tokens.data() + index.ptr[f];
        const float* values = power == Power::none ? nullptr : index.values.data() + index.ptr[f];
        const std::int64_t n = index.ptr[f + 1] - index.ptr[f];
        Real* row = out + f * S;
        if (n <= longest) {
            sum_rows<power>(tokens, values, n, delta, S, row);
            continue;
        }
        std::fill_n(total, S, 0.0);
        for (std::int64_t k = 0; k < n; k += longest) {
            sum_rows<power>(tokens + k, power == Power::none ? nullptr : values + k, std::min(longest, n - k), delta, S, run);
            for (std::int64_t y = 0; y < S; ++y) total[y] += static_cast<double>(run[y]);
        }
        for (std::int64_t y = 0; y < S; ++y) row[y] = static_cast<Real>(total[y]);
    }
}

// Sentence bounds of blocks with about as many tokens each. How many depends on sizes alone, never on threads.
std::vector<std::int64_t> even_blocks(const CrfData& data, std::int64_t bytes_each) {
    constexpr std::int64_t most_bytes = 64 << 20, most_blocks = 32;
    const std::int64_t N = data.N(), T = data.T();
    const std::int64_t n = std::clamp<std::int64_t>(most_bytes / std::max<std::int64_t>(bytes_each, 1), 1, most_blocks);
    std::vector<std::int64_t> bounds{0};
    for (std::int64_t s = 0; s < N; ++s)
        if (data.sentences[s + 1] * n >= T * static_cast<std::int64_t>(bounds.size())) bounds.push_back(s + 1);
    if (bounds.back() != N) bounds.push_back(N);
    return bounds;
}

} // namespace

// Plain functions, so that each can be cloned for the machine's vectors. squared: square the values, if there are any.
CHAFFINCH_HOT void gather_block(const FeatureTokens& index, std::int64_t from, std::int64_t to, const float* delta,
                                std::int64_t S, bool squared, float* run, double* total, float* out) {
    if (index.values.empty())
        gather_rows<Power::none>(index, from, to, delta, S, run, total, out);
    else if (squared)
        gather_rows<Power::square>(index, from, to, delta, S, run, total, out);
    else
        gather_rows<Power::value>(index, from, to, delta, S, run, total, out);
}
void gather_block(const FeatureTokens& index, std::int64_t from, std::int64_t to, const double* delta, std::int64_t S,
                  bool squared, double* run, double* total, double* out) {
    if (index.values.empty())
        gather_rows<Power::none>(index, from, to, delta, S, run, total, out);
    else if (squared)
        gather_rows<Power::square>(index, from, to, delta, S, run, total, out);
    else
        gather_rows<Power::value>(index, from, to, delta, S, run, total, out);
}

FeatureTokens transposed(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, std::int64_t F,
                         const float* values) {
    FeatureTokens made;
    made.tokens.resize(ids.size());
    if (values) made.values.resize(ids.size());
    made.ptr = machine::transpose(ptr, ids, F, [&](std::int64_t at, std::int64_t t, std::int64_t k) {
        made.tokens[at] = static_cast<std::int32_t>(t);
        if (values) made.values[at] = values[k];
    });
    return made;
}

template <class Real>
CrfObjective<Real>::CrfObjective(const CrfShape& shape, const CrfData& data, double c2, const std::uint8_t* trainable,
                                 std::size_t threads)
    : shape_(shape), data_(data), c2_(c2), trainable_(trainable), threads_(threads),
      index_(transposed(data.ptr, data.ids, shape.F, data.values)),
      blocks_(even_blocks(data, (shape.size() - shape.pair()) * static_cast<std::int64_t>(sizeof(double)))) {
    machine::room(delta_, data.T() * shape.S());
}

template <class Real> double CrfObjective<Real>::operator()(const Real* w, Real* gradient) {
    double value = sweep(w, gradient, Want::gradient);
    const auto c2 = static_cast<Real>(2 * c2_);
    for (std::int64_t k = 0; k < shape_.size(); ++k) {
        if (trainable_ && !trainable_[k]) {
            gradient[k] = 0;
            continue;
        }
        value += c2_ * static_cast<double>(w[k]) * static_cast<double>(w[k]);
        gradient[k] += c2 * w[k];
    }
    return value;
}

template <class Real> void CrfObjective<Real>::fisher(const Real* w, Real* diagonal) {
    sweep(w, diagonal, Want::fisher);
}

template <class Real> double CrfObjective<Real>::sweep(const Real* w, Real* out, Want want) {
    const std::int64_t S = shape_.S(), Y = shape_.Y, tail = shape_.size() - shape_.pair();
    const std::size_t B = blocks_.size() - 1;
    std::vector<std::vector<double>> tails(B);
    std::vector<double> losses(B, 0.0);
    machine::parallel_blocks(B, threads_, [&](std::size_t b) {
        CrfOracle<Real> oracle(shape_, data_);
        oracle.weigh(w);
        CrfParts<Real> expected, gold;
        std::vector<double>& behind = tails[b];
        behind.assign(static_cast<std::size_t>(tail), 0.0);
        for (std::int64_t n = blocks_[b]; n < blocks_[b + 1]; ++n) {
            machine::check_stop();
            const std::int64_t T = data_.length(n), begin = data_.begin(n);
            if (T == 0) continue;
            const auto k_n = static_cast<Real>(data_.importance(n));
            oracle.score(n);
            losses[b] += static_cast<double>(k_n) * (oracle.log_z(&expected) - oracle.gold(&gold));
            // The contribution of one part: its excess over gold, or the variance of its indicator; a count over the
            // whole sentence is treated as a Poisson variable.
            const auto part = [&](Real p, Real g) { return want == Want::gradient ? k_n * (p - g) : k_n * p * (1 - p); };
            const auto count = [&](Real p, Real g) { return want == Want::gradient ? k_n * (p - g) : k_n * p; };
            Real* delta = delta_.data() + begin * S;
            for (std::int64_t k = 0; k < T * S; ++k) delta[k] = part(expected.nodes[k], gold.nodes[k]);
            for (std::int64_t k = 0; k < shape_.chain_size(); ++k)
                behind[k] += static_cast<double>(count(expected.chain[k], gold.chain[k]));
            const auto L = static_cast<std::int64_t>(shape_.observations.size());
            for (std::int64_t t = 1; t < T; ++t)
                for (std::int64_t l = 0; l < L; ++l) {
                    const std::int64_t o = data_.observed[(begin + t) * L + l];
                    if (o < 0) continue;
                    double* row = behind.data() + (shape_.bigrams(static_cast<std::size_t>(l)) - shape_.pair()) +
                                  o * shape_.bigram_stride();
                    const std::int64_t at = (t - 1) * Y * Y;
                    for (std::int64_t k = 0; k < Y * Y; ++k)
                        row[k] += static_cast<double>(part(expected.bigrams[at + k], gold.bigrams[at + k]));
                }
        }
    });
    std::fill_n(out + shape_.pair(), tail, Real(0));
    double value = 0;
    for (std::size_t b = 0; b < B; ++b) {
        value += losses[b];
        for (std::int64_t k = 0; k < tail; ++k) out[shape_.pair() + k] += static_cast<Real>(tails[b][k]);
    }
    const auto ranges = static_cast<std::size_t>((shape_.F + features_per_block - 1) / features_per_block);
    machine::parallel_blocks(ranges, threads_, [&](std::size_t r) {
        machine::AlignedVector<Real> run(static_cast<std::size_t>(S));
        std::vector<double> total(static_cast<std::size_t>(S));
        const std::int64_t from = static_cast<std::int64_t>(r) * features_per_block;
        gather_block(index_, from, std::min(from + features_per_block, shape_.F), delta_.data(), S,
                     want == Want::fisher, run.data(), total.data(), out);
    });
    return value;
}

template class CrfObjective<float>;
template class CrfObjective<double>;

} // namespace chaffinch::learners
