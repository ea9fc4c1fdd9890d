// The best derivation, and the k best.
#include "clones.hpp"
#include "derivation_chart.hpp"
#include "lazy_kbest.hpp"
#include "may_throw.hpp"
#include "workspace.hpp"

#include <numeric>

namespace chaffinch::structures {

Grammar::Grammar(std::int64_t labels, std::span<const std::int32_t> rules)
    : Y(labels), R(static_cast<std::int64_t>(rules.size()) / 3), parent_ptr(static_cast<std::size_t>(labels) + 1),
      by_parent(static_cast<std::size_t>(R)), left_ptr(parent_ptr), place(static_cast<std::size_t>(R)), W(0) {
    for (std::int64_t r = 0; r < R; ++r) {
        parent.push_back(rules[3 * r]);
        left.push_back(rules[3 * r + 1]);
        right.push_back(rules[3 * r + 2]);
        ++parent_ptr[parent.back() + 1];
    }
    std::partial_sum(parent_ptr.begin(), parent_ptr.end(), parent_ptr.begin());
    std::iota(by_parent.begin(), by_parent.end(), 0);
    std::vector<std::int32_t> by_children = by_parent;
    std::ranges::sort(by_parent, {}, [&](std::int32_t r) { return std::tuple(parent[r], left[r], right[r]); });
    std::ranges::sort(by_children, {}, [&](std::int32_t r) { return std::tuple(left[r], right[r], parent[r]); });
    for (std::size_t m = 0, n; m < by_children.size(); m = n) {
        const std::int32_t r = by_children[m];
        if (m == 0 || left[by_children[m - 1]] != left[r] || right[by_children[m - 1]] != right[r]) {
            ++left_ptr[left[r] + 1];
            pair_right.push_back(right[r]);
            run_ptr.push_back(static_cast<std::int64_t>(runs.size()));
        }
        const auto follows = [&](std::int32_t next) {
            return left[next] == left[r] && right[next] == right[r] &&
                   parent[next] == parent[r] + static_cast<std::int32_t>(n - m);
        };
        for (n = m; n < by_children.size() && follows(by_children[n]); ++n)
            place[by_children[n]] = W + static_cast<std::int64_t>(n - m);
        const std::int64_t room = machine::padded(static_cast<std::int64_t>(n - m));
        runs.push_back({parent[r], static_cast<std::int32_t>(room / machine::lanes), W});
        W += room;
    }
    run_ptr.push_back(static_cast<std::int64_t>(runs.size()));
    std::partial_sum(left_ptr.begin(), left_ptr.end(), left_ptr.begin());
}

namespace {

template <class Real>
CHAFFINCH_INLINE void fill_inline(const DerivationPotentials<Real>& p, DerivationChart<MaxPlus<Real>>& chart) {
    const std::int64_t Y = p.grammar->Y;
    chart.fill(
        *p.grammar, p.T, [&](std::int64_t t, std::int64_t A) { return p.leaf[t * Y + A]; },
        [&](std::int64_t r) { return p.rule[r]; },
        [&](std::int64_t s, std::int64_t A) { return p.span ? p.span[s * Y + A] : Real(0); },
        [](std::int64_t, std::int64_t) { return static_cast<const Real*>(nullptr); },
        [&](std::int64_t s) { return p.open && !p.open[s]; });
}

CHAFFINCH_HOT void fill_hot(const DerivationPotentials<float>& p, DerivationChart<MaxPlus<float>>& chart) {
    fill_inline(p, chart);
}
CHAFFINCH_HOT void fill_hot(const DerivationPotentials<double>& p, DerivationChart<MaxPlus<double>>& chart) {
    fill_inline(p, chart);
}

template <class Real> class DerivationGraph {
  public:
    DerivationGraph(const DerivationPotentials<Real>& p, const DerivationChart<MaxPlus<Real>>& chart)
        : p_(p), chart_(chart), Y_(p.grammar->Y) {
        for (std::int64_t i = 0; i < p.T; ++i)
            for (std::int64_t j = i + 1; j <= p.T; ++j) start_.push_back(static_cast<std::int32_t>(i));
    }

    std::int64_t root() const { return chart_.spans.count() * Y_; }
    TreeNode place(std::int64_t node) const {
        const std::int64_t s = node / Y_, i = start_[static_cast<std::size_t>(s)];
        return {static_cast<std::int32_t>(i), static_cast<std::int32_t>(s - chart_.spans.at(i, i + 1) + i + 1),
                static_cast<std::int32_t>(node % Y_)};
    }
    Real best(std::int64_t node) const {
        const TreeNode n = place(node);
        return chart_.at(n.start, n.end, n.label);
    }
    Real value(std::int64_t, Real offer) const { return offer; }

    template <class Add> void edges(std::int64_t node, Add&& add) const {
        constexpr Real none = MaxPlus<Real>::zero;
        if (node == root()) {
            const std::int64_t whole = chart_.spans.at(0, p_.T) * Y_;
            for (std::int64_t A = 0; A < Y_; ++A)
                if (const Real offer = best(whole + A) + p_.above(A); offer > none) add(whole + A, -1, p_.above(A), offer);
            return;
        }
        const TreeNode n = place(node);
        if (n.end - n.start == 1) return add(-1, -1, 0, best(node));
        const Real own = p_.span ? p_.span[node] : 0;
        const Grammar& g = *p_.grammar;
        for (std::int64_t m = g.parent_ptr[n.label]; m < g.parent_ptr[n.label + 1]; ++m) {
            const std::int32_t r = g.by_parent[m];
            const Real weight = p_.rule[r] + own;
            const SplitRange range = chart_.splits(n.start, n.end, g.left[r], g.right[r]);
            const Real *left = chart_.left_row(n.start, g.left[r]), *right = chart_.right_row(n.end, g.right[r]);
            for (std::int64_t k = range.first; k <= range.last; ++k)
                if (const Real offer = (left[k] + right[k]) + weight; offer > none)
                    add(chart_.spans.at(n.start, k) * Y_ + g.left[r], chart_.spans.at(k, n.end) * Y_ + g.right[r], weight, offer);
        }
    }

  private:
    const DerivationPotentials<Real>& p_;
    const DerivationChart<MaxPlus<Real>>& chart_;
    std::int64_t Y_;
    std::vector<std::int32_t> start_;
};

template <class Real>
bool argmax(const DerivationPotentials<Real>& p, double& score, TreeNode* nodes) {
    machine::Workspace<DerivationChart<MaxPlus<Real>>> workspace;
    DerivationChart<MaxPlus<Real>>& chart = *workspace;
    machine::may_throw([&] { fill_hot(p, chart); });
    const Grammar& g = *p.grammar;
    constexpr Real none = MaxPlus<Real>::zero;
    Real best = none;
    TreeNode top{0, static_cast<std::int32_t>(p.T), -1};
    for (std::int64_t A = 0; A < g.Y; ++A)
        if (const Real x = chart.at(0, p.T, A) + p.above(A); x > best) best = x, top.label = static_cast<std::int32_t>(A);
    score = static_cast<double>(best);
    if (best == none) return false;
    std::vector<TreeNode> waiting{top};
    while (!waiting.empty()) {
        const TreeNode n = waiting.back();
        waiting.pop_back();
        *nodes++ = n;
        if (n.end - n.start == 1) continue;
        Real most = none;
        TreeNode a{n.start, n.end, -1}, b{0, n.end, -1};
        for (std::int64_t m = g.parent_ptr[n.label]; m < g.parent_ptr[n.label + 1]; ++m) {
            const std::int32_t r = g.by_parent[m];
            const SplitRange range = chart.splits(n.start, n.end, g.left[r], g.right[r]);
            const Real *l = chart.left_row(n.start, g.left[r]), *right = chart.right_row(n.end, g.right[r]);
            for (std::int32_t k = range.first; k <= range.last; ++k) {
                const Real x = (l[k] + right[k]) + p.rule[r];
                // rules come by left and right child: of equals the first k wins
                if (x > most || (x == most && x > none && k < a.end)) most = x, a = {n.start, k, g.left[r]}, b = {k, n.end, g.right[r]};
            }
        }
        waiting.push_back(b);
        waiting.push_back(a);
    }
    return true;
}

template <class Real>
void kbest(const DerivationPotentials<Real>& p, std::int64_t k, std::vector<double>& scores, std::vector<TreeNode>& nodes) {
    machine::Workspace<DerivationChart<MaxPlus<Real>>> workspace;
    DerivationChart<MaxPlus<Real>>& chart = *workspace;
    machine::may_throw([&] { fill_hot(p, chart); });
    DerivationGraph<Real> graph(p, chart);
    LazyKBest<DerivationGraph<Real>, Real>(graph).unfold(
        graph.root(), k, [&](Real score) { scores.push_back(static_cast<double>(score)); },
        [&](std::int64_t node) { nodes.push_back(graph.place(node)); });
}

} // namespace

template <class Real> void fill_best(const DerivationPotentials<Real>& p, DerivationChart<MaxPlus<Real>>& chart) {
    machine::may_throw([&] { fill_hot(p, chart); });
}
template void fill_best(const DerivationPotentials<float>&, DerivationChart<MaxPlus<float>>&);
template void fill_best(const DerivationPotentials<double>&, DerivationChart<MaxPlus<double>>&);

bool derivation_argmax(const DerivationPotentials<float>& p, double& s, TreeNode* n) { return argmax(p, s, n); }
bool derivation_argmax(const DerivationPotentials<double>& p, double& s, TreeNode* n) { return argmax(p, s, n); }
void derivation_kbest(const DerivationPotentials<float>& p, std::int64_t k, std::vector<double>& s, std::vector<TreeNode>& n) {
    kbest(p, k, s, n);
}
void derivation_kbest(const DerivationPotentials<double>& p, std::int64_t k, std::vector<double>& s,
                      std::vector<TreeNode>& n) {
    kbest(p, k, s, n);
}

} // namespace chaffinch::structures
