// The k best trees: derivations of the graph that the chart of the best tree spans.
#include "lazy_kbest.hpp"
#include "tree_chart.hpp"
#include "workspace.hpp"

namespace chaffinch::structures {

namespace {

// Nodes are numbered: cells 3 (s Y + A), as left child 1 more, as right child 2 more; the root comes last.
template <class Real> class TreeGraph {
  public:
    explicit TreeGraph(const TreeChart<Real>& chart) : chart_(chart), Y_(chart.p->Y) {
        const std::int64_t T = chart.spans.T;
        start_.reserve(static_cast<std::size_t>(chart.spans.count()));
        for (std::int64_t i = 0; i < T; ++i)
            for (std::int64_t j = i + 1; j <= T; ++j) start_.push_back(static_cast<std::int32_t>(i));
    }

    std::int64_t root() const { return 3 * chart_.spans.count() * Y_; }
    std::int64_t cell(std::int64_t s, std::int64_t A) const { return 3 * (s * Y_ + A); }

    // The span and label of a cell.
    TreeNode place(std::int64_t node) const {
        const std::int64_t s = node / 3 / Y_, i = start_[static_cast<std::size_t>(s)];
        return {static_cast<std::int32_t>(i), static_cast<std::int32_t>(s - chart_.spans.at(i, i + 1) + i + 1),
                static_cast<std::int32_t>(node / 3 % Y_)};
    }

    Real best(std::int64_t node) const {
        const std::int64_t s = node / 3 / Y_, A = node / 3 % Y_;
        const Real* rows = node % 3 == 0 ? chart_.cell : node % 3 == 1 ? chart_.left : chart_.right;
        return rows[s * chart_.P + A];
    }

    Real value(std::int64_t, Real offer) const { return offer; }

    template <class Add> void edges(std::int64_t node, Add&& add) const {
        constexpr Real none = TreeChart<Real>::none;
        const auto one = [&](std::int64_t a, Real weight) {
            if (const Real offer = best(a) + weight; offer > none) add(a, -1, weight, offer);
        };
        if (node == root()) {
            for (std::int64_t A = 0; A < Y_; ++A) one(cell(chart_.spans.at(0, chart_.spans.T), A), 0);
            return;
        }
        const TreeNode at = place(node);
        const std::int64_t s = node / 3 / Y_, A = at.label;
        const Real* potential = chart_.p->span + s * chart_.p->stride;
        if (node % 3 == 0) {
            if (at.end - at.start == 1) return add(-1, -1, 0, best(node));
            for (std::int64_t k = at.start + 1; k < at.end; ++k) {
                const std::int64_t a = cell(chart_.spans.at(at.start, k), A) + 1, b = cell(chart_.spans.at(k, at.end), A) + 2;
                if (const Real offer = (best(a) + best(b)) + potential[A]; offer > none) add(a, b, potential[A], offer);
            }
            return;
        }
        const Real* pair = node % 3 == 1 ? chart_.left_pair : chart_.right_pair;
        const Real role = chart_.p->roles ? potential[(node % 3) * Y_ + A] : 0;
        for (std::int64_t B = 0; B < Y_; ++B) one(cell(s, B), pair[B * chart_.P + A] + role);
    }

  private:
    const TreeChart<Real>& chart_;
    std::int64_t Y_;
    std::vector<std::int32_t> start_;
};

template <class Real>
void kbest(const TreePotentials<Real>& p, std::int64_t k, std::vector<double>& scores, std::vector<TreeNode>& nodes) {
    machine::Workspace<TreeChart<Real>> workspace;
    TreeChart<Real>& chart = *workspace;
    chart.fill(p);
    TreeGraph<Real> graph(chart);
    LazyKBest<TreeGraph<Real>, Real>(graph).unfold(
        graph.root(), k, [&](Real score) { scores.push_back(static_cast<double>(score)); },
        [&](std::int64_t node) {
            if (node % 3 == 0) nodes.push_back(graph.place(node));
        });
}

} // namespace

void tree_kbest(const TreePotentials<float>& p, std::int64_t k, std::vector<double>& s, std::vector<TreeNode>& n) {
    kbest(p, k, s, n);
}
void tree_kbest(const TreePotentials<double>& p, std::int64_t k, std::vector<double>& s, std::vector<TreeNode>& n) {
    kbest(p, k, s, n);
}

} // namespace chaffinch::structures
