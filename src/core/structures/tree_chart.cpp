#include "tree_chart.hpp"

#include "clones.hpp"
#include "may_throw.hpp"
#include "stop.hpp"
#include "workspace.hpp"

namespace chaffinch::structures {

template <class Real> void TreeChart<Real>::fill_inline() {
    const std::int64_t T = spans.T, Y = p->Y, S = spans.count();
    const MaxPlus<Real> ring;
    Real *c = machine::room(cells_, S * P), *l = machine::room(lefts_, S * P), *r = machine::room(rights_, S * P);
    Real* pairs = machine::room(pairs_, 2 * Y * P);
    std::uint8_t* alive = machine::room(alive_, S);
    std::int32_t* list = machine::room(list_, std::max(Y, T));
    const Real** from = machine::room(from_, 2 * T);
    cell = c, left = l, right = r, left_pair = pairs, right_pair = pairs + Y * P;

    for (int side = 0; side < 2; ++side) {
        const Real* weights = side ? p->right : p->left;
        const std::uint8_t* allowed = side ? p->right_allowed : p->left_allowed;
        Real* out = pairs + side * Y * P;
        std::fill(out, out + Y * P, none);
        for (std::int64_t B = 0; B < Y; ++B)
            for (std::int64_t A = 0; A < Y; ++A)
                if (!allowed || allowed[B * Y + A]) out[B * P + A] = weights ? weights[B * Y + A] : 0;
    }
    for (std::int64_t length = 1; length <= T; ++length)
        for (std::int64_t i = 0, j = length; j <= T; ++i, ++j) {
            machine::check_stop();
            const std::int64_t s = spans.at(i, j);
            Real *row = c + s * P, *lrow = l + s * P, *rrow = r + s * P;
            const Real* potential = p->span + s * p->stride;
            alive[s] = 0;
            if (p->closed(s, length)) continue;
            if (length == 1) {
                std::fill(row, row + P, Real(0));
            } else {
                std::int64_t n = 0;
                for (std::int64_t k = i + 1; k < j; ++k) {
                    const std::int64_t a = spans.at(i, k), b = spans.at(k, j);
                    if (alive[a] && alive[b]) from[n++] = l + a * P, from[n++] = r + b * P;
                }
                if (n == 0) continue;
                for (std::int64_t y = 0; y < P; y += machine::lanes) {
                    machine::Pack<Real> best = {}, u, v;
                    best += none;
                    for (std::int64_t m = 0; m < n; m += 2) {
                        machine::get<Real>(u, from[m] + y), machine::get<Real>(v, from[m + 1] + y);
                        u += v;
                        best = machine::larger(u, best);
                    }
                    machine::put<Real>(row + y, best);
                }
            }
            std::int64_t n = 0;
            for (std::int64_t y = 0; y < P; ++y) {
                row[y] = y < Y && p->allowed(i, j, y) ? row[y] + potential[y] : none;
                if (row[y] > none) list[n++] = static_cast<std::int32_t>(y);
            }
            if (n == 0) continue;
            alive[s] = 1;
            if (j < T) {
                ring.absorb(ListedSources<Real>{n, list, {Y, row, 1, left_pair, P}}, lrow, P);
                if (p->roles)
                    for (std::int64_t y = 0; y < Y; ++y) lrow[y] += potential[Y + y];
            }
            if (i > 0) {
                ring.absorb(ListedSources<Real>{n, list, {Y, row, 1, right_pair, P}}, rrow, P);
                if (p->roles)
                    for (std::int64_t y = 0; y < Y; ++y) rrow[y] += potential[2 * Y + y];
            }
        }
    // Closed or impossible cells are -inf in every role.
    for (std::int64_t s = 0; s < S; ++s)
        if (!alive[s])
            for (Real* rows : {c, l, r}) std::fill(rows + s * P, rows + (s + 1) * P, none);
}

CHAFFINCH_HOT void fill_chart(TreeChart<float>& chart) { chart.fill_inline(); }
CHAFFINCH_HOT void fill_chart(TreeChart<double>& chart) { chart.fill_inline(); }

template <class Real> void TreeChart<Real>::fill(const TreePotentials<Real>& potentials) {
    p = &potentials;
    spans = {potentials.T};
    P = machine::padded(potentials.Y);
    machine::may_throw([&] { fill_chart(*this); });
}

template class TreeChart<float>;
template class TreeChart<double>;

namespace {

template <class Real> bool argmax(const TreePotentials<Real>& p, double& score, TreeNode* nodes) {
    machine::Workspace<TreeChart<Real>> workspace;
    TreeChart<Real>& chart = *workspace;
    chart.fill(p);
    const Real* top = chart.cell + chart.spans.at(0, p.T) * chart.P;
    const std::int64_t A = std::max_element(top, top + p.Y) - top;
    score = static_cast<double>(top[A]);
    if (top[A] == TreeChart<Real>::none) return false;

    std::vector<TreeNode> waiting{{0, static_cast<std::int32_t>(p.T), static_cast<std::int32_t>(A)}};
    while (!waiting.empty()) {
        const TreeNode node = waiting.back();
        waiting.pop_back();
        *nodes++ = node;
        if (node.end - node.start == 1) continue;
        std::int64_t k;
        chart.best_split(node.start, node.end, node.label, k);
        const auto B = chart.best_child(chart.spans.at(node.start, k), chart.left_pair, node.label);
        const auto C = chart.best_child(chart.spans.at(k, node.end), chart.right_pair, node.label);
        const auto split = static_cast<std::int32_t>(k);
        waiting.push_back({split, node.end, static_cast<std::int32_t>(C)});
        waiting.push_back({node.start, split, static_cast<std::int32_t>(B)});
    }
    return true;
}

} // namespace

bool tree_argmax(const TreePotentials<float>& p, double& score, TreeNode* nodes) { return argmax(p, score, nodes); }
bool tree_argmax(const TreePotentials<double>& p, double& score, TreeNode* nodes) { return argmax(p, score, nodes); }

} // namespace chaffinch::structures
