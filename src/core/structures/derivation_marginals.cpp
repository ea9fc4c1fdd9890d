// Sums over derivations: inside in real space, each span scaled by its best derivation, and outside as derivatives of
// log Z by the inside. With v[ij] the best score over [i, j), a split k weighs f_k = exp(v[ik] + v[kj] - v[ij]).
#include "clones.hpp"
#include "derivation_chart.hpp"
#include "may_throw.hpp"
#include "stop.hpp"
#include "workspace.hpp"

#include <cmath>

namespace chaffinch::structures {

namespace {

// A cell smaller than this, or larger than its inverse, is close to the end of a double's range.
constexpr double smallest = 1e-280;
constexpr double largest = 300; // of a split's weight, as a logarithm

template <class Real> struct Sums {
    DerivationChart<MaxPlus<Real>> best;
    DerivationChart<SumProduct<double>> sum;
    LazyRows<double> above_begun, above_ended; // as the charts
    machine::AlignedVector<double> rule, leaf, own, factors, scale;
    bool overflow = false; // a split outweighs its span by more than a double can hold

    // v[ij]; -inf if there is no derivation.
    void measure(std::int64_t T) {
        const Spans spans{T};
        double* v = machine::room(scale, spans.count());
        std::fill_n(v, spans.count(), impossible);
        for (std::int64_t i = 0; i < T; ++i)
            for (std::int64_t j = i + 1; j <= T; ++j)
                for (const std::int32_t A : best.labels(i, j))
                    v[spans.at(i, j)] = std::max(v[spans.at(i, j)], static_cast<double>(best.at(i, j, A)));
    }
    const double* splits(std::int64_t i, std::int64_t j, std::int64_t T) {
        const Spans spans{T};
        double* f = machine::room(factors, machine::padded(T + 1));
        std::fill_n(f, machine::padded(T + 1), 0.0);
        for (std::int64_t k = i + 1; k < j; ++k) {
            const double x = scale[spans.at(i, k)] + scale[spans.at(k, j)] - scale[spans.at(i, j)];
            overflow = overflow || x > largest;
            f[k] = std::exp(std::min(x, largest));
        }
        return f;
    }
};

// y += x f a over whole packs of a range
CHAFFINCH_INLINE void add_scaled(double x, const double* f, const double* a, SplitRange k, double* y) {
    machine::Pack<double> u, v, w;
    for (std::int64_t m = k.first / machine::lanes * machine::lanes; m <= k.last; m += machine::lanes) {
        machine::get<double>(u, a + m), machine::get<double>(v, y + m), machine::get<double>(w, f + m);
        machine::put<double>(y + m, v + x * (w * u));
    }
}

// The sum over the parents of some runs of  own (x) rule
CHAFFINCH_INLINE double sum_of(std::span<const Grammar::Run> runs, const double* own, const double* rule) {
    machine::Pack<double> sum = {}, u, v;
    for (const Grammar::Run& run : runs)
        for (std::int64_t m = 0; m < run.packs * machine::lanes; m += machine::lanes) {
            machine::get<double>(u, own + run.parent + m), machine::get<double>(v, rule + run.first + m);
            sum += u * v;
        }
    return machine::total(sum);
}

// False if the sums may leave the range of doubles.
template <class Real>
CHAFFINCH_INLINE bool in_real_space(const DerivationPotentials<Real>& p, const DerivationExpectations<Real>& out,
                                    Sums<Real>& at, double& log_z) {
    const Grammar& g = *p.grammar;
    const std::int64_t T = p.T, Y = g.Y, R = g.R;
    at.overflow = false;
    at.measure(T);
    std::fill_n(out.leaf, T * Y, Real(0));
    double top_shift = impossible;
    for (std::int64_t A = 0; A < Y; ++A) top_shift = std::max(top_shift, static_cast<double>(p.above(A)));
    double* rule = machine::room(at.rule, R);
    for (std::int64_t r = 0; r < R; ++r) rule[r] = std::exp(static_cast<double>(p.rule[r]));
    double* leaf = machine::room(at.leaf, T * Y);
    for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t A = 0; A < Y; ++A) {
            const auto x = static_cast<double>(p.leaf[t * Y + A]);
            leaf[t * Y + A] = x == impossible ? 0 : std::exp(x - at.scale[Spans{T}.at(t, t + 1)]);
        }
    auto& in = at.sum;
    const auto span = [&](std::int64_t s, std::int64_t A) {
        return p.span ? std::exp(static_cast<double>(p.span[s * Y + A])) : 1.0;
    };
    in.fill(
        g, T, [&](std::int64_t t, std::int64_t A) { return leaf[t * Y + A]; }, [&](std::int64_t r) { return rule[r]; },
        span, [&](std::int64_t i, std::int64_t j) { return at.splits(i, j, T); },
        [&](std::int64_t s) { return at.scale[s] == impossible; });
    if (at.overflow) return false;
    for (std::int64_t i = 0; i < T; ++i)
        for (std::int64_t j = i + 1; j <= T; ++j)
            for (const std::int32_t A : at.best.labels(i, j))
                if (const double x = in.at(i, j, A); !(x > smallest && x < 1 / smallest)) return false;

    double total = 0;
    std::vector<double> above_all(static_cast<std::size_t>(Y));
    for (std::int64_t A = 0; A < Y; ++A) {
        above_all[A] = std::exp(static_cast<double>(p.above(A)) - top_shift);
        total += above_all[A] * in.at(0, T, A);
    }
    log_z = std::log(total) + at.scale[in.spans.at(0, T)] + top_shift;
    auto &begun = at.above_begun, &ended = at.above_ended;
    begun.reset(T * Y, in.K, 0.0), ended.reset((T + 1) * Y, in.K, 0.0);
    std::vector<double> used(static_cast<std::size_t>(out.rule ? g.W : 0));
    if (out.span) std::fill_n(out.span, in.spans.count() * Y, Real(0));
    for (std::int64_t A = 0; A < Y; ++A) {
        if (in.at(0, T, A) > 0) begun.write(A)[T] = above_all[A] / total;
        if (out.top) out.top[A] = static_cast<Real>(above_all[A] * in.at(0, T, A) / total);
    }

    double* own = machine::room(at.own, Y + machine::lanes); // outside of the labels of the span at hand, zero between spans
    std::fill_n(own, Y + machine::lanes, 0.0);
    const double* weight = in.rule_weights();
    for (std::int64_t length = T; length >= 1; --length)
        for (std::int64_t i = 0, j = length; j <= T; ++i, ++j) {
            machine::check_stop();
            if (at.scale[in.spans.at(i, j)] == impossible) continue;
            const std::int64_t s = in.spans.at(i, j);
            bool likely = false;
            for (const std::int32_t A : in.labels(i, j)) {
                const double above = begun.read(i * Y + A)[j] + ended.read(j * Y + A)[i];
                const double here = in.at(i, j, A) * above;
                if (length == 1) out.leaf[i * Y + A] = static_cast<Real>(here);
                else if (out.span) out.span[s * Y + A] = static_cast<Real>(here);
                if (length == 1 || here <= out.least) continue;
                own[A] = above * span(s, A);
                likely = true;
            }
            if (!likely) continue;
            const double* f = at.splits(i, j, T);
            for (const std::int32_t B : in.starting(i))
                for (std::int64_t q = g.left_ptr[B]; q < g.left_ptr[B + 1]; ++q) {
                    const std::int32_t C = g.pair_right[q];
                    const SplitRange k = in.splits(i, j, B, C);
                    if (k.first > k.last) continue;
                    const double x = sum_of({g.runs.data() + g.run_ptr[q], g.runs.data() + g.run_ptr[q + 1]}, own, weight);
                    if (x == 0) continue;
                    if (!std::isfinite(x)) return false;
                    const double *l = in.left_row(i, B), *e = in.right_row(j, C);
                    add_scaled(x, f, e, k, begun.write(i * Y + B));
                    add_scaled(x, f, l, k, ended.write(j * Y + C));
                    if (out.rule) {
                        const double both = row_product(SumProduct<double>(), l, e, f, k);
                        for (std::int64_t n = g.run_ptr[q]; n < g.run_ptr[q + 1]; ++n)
                            for (std::int64_t m = 0; m < g.runs[n].packs * machine::lanes; ++m)
                                used[g.runs[n].first + m] += both * own[g.runs[n].parent + m];
                    }
                }
            for (const std::int32_t A : in.labels(i, j)) own[A] = 0;
        }
    if (out.rule)
        for (std::int64_t r = 0; r < R; ++r) {
            const double times = used[g.place[r]];
            out.rule[r] = static_cast<Real>(times == 0 ? 0 : times * rule[r]);
        }
    return true;
}

CHAFFINCH_HOT bool hot(const DerivationPotentials<float>& p, const DerivationExpectations<float>& out,
                       Sums<float>& at, double& log_z) {
    return in_real_space(p, out, at, log_z);
}
CHAFFINCH_HOT bool hot(const DerivationPotentials<double>& p, const DerivationExpectations<double>& out,
                       Sums<double>& at, double& log_z) {
    return in_real_space(p, out, at, log_z);
}

// The same in logarithms, cell by cell: for potentials of any range, an order slower.
template <class Real>
double in_logarithms(const DerivationPotentials<Real>& p, const DerivationExpectations<Real>& out) {
    const Grammar& g = *p.grammar;
    const std::int64_t T = p.T, Y = g.Y;
    const Spans spans{T};
    std::vector<double> in(static_cast<std::size_t>(spans.count() * Y), impossible), up(in);
    std::vector<double> used(static_cast<std::size_t>(g.R), impossible);
    const auto add = [](double& to, double x) { to = LogSum<double>::plus(to, x); };
    const auto own = [&](std::int64_t s, std::int64_t A) { return p.span ? static_cast<double>(p.span[s * Y + A]) : 0.0; };
    for (std::int64_t length = 1; length <= T; ++length)
        for (std::int64_t i = 0, j = length; j <= T; ++i, ++j) {
            machine::check_stop();
            double* row = &in[spans.at(i, j) * Y];
            if (length == 1) {
                for (std::int64_t A = 0; A < Y; ++A) row[A] = static_cast<double>(p.leaf[i * Y + A]);
                continue;
            }
            if (p.open && !p.open[spans.at(i, j)]) continue;
            for (std::int64_t r = 0; r < g.R; ++r)
                for (std::int64_t k = i + 1; k < j; ++k)
                    add(row[g.parent[r]], in[spans.at(i, k) * Y + g.left[r]] + in[spans.at(k, j) * Y + g.right[r]] +
                                              static_cast<double>(p.rule[r]));
            for (std::int64_t A = 0; A < Y; ++A) row[A] += own(spans.at(i, j), A);
        }
    const std::int64_t whole = spans.at(0, T) * Y;
    double log_z = impossible;
    for (std::int64_t A = 0; A < Y; ++A)
        add(log_z, in[whole + A] + static_cast<double>(p.above(A))), up[whole + A] = static_cast<double>(p.above(A));
    if (out.top)
        for (std::int64_t A = 0; A < Y; ++A)
            out.top[A] = static_cast<Real>(std::exp(in[whole + A] + up[whole + A] - log_z));
    if (log_z == impossible) return log_z;
    for (std::int64_t length = T; length >= 1; --length)
        for (std::int64_t i = 0, j = length; j <= T; ++i, ++j) {
            machine::check_stop();
            const std::int64_t s = spans.at(i, j);
            for (std::int64_t A = 0; A < Y; ++A) {
                const auto p_here = static_cast<Real>(std::exp(in[s * Y + A] + up[s * Y + A] - log_z));
                if (length == 1) out.leaf[i * Y + A] = p_here;
                else if (out.span) out.span[s * Y + A] = p_here;
            }
            if (length == 1 || (p.open && !p.open[s])) continue;
            for (std::int64_t r = 0; r < g.R; ++r) {
                const double above = up[s * Y + g.parent[r]] + own(s, g.parent[r]) + static_cast<double>(p.rule[r]);
                if (above == impossible) continue;
                for (std::int64_t k = i + 1; k < j; ++k) {
                    const std::int64_t a = spans.at(i, k) * Y + g.left[r], b = spans.at(k, j) * Y + g.right[r];
                    add(up[a], above + in[b]);
                    add(up[b], above + in[a]);
                    add(used[r], above + in[a] + in[b]);
                }
            }
        }
    if (out.rule)
        for (std::int64_t r = 0; r < g.R; ++r) out.rule[r] = static_cast<Real>(std::exp(used[r] - log_z));
    return log_z;
}

template <class Real> double logsum(const DerivationPotentials<Real>& p, const DerivationExpectations<Real>& out) {
    machine::Workspace<Sums<Real>> workspace;
    Sums<Real>& at = *workspace;
    fill_best(p, at.best);
    double best = impossible, log_z = impossible;
    for (std::int64_t A = 0; A < p.grammar->Y; ++A)
        if (p.above(A) > MaxPlus<Real>::zero) best = std::max(best, static_cast<double>(at.best.at(0, p.T, A)));
    if (best == impossible) return impossible;
    return machine::may_throw([&] { return hot(p, out, at, log_z); }) ? log_z : in_logarithms(p, out);
}

} // namespace

double derivation_logsum(const DerivationPotentials<float>& p, const DerivationExpectations<float>& out) {
    return logsum(p, out);
}
double derivation_logsum(const DerivationPotentials<double>& p, const DerivationExpectations<double>& out) {
    return logsum(p, out);
}

} // namespace chaffinch::structures
