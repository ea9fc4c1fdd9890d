// Inside and outside sums over trees, in real space, each row scaled by its largest cell.
//
// With c, l, r the scaled rows (cell, as left child, as right child), f_k what is left of the scales at a split k:
//   c[ij][A] = g u[ij][A] sum_k f_k l[ik][A] r[kj][A]        l[ik][A] = g' v[ik][A] sum_B c[ik][B] e[B][A]
// u, v, e: exponentials of potentials. The outside rows are derivatives of log Z by c, l and r, so that c c', l l' and
// r r' are probabilities and no scale is needed on the way down.
#include "clones.hpp"
#include "may_throw.hpp"
#include "stop.hpp"
#include "tree_chart.hpp"
#include "workspace.hpp"

#include <cmath>

namespace chaffinch::structures {

namespace {

// Below this (as a logarithm) a product could have underflowed.
constexpr double vanishing = -650;

struct Pair {
    machine::AlignedVector<double> e;      // [Y][P] exp of the pair potentials
    machine::AlignedVector<double> joint;  // [Y][P] sum over spans of c[B] z[A]
    machine::AlignedVector<double> rows, outside, v; // [S][P]
    machine::AlignedVector<double> scale, g; // [S]
    double shift = 0;
};

class SumChart {
  public:
    // False if some product may have underflowed: the caller then sums in logarithms.
    template <class Real>
    CHAFFINCH_INLINE bool run(const TreePotentials<Real>& p, const TreeExpectations<Real>& out, double& log_z);

  private:
    template <class Real> CHAFFINCH_INLINE void lift_pair(const TreePotentials<Real>& p, int side);
    // out[A] = exp(x[A] - max) for the allowed A; returns the max, or -inf.
    template <class Real, class May>
    CHAFFINCH_INLINE double lifted(const Real* x, std::int64_t Y, May&& may, double* out);
    CHAFFINCH_INLINE double rescaled(double* row);
    CHAFFINCH_INLINE void note(double log_value, double& lowest) { lowest = log_value < lowest ? log_value : lowest; }

    std::int64_t P = 0;
    double low_potential = 0, low_pair = 0, low_row = 0, low_split = 0;
    Pair pair[2];
    machine::AlignedVector<double> cells, outside, u, scale, g, factors, z;
    machine::AlignedVector<std::uint8_t> alive;
};

template <class Real, class May>
double SumChart::lifted(const Real* x, std::int64_t Y, May&& may, double* out) {
    double most = impossible;
    for (std::int64_t y = 0; y < Y; ++y)
        if (may(y) && static_cast<double>(x[y]) > most) most = static_cast<double>(x[y]);
    std::fill(out, out + P, 0.0);
    if (most == impossible) return most;
    for (std::int64_t y = 0; y < Y; ++y) {
        if (!may(y) || static_cast<double>(x[y]) == impossible) continue;
        const double d = static_cast<double>(x[y]) - most;
        note(d, low_potential);
        out[y] = std::exp(d);
    }
    return most;
}

// Divides a row by its largest cell, and returns that.
double SumChart::rescaled(double* row) {
    const double most = row_max(row, P);
    if (!(most > 0)) return 0;
    double least = 1;
    for (std::int64_t y = 0; y < P; ++y) {
        row[y] /= most;
        least = row[y] > 0 && row[y] < least ? row[y] : least;
    }
    note(std::log(least), low_row);
    return most;
}

template <class Real> void SumChart::lift_pair(const TreePotentials<Real>& p, int side) {
    const Real* w = side ? p.right : p.left;
    const std::uint8_t* allowed = side ? p.right_allowed : p.left_allowed;
    const std::int64_t Y = p.Y;
    double* e = machine::room(pair[side].e, Y * P);
    double* joint = machine::room(pair[side].joint, Y * P);
    std::fill(e, e + Y * P, 0.0);
    std::fill(joint, joint + Y * P, 0.0);
    double most = impossible;
    const auto potential = [&](std::int64_t c) {
        return allowed && !allowed[c] ? impossible : w ? static_cast<double>(w[c]) : 0.0;
    };
    for (std::int64_t c = 0; c < Y * Y; ++c) most = std::max(most, potential(c));
    pair[side].shift = most;
    if (most == impossible) return;
    for (std::int64_t B = 0; B < Y; ++B)
        for (std::int64_t A = 0; A < Y; ++A)
            if (const double x = potential(B * Y + A); x > impossible) {
                note(x - most, low_pair);
                e[B * P + A] = std::exp(x - most);
            }
}

template <class Real>
bool SumChart::run(const TreePotentials<Real>& p, const TreeExpectations<Real>& out, double& log_z) {
    const std::int64_t T = p.T, Y = p.Y;
    const Spans spans{T};
    const std::int64_t S = spans.count();
    P = machine::padded(Y);
    low_potential = low_pair = low_row = low_split = 0;
    for (int side = 0; side < 2; ++side) {
        lift_pair(p, side);
        machine::room(pair[side].rows, S * P), machine::room(pair[side].outside, S * P), machine::room(pair[side].v, S * P);
        machine::room(pair[side].scale, S), machine::room(pair[side].g, S);
        std::fill_n(pair[side].outside.data(), S * P, 0.0);
    }
    double *c = machine::room(cells, S * P), *oc = machine::room(outside, S * P), *uu = machine::room(u, S * P);
    double *sc = machine::room(scale, S), *gs = machine::room(g, S), *f = machine::room(factors, T), *zz = machine::room(z, P);
    std::uint8_t* live = machine::room(alive, S);
    const SumProduct<double> ring;

    for (std::int64_t length = 1; length <= T; ++length)
        for (std::int64_t i = 0, j = length; j <= T; ++i, ++j) {
            machine::check_stop();
            const std::int64_t s = spans.at(i, j);
            double* row = c + s * P;
            live[s] = 0;
            if (p.closed(s, length)) continue;
            const Real* x = p.span + s * p.stride;
            const double m = lifted(x, Y, [&](std::int64_t y) { return p.allowed(i, j, y); }, uu + s * P);
            if (m == impossible) continue;
            double log_scale = m;
            if (length == 1) {
                std::copy(uu + s * P, uu + (s + 1) * P, row);
            } else {
                double most = impossible;
                for (std::int64_t k = i + 1; k < j; ++k) {
                    const std::int64_t a = spans.at(i, k), b = spans.at(k, j);
                    f[k] = live[a] && live[b] ? pair[0].scale[a] + pair[1].scale[b] : impossible;
                    most = std::max(most, f[k]);
                }
                if (most == impossible) continue;
                std::fill(row, row + P, 0.0);
                for (std::int64_t k = i + 1; k < j; ++k) {
                    if (f[k] == impossible) continue;
                    note(f[k] - most, low_split);
                    const double factor = std::exp(f[k] - most);
                    const double* l = &pair[0].rows[spans.at(i, k) * P];
                    const double* r = &pair[1].rows[spans.at(k, j) * P];
                    for (std::int64_t y = 0; y < P; ++y) row[y] += factor * l[y] * r[y];
                }
                for (std::int64_t y = 0; y < P; ++y) row[y] *= uu[s * P + y];
                log_scale += most;
            }
            const double divisor = rescaled(row);
            if (divisor == 0) continue;
            live[s] = 1;
            gs[s] = 1 / divisor;
            sc[s] = log_scale + std::log(divisor);
            for (int side = 0; side < 2; ++side) {
                if (side == 0 ? j == T : i == 0) continue;
                Pair& q = pair[side];
                double *v = &q.v[s * P], *to = &q.rows[s * P];
                double shift = 0;
                if (p.roles) shift = lifted(x + (side + 1) * Y, Y, [](std::int64_t) { return true; }, v);
                else std::fill(v, v + P, 1.0);
                q.scale[s] = impossible;
                if (shift == impossible || q.shift == impossible) continue;
                ring.absorb(Sources<double>{Y, row, 1, q.e.data(), P}, to, P);
                for (std::int64_t y = 0; y < P; ++y) to[y] *= v[y];
                const double d = rescaled(to);
                if (d == 0) continue;
                q.g[s] = 1 / d;
                q.scale[s] = sc[s] + shift + q.shift + std::log(d);
            }
        }
    if (2 * low_row + low_split + low_potential + low_pair < vanishing) return false;

    const std::int64_t whole = spans.at(0, T);
    log_z = impossible;
    if (!live[whole]) return true;
    double total = 0;
    for (std::int64_t y = 0; y < Y; ++y) total += c[whole * P + y];
    log_z = sc[whole] + std::log(total);

    for (std::int64_t length = T; length >= 1; --length)
        for (std::int64_t i = 0, j = length; j <= T; ++i, ++j) {
            machine::check_stop();
            const std::int64_t s = spans.at(i, j);
            Real* gradient = out.span + s * p.stride;
            std::fill(gradient, gradient + (p.roles ? 3 : 1) * Y, Real(0));
            if (!live[s]) continue;
            double* here = oc + s * P;
            std::fill(here, here + P, 0.0);
            if (s == whole)
                for (std::int64_t y = 0; y < Y; ++y) here[y] = 1 / total;
            // z[A] = g v[A] l'[A]:   c'[B] += sum_A e[B][A] z[A]     joint[B][A] += c[B] z[A]
            for (int side = 0; side < 2; ++side) {
                if ((side == 0 ? j == T : i == 0) || pair[side].scale[s] == impossible) continue;
                Pair& q = pair[side];
                const double *v = &q.v[s * P], *o = &q.outside[s * P], *rows = &q.rows[s * P];
                for (std::int64_t y = 0; y < P; ++y) zz[y] = q.g[s] * v[y] * o[y];
                if (p.roles)
                    for (std::int64_t y = 0; y < Y; ++y)
                        gradient[(side + 1) * Y + y] = static_cast<Real>(rows[y] * o[y]);
                if (row_max(zz, P) == 0) continue;
                for (std::int64_t B = 0; B < Y; ++B) {
                    const double weight = c[s * P + B];
                    if (weight == 0) continue;
                    here[B] += row_dot(&q.e[B * P], zz, P);
                    double* sum = &q.joint[B * P];
                    for (std::int64_t y = 0; y < P; ++y) sum[y] += weight * zz[y];
                }
            }
            for (std::int64_t y = 0; y < Y; ++y) gradient[y] = static_cast<Real>(c[s * P + y] * here[y]);
            if (length == 1) continue;
            for (std::int64_t y = 0; y < P; ++y) zz[y] = gs[s] * uu[s * P + y] * here[y];
            if (row_max(zz, P) == 0) continue;
            double most = impossible;
            for (std::int64_t k = i + 1; k < j; ++k) {
                const std::int64_t a = spans.at(i, k), b = spans.at(k, j);
                f[k] = live[a] && live[b] ? pair[0].scale[a] + pair[1].scale[b] : impossible;
                most = std::max(most, f[k]);
            }
            for (std::int64_t k = i + 1; k < j; ++k) {
                if (f[k] == impossible) continue;
                const std::int64_t a = spans.at(i, k) * P, b = spans.at(k, j) * P;
                const double factor = std::exp(f[k] - most);
                const double *l = &pair[0].rows[a], *r = &pair[1].rows[b];
                double *ol = &pair[0].outside[a], *orr = &pair[1].outside[b];
                for (std::int64_t y = 0; y < P; ++y) {
                    const double x = factor * zz[y];
                    ol[y] += x * r[y];
                    orr[y] += x * l[y];
                }
            }
        }
    for (int side = 0; side < 2; ++side)
        if (Real* to = side ? out.right : out.left)
            for (std::int64_t B = 0; B < Y; ++B)
                for (std::int64_t A = 0; A < Y; ++A)
                    to[B * Y + A] = static_cast<Real>(pair[side].joint[B * P + A] * pair[side].e[B * P + A]);
    return true;
}

CHAFFINCH_HOT bool run(SumChart& c, const TreePotentials<float>& p, const TreeExpectations<float>& o, double& log_z) {
    return c.run(p, o, log_z);
}
CHAFFINCH_HOT bool run(SumChart& c, const TreePotentials<double>& p, const TreeExpectations<double>& o, double& log_z) {
    return c.run(p, o, log_z);
}

// The same sums in logarithms, cell by cell: for potentials of any range, an order slower.
template <class Real> double in_logarithms(const TreePotentials<Real>& p, const TreeExpectations<Real>& out) {
    const std::int64_t T = p.T, Y = p.Y;
    const Spans spans{T};
    const auto cells = static_cast<std::size_t>(spans.count() * Y);
    using Ring = LogSum<double>;
    std::vector<double> in[3], up[3], joint[2]; // cell, as left child, as right child
    for (int role = 0; role < 3; ++role) in[role].assign(cells, impossible), up[role].assign(cells, impossible);
    for (auto& j : joint) j.assign(static_cast<std::size_t>(Y * Y), impossible);
    const auto weight = [&](int side, std::int64_t c) {
        const std::uint8_t* allowed = side ? p.right_allowed : p.left_allowed;
        const Real* w = side ? p.right : p.left;
        return allowed && !allowed[c] ? impossible : w ? static_cast<double>(w[c]) : 0.0;
    };
    const auto role = [&](std::int64_t s, int side, std::int64_t A) {
        return p.roles ? static_cast<double>(p.span[s * p.stride + (side + 1) * Y + A]) : 0.0;
    };
    const auto own = [&](std::int64_t i, std::int64_t j, std::int64_t A) {
        return p.allowed(i, j, A) ? static_cast<double>(p.span[spans.at(i, j) * p.stride + A]) : impossible;
    };
    const auto add = [](double& to, double x) { to = Ring::plus(to, x); };
    for (std::int64_t length = 1; length <= T; ++length)
        for (std::int64_t i = 0, j = length; j <= T; ++i, ++j) {
            machine::check_stop();
            const std::int64_t s = spans.at(i, j);
            if (p.closed(s, length)) continue;
            for (std::int64_t A = 0; A < Y; ++A) {
                double sum = length == 1 ? 0.0 : impossible;
                for (std::int64_t k = i + 1; k < j; ++k)
                    add(sum, in[1][spans.at(i, k) * Y + A] + in[2][spans.at(k, j) * Y + A]);
                in[0][s * Y + A] = sum + own(i, j, A);
            }
            for (int side = 0; side < 2; ++side)
                for (std::int64_t A = 0; A < Y; ++A) {
                    double sum = impossible;
                    for (std::int64_t B = 0; B < Y; ++B) add(sum, in[0][s * Y + B] + weight(side, B * Y + A));
                    in[side + 1][s * Y + A] = sum + role(s, side, A);
                }
        }
    const std::int64_t whole = spans.at(0, T);
    double log_z = impossible;
    for (std::int64_t A = 0; A < Y; ++A) add(log_z, in[0][whole * Y + A]);
    if (log_z == impossible) return log_z;
    for (std::int64_t A = 0; A < Y; ++A) up[0][whole * Y + A] = 0;
    for (std::int64_t length = T; length >= 1; --length)
        for (std::int64_t i = 0, j = length; j <= T; ++i, ++j) {
            machine::check_stop();
            const std::int64_t s = spans.at(i, j);
            Real* gradient = out.span + s * p.stride;
            if (p.closed(s, length)) {
                std::fill(gradient, gradient + (p.roles ? 3 : 1) * Y, Real(0));
                continue;
            }
            for (int side = 0; side < 2; ++side)
                for (std::int64_t A = 0; A < Y; ++A) {
                    const double above = up[side + 1][s * Y + A] + role(s, side, A);
                    if (above == impossible) continue;
                    for (std::int64_t B = 0; B < Y; ++B) {
                        const double x = above + weight(side, B * Y + A);
                        add(up[0][s * Y + B], x);
                        add(joint[side][B * Y + A], x + in[0][s * Y + B]);
                    }
                }
            for (std::int64_t A = 0; A < Y; ++A) {
                const double above = up[0][s * Y + A] + own(i, j, A);
                if (above == impossible) continue;
                for (std::int64_t k = i + 1; k < j; ++k) {
                    const std::int64_t a = spans.at(i, k) * Y + A, b = spans.at(k, j) * Y + A;
                    add(up[1][a], above + in[2][b]);
                    add(up[2][b], above + in[1][a]);
                }
            }
            for (int r = 0; r < (p.roles ? 3 : 1); ++r)
                for (std::int64_t A = 0; A < Y; ++A)
                    gradient[r * Y + A] = static_cast<Real>(std::exp(in[r][s * Y + A] + up[r][s * Y + A] - log_z));
        }
    for (int side = 0; side < 2; ++side)
        if (Real* to = side ? out.right : out.left)
            for (std::int64_t c = 0; c < Y * Y; ++c) to[c] = static_cast<Real>(std::exp(joint[side][c] - log_z));
    return log_z;
}

template <class Real> double logsum(const TreePotentials<Real>& p, const TreeExpectations<Real>& out) {
    machine::Workspace<SumChart> workspace;
    SumChart& chart = *workspace;
    double log_z = 0;
    return machine::may_throw([&] { return run(chart, p, out, log_z); }) ? log_z : in_logarithms(p, out);
}

} // namespace

double tree_logsum(const TreePotentials<float>& p, const TreeExpectations<float>& out) { return logsum(p, out); }
double tree_logsum(const TreePotentials<double>& p, const TreeExpectations<double>& out) { return logsum(p, out); }

} // namespace chaffinch::structures
