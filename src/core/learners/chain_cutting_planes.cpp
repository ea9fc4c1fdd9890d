#include "chain_cutting_planes.hpp"

#include "stop.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace chaffinch::learners {

namespace {

constexpr double above = 1e-7;   // an answer is new if it exceeds all kept ones by this fraction
constexpr double solved = 1e-2; // a sentence's programme is solved to this fraction of its gap

double wide(float value) { return static_cast<double>(value); }

// Keeps the inner products of the planes in `kept` [<= K], out of K.
void take(std::vector<double>& G, std::size_t K, const std::vector<std::size_t>& kept) {
    for (std::size_t i = 0; i < kept.size(); ++i)
        for (std::size_t j = 0; j < kept.size(); ++j) G[i * kept.size() + j] = G[kept[i] * K + kept[j]];
    G.resize(kept.size() * kept.size());
}

// Adds a row and a column: row [K+1], the last entry its own square.
void grow(std::vector<double>& G, std::size_t K, const std::vector<double>& row) {
    std::vector<double> larger((K + 1) * (K + 1));
    for (std::size_t i = 0; i < K; ++i) {
        std::copy_n(G.begin() + static_cast<std::ptrdiff_t>(i * K), K, larger.begin() + static_cast<std::ptrdiff_t>(i * (K + 1)));
        larger[i * (K + 1) + K] = row[i];
    }
    std::ranges::copy(row, larger.begin() + static_cast<std::ptrdiff_t>(K * (K + 1)));
    G = std::move(larger);
}

} // namespace

// -- n slacks ---------------------------------------------------------------------------------------------------------

template <class Observations>
NSlackPlanes<Observations>::NSlackPlanes(ChainHinge<Observations> hinge, std::int64_t size, std::span<const double> C,
                                         std::int64_t idle)
    : hinge_(std::move(hinge)), C_(C.begin(), C.end()), idle_(idle), w_(static_cast<std::size_t>(size)), sets_(C.size()) {
    for (std::size_t n = 0; n < sets_.size(); ++n) {
        const auto i = static_cast<std::int64_t>(n);
        const std::int32_t* y = hinge_.gold(i);
        sets_[n].planes.push_back({.labels = {y, y + hinge_.length(i)}, .loss = 0, .a = 1, .rested = 0});
        sets_[n].G.assign(1, 0.0);
    }
}

template <class Observations> double NSlackPlanes<Observations>::run(std::span<const std::int64_t> order) {
    double gaps = 0;
    for (const std::int64_t n : order) {
        machine::check_stop();
        if (hinge_.length(n) == 0) continue;
        const WorstAnswer worst = hinge_.search(w_.data(), n);
        heights(n);
        WorkingSet& set = sets_[static_cast<std::size_t>(n)];
        const double top = *std::ranges::max_element(up_);
        if (worst.height > top + above * std::max(1.0, std::abs(top))) {
            add(n, worst);
            up_.push_back(worst.height);
        }
        gaps += solve(n, std::max(top, worst.height));
        drop_idle(set);
    }
    return gaps;
}

template <class Observations> double NSlackPlanes<Observations>::sweep(std::span<const std::int64_t> order) {
    double gaps = 0;
    for (const std::int64_t n : order) {
        if (sets_[static_cast<std::size_t>(n)].planes.size() < 2) continue;
        machine::check_stop();
        hinge_.score(w_.data(), n);
        heights(n);
        gaps += solve(n, *std::ranges::max_element(up_));
    }
    return gaps;
}

// Writes the heights of the kept planes to up_, given the scores of the sentence.
template <class Observations> void NSlackPlanes<Observations>::heights(std::int64_t n) {
    up_.clear();
    for (const Plane& plane : sets_[static_cast<std::size_t>(n)].planes)
        up_.push_back(plane.loss == 0 ? 0.0
                                      : plane.loss + hinge_.scale(plane.loss) * hinge_.over(w_.data(), n, plane.labels.data()));
}

// Optimises a_n with all other sentences fixed; returns the sentence's gap before.
template <class Observations> double NSlackPlanes<Observations>::solve(std::int64_t n, double top) {
    WorkingSet& set = sets_[static_cast<std::size_t>(n)];
    const std::size_t K = set.planes.size();
    const double C = C_[static_cast<std::size_t>(n)];
    double mean = 0;
    a_.resize(K);
    for (std::size_t k = 0; k < K; ++k) mean += up_[k] * (a_[k] = set.planes[k].a);
    const double short_of = top - mean;
    if (K < 2 || short_of <= 0 || C == 0) return std::max(0.0, C * short_of);
    // Along a_n: up + C G (old a) - C G a, as the gradient of  b . a - C a' G a / 2.
    b_.assign(up_.begin(), up_.end());
    G_.resize(K * K);
    for (std::size_t i = 0; i < K * K; ++i) G_[i] = C * set.G[i];
    for (std::size_t j = 0; j < K; ++j)
        if (a_[j] != 0)
            for (std::size_t k = 0; k < K; ++k) b_[k] += a_[j] * G_[j * K + k];
    programme_.minimise(G_.data(), static_cast<std::int64_t>(K), b_, solved * short_of, a_);
    answers_.clear();
    steps_.clear();
    for (std::size_t k = 0; k < K; ++k) {
        Plane& plane = set.planes[k];
        const double change = a_[k] - plane.a;
        plane.a = a_[k];
        if (change == 0 || plane.loss == 0) continue;
        answers_.push_back(plane.labels.data());
        steps_.push_back(C * hinge_.scale(plane.loss) * change);
    }
    if (!answers_.empty()) hinge_.move(n, answers_, steps_, w_.data()), hinge_.changed();
    return C * short_of;
}

template <class Observations> void NSlackPlanes<Observations>::add(std::int64_t n, const WorstAnswer& worst) {
    WorkingSet& set = sets_[static_cast<std::size_t>(n)];
    const std::int32_t* z = hinge_.labels();
    Plane made{.labels = {z, z + hinge_.length(n)}, .loss = worst.cost, .a = 0, .rested = 0};
    const float* G = hinge_.inner_products(n);
    std::vector<double> row;
    for (const Plane& plane : set.planes) row.push_back(product(n, made, plane, G));
    row.push_back(product(n, made, made, G));
    grow(set.G, set.planes.size(), row);
    set.planes.push_back(std::move(made));
}

// F d_i . F d_j: positions and pairs where an answer equals gold contribute nothing.
template <class Observations>
double NSlackPlanes<Observations>::product(std::int64_t n, const Plane& i, const Plane& j, const float* G) const {
    const std::int64_t T = hinge_.length(n);
    const std::int32_t *y = hinge_.gold(n), *u = i.labels.data(), *v = j.labels.data();
    double sum = 0;
    for (std::int64_t t = 0; t < T; ++t) {
        const bool off = u[t] != y[t], turned = t > 0 && (off || u[t - 1] != y[t - 1]);
        if (!off && !turned) continue;
        for (std::int64_t s = 0; s < T; ++s) {
            if (off && v[s] != y[s]) {
                const int same = (y[t] == y[s]) - (y[t] == v[s]) - (u[t] == y[s]) + (u[t] == v[s]);
                const int edges = (t == 0 && s == 0) + (t == T - 1 && s == T - 1);
                if (same != 0) sum += same * (wide(G[t * T + s]) + edges);
            }
            if (turned && s > 0 && (v[s] != y[s] || v[s - 1] != y[s - 1]))
                sum += (y[t - 1] == y[s - 1] && y[t] == y[s]) - (y[t - 1] == v[s - 1] && y[t] == v[s]) -
                       (u[t - 1] == y[s - 1] && u[t] == y[s]) + (u[t - 1] == v[s - 1] && u[t] == v[s]);
        }
    }
    return hinge_.scale(i.loss) * hinge_.scale(j.loss) * sum;
}

template <class Observations> void NSlackPlanes<Observations>::drop_idle(WorkingSet& set) const {
    std::vector<std::size_t> kept;
    for (std::size_t k = 0; k < set.planes.size(); ++k) {
        Plane& plane = set.planes[k];
        plane.rested = plane.a > 0 ? 0 : plane.rested + 1;
        if (k == 0 || plane.rested <= idle_) kept.push_back(k);
    }
    if (kept.size() == set.planes.size()) return;
    take(set.G, set.planes.size(), kept);
    for (std::size_t i = 0; i < kept.size(); ++i)
        if (i != kept[i]) set.planes[i] = std::move(set.planes[kept[i]]);
    set.planes.resize(kept.size());
}

template <class Observations> MarginObjective NSlackPlanes<Observations>::measured() {
    double hinges = 0, losses = 0;
    for (std::size_t n = 0; n < sets_.size(); ++n) {
        const auto i = static_cast<std::int64_t>(n);
        if (hinge_.length(i) == 0) continue;
        machine::check_stop();
        hinges += C_[n] * hinge_.search(w_.data(), i).height;
        for (const Plane& plane : sets_[n].planes) losses += C_[n] * plane.a * plane.loss;
    }
    const double sq_norm = hinge_.sq_norm(w_.data(), static_cast<std::int64_t>(w_.size()));
    return {sq_norm / 2 + hinges, losses - sq_norm / 2};
}

template <class Observations> std::int64_t NSlackPlanes<Observations>::kept() const {
    std::int64_t sum = 0;
    for (const WorkingSet& set : sets_) sum += static_cast<std::int64_t>(set.planes.size());
    return sum;
}

// -- one slack --------------------------------------------------------------------------------------------------------

template <class Observations>
OneSlackPlanes<Observations>::OneSlackPlanes(ChainHinge<Observations> hinge, std::int64_t size, std::span<const double> C,
                                             std::int64_t idle)
    : hinge_(std::move(hinge)), C_(C.begin(), C.end()), idle_(idle), w_(static_cast<std::size_t>(size)),
      gradient_(static_cast<std::size_t>(size)), number_(static_cast<std::size_t>(size), -1),
      primal_(std::numeric_limits<double>::infinity()), planes_(1), G_(1) {
    planes_[0].a = 1;
}

template <class Observations> MarginObjective OneSlackPlanes<Observations>::cut(double inner, double share) {
    Plane made;
    double primal = search(made);
    for (const double v : tried_) primal += v * v / 2;
    if (primal < primal_) primal_ = primal, best_ = tried_;
    const MarginObjective found{primal_, dual_};

    gather(made);
    std::vector<double> row;
    for (const Plane& plane : planes_) row.push_back(dot(plane));
    row.push_back(dot(made));
    for (const std::int32_t k : made.cells) compact_[static_cast<std::size_t>(k)] = 0;
    grow(G_, planes_.size(), row);
    planes_.push_back(std::move(made));
    solve(inner * std::max(found.primal - found.dual, 0.0));
    drop_idle();

    best_.resize(cells_.size());
    if (2 * dropped_ > cells_.size()) renumber();
    tried_.resize(cells_.size());
    for (std::size_t k = 0; k < cells_.size(); ++k) {
        tried_[k] = best_[k] + share * (solved_[k] - best_[k]);
        w_[static_cast<std::size_t>(cells_[k])] = static_cast<float>(tried_[k]);
    }
    return found;
}

// Writes the sum of the worst planes under the trial weights to gradient_; returns the sum of the hinges.
template <class Observations> double OneSlackPlanes<Observations>::search(Plane& made) {
    double hinges = 0;
    hinge_.changed();
    for (std::int64_t n = 0; n < hinge_.sentences(); ++n) {
        if (hinge_.length(n) == 0) continue;
        machine::check_stop();
        const double C = C_[static_cast<std::size_t>(n)];
        const WorstAnswer worst = hinge_.search(w_.data(), n);
        hinges += C * worst.height;
        if (worst.cost == 0 || C == 0) continue;
        made.loss += C * worst.cost;
        const std::int32_t* z = hinge_.labels();
        const double step = C * hinge_.scale(worst.cost);
        hinge_.move(n, {&z, 1}, {&step, 1}, gradient_.data());
    }
    return hinges;
}

// Moves the non-zero cells of gradient_ into a plane and compact_; gradient_ is zero afterwards.
template <class Observations> void OneSlackPlanes<Observations>::gather(Plane& made) {
    for (std::size_t row = 0; row < gradient_.size(); row += machine::lanes) {
        const std::size_t end = std::min(row + machine::lanes, gradient_.size());
        if (std::all_of(gradient_.begin() + static_cast<std::ptrdiff_t>(row), gradient_.begin() + static_cast<std::ptrdiff_t>(end),
                        [](float v) { return v == 0; }))
            continue;
        for (std::size_t k = row; k < end; ++k) {
            if (gradient_[k] == 0) continue;
            if (number_[k] < 0) {
                number_[k] = static_cast<std::int32_t>(cells_.size());
                cells_.push_back(static_cast<std::int32_t>(k));
                compact_.push_back(0);
            }
            compact_[static_cast<std::size_t>(number_[k])] = gradient_[k];
            made.cells.push_back(number_[k]);
            made.values.push_back(gradient_[k]);
            gradient_[k] = 0;
        }
    }
}

template <class Observations> double OneSlackPlanes<Observations>::dot(const Plane& plane) const {
    double sum = 0;
    for (std::size_t i = 0; i < plane.cells.size(); ++i)
        sum += wide(compact_[static_cast<std::size_t>(plane.cells[i])]) * wide(plane.values[i]);
    return sum;
}

// Solves the programme over the planes and computes its weights.
template <class Observations> void OneSlackPlanes<Observations>::solve(double tolerance) {
    const std::size_t K = planes_.size();
    std::vector<double> b, a;
    for (const Plane& plane : planes_) b.push_back(plane.loss), a.push_back(plane.a);
    programme_.minimise(G_.data(), static_cast<std::int64_t>(K), b, tolerance, a);
    solved_.assign(cells_.size(), 0.0);
    dual_ = 0;
    for (std::size_t k = 0; k < K; ++k) {
        Plane& plane = planes_[k];
        plane.a = a[k];
        if (a[k] == 0) continue;
        dual_ += a[k] * plane.loss;
        for (std::size_t i = 0; i < plane.cells.size(); ++i)
            solved_[static_cast<std::size_t>(plane.cells[i])] += a[k] * wide(plane.values[i]);
    }
    for (const double v : solved_) dual_ -= v * v / 2;
}

template <class Observations> std::vector<float> OneSlackPlanes<Observations>::weights() const {
    std::vector<float> w(w_.size());
    for (std::size_t k = 0; k < best_.size(); ++k) w[static_cast<std::size_t>(cells_[k])] = static_cast<float>(best_[k]);
    return w;
}

template <class Observations> void OneSlackPlanes<Observations>::drop_idle() {
    std::vector<std::size_t> kept;
    for (std::size_t k = 0; k < planes_.size(); ++k) {
        planes_[k].rested = planes_[k].a > 0 ? 0 : planes_[k].rested + 1;
        if (k == 0 || planes_[k].rested <= idle_)
            kept.push_back(k);
        else
            dropped_ += planes_[k].cells.size();
    }
    if (kept.size() == planes_.size()) return;
    take(G_, planes_.size(), kept);
    for (std::size_t i = 0; i < kept.size(); ++i)
        if (i != kept[i]) planes_[i] = std::move(planes_[kept[i]]);
    planes_.resize(kept.size());
}

// Drops the cells that no plane has any more and renumbers the others in the order of w.
template <class Observations> void OneSlackPlanes<Observations>::renumber() {
    std::vector<std::uint8_t> used(cells_.size());
    for (const Plane& plane : planes_)
        for (const std::int32_t k : plane.cells) used[static_cast<std::size_t>(k)] = 1;
    std::vector<std::int32_t> order;
    for (std::size_t k = 0; k < cells_.size(); ++k) {
        const auto cell = static_cast<std::size_t>(cells_[k]);
        if (used[k] || best_[k] != 0)
            order.push_back(static_cast<std::int32_t>(k));
        else
            number_[cell] = -1, w_[cell] = 0;
    }
    std::ranges::sort(order, {}, [this](std::int32_t k) { return cells_[static_cast<std::size_t>(k)]; });
    std::vector<std::int32_t> cells, now(cells_.size());
    std::vector<double> best, solved;
    for (const std::int32_t old : order) {
        const auto k = static_cast<std::size_t>(old);
        now[k] = number_[static_cast<std::size_t>(cells_[k])] = static_cast<std::int32_t>(cells.size());
        cells.push_back(cells_[k]);
        best.push_back(best_[k]);
        solved.push_back(solved_[k]);
    }
    for (Plane& plane : planes_)
        for (std::int32_t& k : plane.cells) k = now[static_cast<std::size_t>(k)];
    cells_ = std::move(cells);
    best_ = std::move(best);
    solved_ = std::move(solved);
    compact_.assign(cells_.size(), 0.0f);
    dropped_ = 0;
}

CHAFFINCH_PLANES(, SparseObservations)
CHAFFINCH_PLANES(, DenseObservations)
CHAFFINCH_PLANES(, MonomialObservations)

} // namespace chaffinch::learners
