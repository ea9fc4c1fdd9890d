#include "smo.hpp"

#include "clones.hpp"
#include "parallel.hpp"
#include "stop.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace chaffinch::learners {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::int64_t nobody = -1;

using Doubles = machine::Pack<double>;
using Longs = machine::Pack<std::int64_t>;
using Floats = machine::Pack<float>;

// The best value and its example; of equals, the first.
struct Best {
    double value;
    std::int64_t at;
};

CHAFFINCH_INLINE Best resolved(const Doubles& value, const Longs& at) {
    Best best{-infinite, nobody};
    for (std::int64_t l = 0; l < machine::lanes; ++l)
        if (value[l] > best.value || (value[l] == best.value && value[l] > -infinite && at[l] < best.at))
            best = {value[l], at[l]};
    return best;
}

CHAFFINCH_INLINE void take(Floats& to, const float* row, const std::int64_t* index, bool straight) {
    if (straight) return machine::get<float>(to, row);
    float found[machine::lanes];
    for (std::int64_t l = 0; l < machine::lanes; ++l) found[l] = row[index[l]];
    machine::get<float>(to, found);
}

// i: the largest f among `up`; and the smallest f among `low`.
CHAFFINCH_HOT void extremes(const double* f, const double* up, const double* low, std::int64_t n, Best& most, double& least) {
    Doubles high = Doubles{} - infinite, down = Doubles{} + infinite;
    Longs at{}, here = machine::numbered<std::int64_t>();
    for (std::int64_t k = 0; k < n; k += machine::lanes) {
        Doubles value, u, v;
        machine::get<double>(value, f + k);
        machine::get<double>(u, up + k);
        machine::get<double>(v, low + k);
        u += value;
        v += value;
        const Longs better = u > high;
        high = machine::select(better, u, high);
        at = machine::select(better, here, at);
        down = machine::smaller(v, down);
        here += machine::lanes;
    }
    most = resolved(high, at);
    least = infinite;
    for (std::int64_t l = 0; l < machine::lanes; ++l) least = std::min(least, down[l]);
}

// j: among `low`, the largest (f_i - f_j)^2 / (k_ii + k_jj - 2 k_ij) with f_j < f_i.
CHAFFINCH_HOT std::int64_t partner(const double* f, const double* low, const float* k, std::int64_t n, double f_i,
                                   float k_ii, const float* row, const std::int64_t* index, bool straight) {
    Floats best = Floats{} - 1.0f;
    machine::Pack<std::int32_t> at{}, here = machine::numbered<std::int32_t>();
    for (std::int64_t t = 0; t < n; t += machine::lanes) {
        Doubles value, v;
        machine::get<double>(value, f + t);
        machine::get<double>(v, low + t);
        Floats diagonal, k_ij;
        machine::get<float>(diagonal, k + t);
        take(k_ij, row + (straight ? t : 0), index + t, straight);
        const Floats apart = machine::converted<float, double>(f_i - (value + v));
        Floats curve = k_ii + diagonal - 2.0f * k_ij;
        curve = machine::select(curve > 1e-12f, curve, Floats{} + 1e-12f);
        Floats gain = apart * apart / curve;
        gain = machine::select(apart > 0.0f, gain, Floats{} - 1.0f);
        const machine::Pack<std::int32_t> better = gain > best;
        best = machine::select(better, gain, best);
        at = machine::select(better, here, at);
        here += static_cast<std::int32_t>(machine::lanes);
    }
    std::int64_t j = nobody;
    float most = 0;
    for (std::int64_t l = 0; l < machine::lanes; ++l)
        if (best[l] > most || (best[l] == most && best[l] > 0 && at[l] < j)) most = best[l], j = at[l];
    return j;
}

// f_n -= d (k_in - k_jn)
CHAFFINCH_HOT void move(double* f, std::int64_t n, double d, const float* row_i, const float* row_j,
                        const std::int64_t* index, bool straight) {
    for (std::int64_t t = 0; t < n; t += machine::lanes) {
        Floats a, b;
        take(a, row_i + (straight ? t : 0), index + t, straight);
        take(b, row_j + (straight ? t : 0), index + t, straight);
        Doubles value;
        machine::get<double>(value, f + t);
        value -= d * (machine::converted<double, float>(a) - machine::converted<double, float>(b));
        machine::put<double>(f + t, value);
    }
}

} // namespace

Smo::Smo(GramRow row, std::span<const double> diagonal, std::span<const float> t, std::span<const double> C, bool shrinking)
    : row_(std::move(row)), N_(static_cast<std::int64_t>(t.size())), shrinking_(shrinking),
      diagonal_(diagonal.begin(), diagonal.end()), t_(t.begin(), t.end()), C_(C.begin(), C.end()),
      alpha_(static_cast<std::size_t>(N_)) {
    const auto room = static_cast<std::size_t>(machine::padded(N_));
    index_.assign(room, 0);
    f_.assign(room, 0.0), up_.assign(room, -infinite), low_.assign(room, infinite), k_.assign(room, 0.0f);
    resting_f_.assign(t_.begin(), t_.end());
    active_ = N_;
    for (std::int64_t n = 0; n < N_; ++n) index_[n] = n, f_[n] = t_[n], place(n);
}

// Puts an active example into the sets that its bounds allow.
void Smo::place(std::int64_t at) {
    const std::int64_t n = index_[at];
    const bool risen = alpha_[n] >= C_[n], fallen = alpha_[n] <= 0;
    up_[at] = (t_[n] > 0 ? !risen : !fallen) ? 0.0 : -infinite;
    low_[at] = (t_[n] > 0 ? !fallen : !risen) ? 0.0 : infinite;
    k_[at] = static_cast<float>(diagonal_[n]);
}

double Smo::run(std::int64_t steps, double tolerance) {
    for (;;) {
        machine::check_stop();
        const std::int64_t width = machine::padded(active_);
        const bool straight = active_ == N_;
        Best most{};
        double least = 0;
        extremes(f_.data(), up_.data(), low_.data(), width, most, least);
        const double violation = most.at == nobody || least == infinite ? 0.0 : most.value - least;
        if (violation <= tolerance) {
            if (active_ == N_) return std::max(violation, 0.0);
            wake();
            continue;
        }
        if (steps-- <= 0) return violation;
        if (shrinking_ && ++since_shrinking_ >= std::min<std::int64_t>(N_, 1000)) {
            since_shrinking_ = 0;
            shrink(most.value, least);
            continue;
        }
        const std::int64_t i = index_[most.at];
        const float* row_i = row_(i);
        const std::int64_t at = partner(f_.data(), low_.data(), k_.data(), width, most.value, k_[most.at], row_i,
                                        index_.data(), straight);
        if (at == nobody) return violation;
        const std::int64_t j = index_[at];
        const double curve = std::max(diagonal_[i] + diagonal_[j] - 2.0 * row_i[j], 1e-12);
        const double left_i = t_[i] > 0 ? C_[i] - alpha_[i] : alpha_[i];
        const double left_j = t_[j] > 0 ? alpha_[j] : C_[j] - alpha_[j];
        const double d = std::min({(most.value - f_[at]) / curve, left_i, left_j});
        alpha_[i] = d == left_i ? (t_[i] > 0 ? C_[i] : 0.0) : alpha_[i] + t_[i] * d;
        alpha_[j] = d == left_j ? (t_[j] > 0 ? 0.0 : C_[j]) : alpha_[j] - t_[j] * d;
        place(most.at), place(at);
        const float* row_j = row_(j);
        move(f_.data(), width, d, row_i, row_j, index_.data(), straight);
        ++steps_;
    }
}

// Shrinks examples that are only in `up` with f below all of `low`, or only in `low` with f above all of `up`.
void Smo::shrink(double most, double least) {
    std::int64_t kept = 0;
    for (std::int64_t at = 0; at < active_; ++at) {
        const std::int64_t n = index_[at];
        const bool only_up = low_[at] == infinite, only_low = up_[at] == -infinite;
        if ((only_up && f_[at] < least) || (only_low && f_[at] > most)) continue;
        index_[kept] = n, f_[kept] = f_[at];
        place(kept++);
    }
    const std::int64_t width = machine::padded(active_);
    active_ = kept;
    for (std::int64_t at = kept; at < width; ++at) up_[at] = -infinite, low_[at] = infinite, f_[at] = 0, index_[at] = 0;
}

// All examples are active again; f of the shrunk ones is recomputed from the support vectors.
void Smo::wake() {
    std::vector<std::uint8_t> is_active(static_cast<std::size_t>(N_));
    for (std::int64_t at = 0; at < active_; ++at) is_active[index_[at]] = 1, resting_f_[index_[at]] = f_[at];
    std::vector<std::int64_t> rested;
    for (std::int64_t n = 0; n < N_; ++n)
        if (!is_active[n]) rested.push_back(n), resting_f_[n] = t_[n];
    for (std::int64_t m = 0; m < N_; ++m) {
        if (alpha_[m] == 0) continue;
        const float* row = row_(m);
        for (const std::int64_t n : rested) resting_f_[n] -= alpha_[m] * t_[m] * row[n];
    }
    active_ = N_;
    for (std::int64_t n = 0; n < N_; ++n) index_[n] = n, f_[n] = resting_f_[n], place(n);
}

SvmObjective Smo::objective() {
    if (active_ < N_) wake();
    SvmObjective out;
    double free = 0, most = -infinite, least = infinite;
    std::int64_t count = 0;
    for (std::int64_t n = 0; n < N_; ++n) {
        if (alpha_[n] > 0 && alpha_[n] < C_[n]) free += f_[n], ++count;
        if (up_[n] == 0) most = std::max(most, f_[n]);
        if (low_[n] == 0) least = std::min(least, f_[n]);
    }
    if (count > 0)
        out.bias = free / static_cast<double>(count);
    else
        out.bias = most == -infinite ? least : least == infinite ? most : (most + least) / 2;
    double length = 0, loss = 0, sum = 0;
    for (std::int64_t n = 0; n < N_; ++n) {
        length += alpha_[n] * t_[n] * (t_[n] - f_[n]);
        loss += C_[n] * std::max(0.0, t_[n] * (f_[n] - out.bias));
        sum += alpha_[n];
    }
    out.primal = length / 2 + loss;
    out.dual = sum - length / 2;
    return out;
}

void solve_svms(const float* K, std::int64_t N, const SvmProblems& problems, double tolerance, double gap,
                std::int64_t most_steps, std::size_t threads, double* alpha, SvmObjective* objectives) {
    machine::parallel_blocks(problems.ptr.size() - 1, threads, [&](std::size_t p) {
        const std::int64_t first = problems.ptr[p], n = problems.ptr[p + 1] - first, stride = machine::padded(n);
        const auto members = problems.members.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n));
        machine::AlignedVector<float> rows(static_cast<std::size_t>(n * stride));
        std::vector<double> diagonal(static_cast<std::size_t>(n));
        for (std::int64_t i = 0; i < n; ++i) {
            machine::check_stop();
            const float* from = K + members[i] * N;
            for (std::int64_t j = 0; j < n; ++j) rows[i * stride + j] = from[members[j]];
            diagonal[i] = rows[i * stride + i];
        }
        const auto t = problems.t.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n));
        const auto C = problems.C.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n));
        Smo smo([&](std::int64_t i) { return rows.data() + i * stride; }, diagonal, t, C, n > 1000);
        const std::int64_t pass = gap > 0 ? std::max<std::int64_t>(n, 100) : most_steps;
        for (bool done = false; !done;) {
            const double violation = smo.run(pass, tolerance);
            const SvmObjective o = objectives[p] = smo.objective();
            done = violation <= tolerance || o.primal - o.dual <= gap * o.primal || smo.steps() >= most_steps;
        }
        std::copy_n(smo.alpha().begin(), n, alpha + first);
    });
}

} // namespace chaffinch::learners
