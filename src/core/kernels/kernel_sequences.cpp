#include "kernel_sequences.hpp"

#include "aligned.hpp"
#include "clones.hpp"
#include "parallel.hpp"
#include "stop.hpp"
#include "workspace.hpp"

#include <array>
#include <cmath>
#include <numeric>

namespace chaffinch::kernels {

SequenceBank::SequenceBank(std::span<const std::int64_t> ptr_, std::span<const std::uint64_t> keys)
    : ptr(ptr_.begin(), ptr_.end()) {
    symbol = numbers.number(keys);
}

namespace {

constexpr std::int64_t wide = 2 * machine::lanes; // sequences of B at a time
constexpr std::int32_t beyond = -1;      // past the end of a sequence of B: equal to no symbol
constexpr std::int32_t unknown = -2;     // a symbol of A that B lacks

using Symbols = machine::Pack<std::int32_t>;
using Reals = machine::Pack<float>;

// Up to sixteen sequences of B, position by position.
struct Group {
    std::int64_t T = 0;
    machine::AlignedVector<std::int32_t> at;                 // [T][wide]
    std::array<std::int64_t, wide> place{};         // columns of the block; -1: a lane without a sequence
};

// A sequence of A without the symbols that the group lacks, and the distance of each symbol from the one before.
struct Reduced {
    std::vector<std::int32_t> symbol;
    std::vector<std::int32_t> gap;
};

struct SubsequenceRoom {
    Reduced s;
    machine::AlignedVector<float> held;
};

// Zero in the lanes where the mask is.
CHAFFINCH_INLINE void keep(const Symbols& mask, Reals& value) { value = machine::select(mask != 0, value, Reals{}); }

//   K'_0(i, j) = 1
//   K''_p(i, j) = lambda K''_p(i, j-1) + lambda^2 [s_i = t_j] K'_{p-1}(i-1, j-1)
//   K'_p(i, j)  = lambda K'_p(i-1, j) + K''_p(i, j)
//   K_p         = sum over i, j of  lambda^2 [s_i = t_j] K'_{p-1}(i-1, j-1)
// `held` keeps K'_p(i-1, j) as [T][P-1][wide]; symbols of s without a match only multiply it.
template <int P>
CHAFFINCH_INLINE void subsequences(const Reduced& s, const Group& t, int low, float lambda, float* held, double* sum) {
    constexpr int kept = P > 1 ? P - 1 : 1;
    const float square = lambda * lambda;
    std::fill_n(held, t.T * kept * wide, 0.0f);
    for (std::size_t i = 0; i < s.symbol.size(); ++i) {
        if (s.gap[i] > 1 && P > 1) {
            const float fade = std::pow(lambda, static_cast<float>(s.gap[i] - 1));
            for (std::int64_t k = 0; k < t.T * kept * wide; ++k) held[k] *= fade;
        }
        const Symbols symbol = Symbols{} + s.symbol[i];
        Reals before[kept][2] = {}, running[kept][2] = {}, found[P][2] = {};
        for (std::int64_t j = 0; j < t.T; ++j) {
            Symbols here[2];
            machine::get<std::int32_t>(here[0], t.at.data() + j * wide);
            machine::get<std::int32_t>(here[1], t.at.data() + j * wide + machine::lanes);
            for (int half = 0; half < 2; ++half) {
                const Symbols match = here[half] == symbol;
                Reals below = Reals{} + square;
                keep(match, below);
                found[0][half] += below;
                for (int p = 1; p < P; ++p) {
                    float* cell = held + (j * kept + (p - 1)) * wide + half * machine::lanes;
                    Reals old;
                    machine::get<float>(old, cell);
                    running[p - 1][half] = running[p - 1][half] * lambda + below;
                    below = before[p - 1][half] * square;
                    keep(match, below);
                    found[p][half] += below;
                    before[p - 1][half] = old;
                    machine::put<float>(cell, old * lambda + running[p - 1][half]);
                }
            }
        }
        for (int p = low - 1; p < P; ++p)
            for (int half = 0; half < 2; ++half)
                for (std::int64_t l = 0; l < machine::lanes; ++l) sum[half * machine::lanes + l] += found[p][half][l];
    }
}

CHAFFINCH_HOT void subsequence_lanes(const Reduced& s, const Group& t, int low, int high, float lambda, float* held,
                                     double* sum) {
    switch (high) {
    case 1: return subsequences<1>(s, t, low, lambda, held, sum);
    case 2: return subsequences<2>(s, t, low, lambda, held, sum);
    case 3: return subsequences<3>(s, t, low, lambda, held, sum);
    case 4: return subsequences<4>(s, t, low, lambda, held, sum);
    case 5: return subsequences<5>(s, t, low, lambda, held, sum);
    case 6: return subsequences<6>(s, t, low, lambda, held, sum);
    case 7: return subsequences<7>(s, t, low, lambda, held, sum);
    case 8: return subsequences<8>(s, t, low, lambda, held, sum);
    default: return;
    }
}

// How many pairs of n-grams differ in h places, for each h below `most`.
CHAFFINCH_HOT void mismatch_lanes(std::span<const std::int32_t> s, const Group& t, int n, std::span<const double> shared,
                                  double* sum) {
    const int most = static_cast<int>(shared.size());
    for (std::int64_t i = 0; i + n <= static_cast<std::int64_t>(s.size()); ++i) {
        for (std::int64_t j = 0; j + n <= t.T; ++j)
            for (int half = 0; half < 2; ++half) {
                Symbols same{}, here{};
                for (int k = 0; k < n; ++k) {
                    machine::get<std::int32_t>(here, t.at.data() + (j + k) * wide + half * machine::lanes);
                    same -= here == Symbols{} + s[static_cast<std::size_t>(i + k)];
                }
                const Symbols apart = (Symbols{} + n) - same, inside = here != Symbols{} + beyond;
                const Symbols counted = (apart < Symbols{} + most) & inside;
                bool any = false;
                for (std::int64_t l = 0; l < machine::lanes; ++l) any |= counted[l] != 0;
                if (!any) continue;
                for (std::int64_t l = 0; l < machine::lanes; ++l)
                    if (counted[l]) sum[half * machine::lanes + l] += shared[static_cast<std::size_t>(apart[l])];
            }
    }
}

// Sequences of B by length, so that lanes of a group end at about the same place.
std::vector<std::int64_t> by_length(const SequenceBank& B, std::span<const std::int64_t> b) {
    std::vector<std::int64_t> order(b.size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::ranges::stable_sort(order, {}, [&](std::int64_t j) { return B.ptr[b[j] + 1] - B.ptr[b[j]]; });
    return order;
}

Group group_of(const SequenceBank& B, std::span<const std::int64_t> b, std::span<const std::int64_t> order,
               std::int64_t first) {
    Group group;
    group.place.fill(-1);
    const std::int64_t count = std::min(wide, static_cast<std::int64_t>(order.size()) - first);
    for (std::int64_t l = 0; l < count; ++l) {
        const std::int64_t j = order[first + l];
        group.place[l] = j;
        group.T = std::max(group.T, B.ptr[b[j] + 1] - B.ptr[b[j]]);
    }
    group.at.assign(static_cast<std::size_t>(group.T * wide), beyond);
    for (std::int64_t l = 0; l < count; ++l) {
        const std::int64_t n = b[group.place[l]];
        for (std::int64_t k = B.ptr[n]; k < B.ptr[n + 1]; ++k) group.at[(k - B.ptr[n]) * wide + l] = B.symbol[k];
    }
    return group;
}

// Fills out[i][j] by run(symbols of a[i] in B's numbers, group, present, sums) over groups of B.
template <class Run>
void over_groups(const SequenceBank& A, std::span<const std::int64_t> a, const SequenceBank& B,
                 std::span<const std::int64_t> b, bool symmetric, std::size_t threads, double* out, Run&& run) {
    const std::vector<std::int64_t> order = by_length(B, b);
    const std::vector<std::int32_t> there = A.numbers.in(B.numbers);
    const auto n = static_cast<std::int64_t>(a.size()), m = static_cast<std::int64_t>(b.size());
    machine::parallel_blocks(static_cast<std::size_t>((m + wide - 1) / wide), threads, [&](std::size_t block) {
        const std::int64_t first = static_cast<std::int64_t>(block) * wide;
        const Group group = group_of(B, b, order, first);
        std::vector<std::uint8_t> present(B.numbers.size());
        for (const std::int32_t symbol : group.at)
            if (symbol >= 0) present[symbol] = 1;
        std::vector<std::int32_t> symbols;
        // A symmetric block needs only the rows up to this group's own.
        const std::int64_t rows = symmetric ? std::min(m, first + wide) : n;
        for (std::int64_t r = 0; r < rows; ++r) {
            machine::check_stop();
            const std::int64_t i = symmetric ? order[r] : r;
            symbols.clear();
            for (std::int64_t k = A.ptr[a[i]]; k < A.ptr[a[i] + 1]; ++k)
                symbols.push_back(there[A.symbol[k]] >= 0 ? there[A.symbol[k]] : unknown);
            double sum[wide] = {};
            run(symbols, group, present, sum);
            for (std::int64_t l = 0; l < wide; ++l) {
                if (group.place[l] < 0) continue;
                out[i * m + group.place[l]] = sum[l];
                if (symmetric) out[group.place[l] * m + i] = sum[l];
            }
        }
    });
}

} // namespace

void subsequence_gram(const SequenceBank& A, std::span<const std::int64_t> a, const SequenceBank& B,
                      std::span<const std::int64_t> b, bool symmetric, int low, int high, float lambda,
                      std::size_t threads, double* out) {
    over_groups(A, a, B, b, symmetric, threads, out, [&](const auto& symbols, const Group& group, const auto& present, double* sum) {
        machine::Workspace<SubsequenceRoom> workspace;
        auto& [s, held] = *workspace;
        s.symbol.clear(), s.gap.clear();
        std::int32_t last = -1;
        for (std::size_t i = 0; i < symbols.size(); ++i) {
            if (symbols[i] < 0 || !present[symbols[i]]) continue;
            s.symbol.push_back(symbols[i]);
            s.gap.push_back(static_cast<std::int32_t>(i) - last);
            last = static_cast<std::int32_t>(i);
        }
        subsequence_lanes(s, group, low, high, lambda, machine::room(held, std::max<std::int64_t>(1, group.T * std::max(1, high - 1) * wide)), sum);
    });
}

void mismatch_gram(const SequenceBank& A, std::span<const std::int64_t> a, const SequenceBank& B,
                   std::span<const std::int64_t> b, bool symmetric, int n, std::span<const double> shared,
                   std::size_t threads, double* out) {
    over_groups(A, a, B, b, symmetric, threads, out, [&](const auto& symbols, const Group& group, const auto&, double* sum) {
        mismatch_lanes(symbols, group, n, shared, sum);
    });
}

NgramCounts ngram_counts(std::span<const std::int64_t> ptr, std::span<const std::uint64_t> keys, int low, int high) {
    NgramCounts out;
    out.ptr.push_back(0);
    std::vector<std::uint64_t> found;
    for (std::size_t row = 0; row + 1 < ptr.size(); ++row) {
        found.clear();
        for (std::int64_t i = ptr[row]; i < ptr[row + 1]; ++i) {
            std::uint64_t key = 0;
            for (int n = 1; n <= high && i + n <= ptr[row + 1]; ++n) {
                key = text::mixed(key, keys[i + n - 1]);
                if (n >= low) found.push_back(key);
            }
        }
        std::ranges::sort(found);
        for (std::size_t k = 0; k < found.size(); ++k) {
            if (k > 0 && found[k] == found[k - 1]) {
                out.counts.back() += 1.0f;
                continue;
            }
            out.keys.push_back(found[k]);
            out.counts.push_back(1.0f);
        }
        out.ptr.push_back(static_cast<std::int64_t>(out.keys.size()));
    }
    return out;
}

} // namespace chaffinch::kernels
