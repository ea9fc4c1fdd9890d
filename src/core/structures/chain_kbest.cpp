// The k best labellings: derivations of the graph of the max programme's cells.
#include "chain_viterbi.hpp"
#include "lazy_kbest.hpp"

namespace chaffinch::structures {

namespace {

// Cells are numbered by position, label, label before (second order), which is the order of ties: entry 0 is Viterbi's
// choice, always. The root, fed by every final state, comes last.
template <class Real> class ChainGraph {
  public:
    ChainGraph(MaxProgramme<Real>& programme, const ChainSentence<Real>& x)
        : p_(programme), x_(x), cells_(p_.Y * p_.blocks) {}

    std::int64_t root() const { return p_.T * cells_; }
    std::int64_t position(std::int64_t node) const { return node / cells_; }
    ChainState state(std::int64_t node, std::int64_t t) const { // t: its position
        const std::int64_t cell = node - t * cells_;
        if (p_.blocks == 1) return {0, cell};
        const std::int64_t c = cell / p_.blocks;
        return {cell - c * p_.blocks, c};
    }
    Real best(std::int64_t node) const {
        const std::int64_t t = position(node);
        return alpha(t, state(node, t));
    }

    Real value(std::int64_t node, Real offer) const {
        const std::int64_t t = position(node);
        const ChainState s = state(node, t);
        Real v = offer + p_.unary(t)[s.c];
        if (p_.closing() && t == p_.T - 1) v += p_.closing()[s.b * p_.S + s.c];
        return v - p_.divisor(t);
    }

    template <class Add> void edges(std::int64_t node, Add&& add) const {
        constexpr Real none = MaxPlus<Real>::zero;
        const std::int64_t t = position(node), before = (t - 1) * cells_;
        if (t == p_.T) {
            for (std::int64_t c = 0; c < p_.Y; ++c)
                for (std::int64_t b = 0; b * p_.S < p_.width(t - 1); ++b)
                    if (const Real v = alpha(t - 1, {b, c}); v > none) add(before + c * p_.blocks + b, -1, 0, v);
            return;
        }
        const ChainState s = state(node, t);
        if (t == 0) return add(-1, -1, 0, alpha(0, s));
        const Real *w = p_.weights(x_, t) + s.b * p_.S + s.c, *from = p_.alpha(t - 1) + s.b;
        const std::int64_t first = before + (p_.second() ? s.b * p_.blocks : 0), fan = p_.fan(t);
        for (std::int64_t i = 0; i < fan; ++i) {
            const Real weight = w[i * p_.hop * p_.S], offer = from[i * p_.hop] + weight;
            if (offer > none) add(first + i, -1, weight, offer);
        }
    }

  private:
    Real alpha(std::int64_t t, ChainState s) const { return p_.alpha(t)[s.b * p_.S + s.c]; }

    MaxProgramme<Real>& p_;
    const ChainSentence<Real>& x_;
    std::int64_t cells_; // of a position
};

} // namespace

template <class Real>
std::int64_t ChainViterbi<Real>::best(const ChainSentence<Real>& x, std::int64_t k, std::int32_t* labels,
                                      double* scores, std::int64_t& blocked) {
    auto& p = state_->programme;
    blocked = state_->climbed(x);
    if (blocked >= 0) return 0;
    ChainGraph<Real> graph(p, x);
    std::int64_t count = 0;
    LazyKBest<ChainGraph<Real>, Real>(graph).unfold(
        graph.root(), k, [&](Real) { ++count; },
        [&](std::int64_t node) {
            const std::int64_t t = graph.position(node);
            labels[(count - 1) * x.T + t] = static_cast<std::int32_t>(graph.state(node, t).c);
        });
    for (std::int64_t r = 0; r < count; ++r) scores[r] = path_score(p, x, labels + r * x.T);
    return count;
}

template std::int64_t ChainViterbi<float>::best(const ChainSentence<float>&, std::int64_t, std::int32_t*, double*,
                                                std::int64_t&);
template std::int64_t ChainViterbi<double>::best(const ChainSentence<double>&, std::int64_t, std::int32_t*, double*,
                                                 std::int64_t&);

} // namespace chaffinch::structures
