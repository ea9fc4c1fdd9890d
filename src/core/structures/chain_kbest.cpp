// The k-max programme, drawn lazily: the k best paths into a cell are merged from the lists of its sources, and a list
// grows only when a better path asks for its next entry (Huang and Chiang 2005, "Better k-best parsing",
// algorithm 3). After one max pass, k paths cost O(k T log) plus Y for each cell that any of them passes: any k.
//
//   entry r of cell (t, s) = the r-th largest over sources i and ranks q of  entry q of (t-1, i) + W
//
// Equal offers: the smaller i first, then the smaller q; so entry 0 is Viterbi's choice, always.
#include "chain_viterbi.hpp"

#include <algorithm>
#include <vector>

namespace chaffinch::structures {

namespace {

template <class Real> class KMax {
  public:
    KMax(MaxProgramme<Real>& programme, const ChainSentence<Real>& x)
        : p_(programme), x_(x), width_(p_.blocks * p_.S), nodes_of_(static_cast<std::size_t>(p_.T * width_), -1) {
        nodes_.emplace_back().t = p_.T;
        open(0);
    }

    // Is there a path of this rank? Draws it if so; ranks must be asked for in order.
    bool draw(std::int64_t rank) {
        return rank == 0 ? !nodes_[0].drawn.empty() : extend();
    }

    void read(std::int64_t rank, std::int32_t* labels) {
        std::int64_t node = 0, t = p_.T;
        while (true) {
            const Entry& e = nodes_[node].drawn[rank];
            const ChainState s = source(nodes_[node], e.i);
            t = t - 1, rank = e.rank;
            const std::int64_t below = nodes_of_[t * width_ + s.b * p_.S + s.c];
            if (below < 0 || t == 0) return trace(p_, x_, t, s, labels); // never opened: its first entry
            labels[t] = static_cast<std::int32_t>(s.c);
            node = below;
        }
    }

  private:
    struct Entry {
        Real offer;        // entry q of the source + W, as the forward pass adds it up
        std::int64_t i;    // which source
        std::int64_t rank; // q
        bool operator<(const Entry& o) const { // std heaps keep the largest on top
            return offer != o.offer ? offer < o.offer : i != o.i ? i > o.i : rank > o.rank;
        }
    };
    struct Node {
        std::int64_t t = 0; // the root stands at T, fed by every final state
        ChainState s;
        std::vector<Entry> drawn, heap;
        bool exhausted = false;
    };

    // The state at t-1 behind source i. The root orders final states by label, then by the label before.
    ChainState source(const Node& node, std::int64_t i) const {
        if (node.t < p_.T) return before(p_, node.s, i);
        const std::int64_t blocks = p_.width(p_.T - 1) / p_.S;
        return {i % blocks, i / blocks};
    }

    std::int64_t sources(const Node& node) const {
        return node.t < p_.T ? p_.fan(node.t) : p_.Y * (p_.width(p_.T - 1) / p_.S);
    }

    Real offer(const Node& node, std::int64_t i, Real value) {
        if (node.t == p_.T) return value;
        return value + p_.weights(x_, node.t)[(i * p_.hop + node.s.b) * p_.S + node.s.c];
    }

    // The value of entry `rank` of a cell, through the same additions as the forward pass.
    Real value(std::int64_t t, ChainState s, std::int64_t rank) {
        if (rank == 0) return p_.alpha(t)[s.b * p_.S + s.c];
        Real v = nodes_[nodes_of_[t * width_ + s.b * p_.S + s.c]].drawn[rank].offer + p_.unary(t)[s.c];
        if (p_.closing() && t == p_.T - 1) v += p_.closing()[s.b * p_.S + s.c];
        return v - p_.divisor(t);
    }

    void open(std::int64_t n) {
        Node& node = nodes_[n];
        for (std::int64_t i = 0; i < sources(node); ++i) {
            const Real first = offer(node, i, value(node.t - 1, source(node, i), 0));
            if (first > MaxPlus<Real>::zero) node.heap.push_back({first, i, 0});
        }
        std::make_heap(node.heap.begin(), node.heap.end());
        pop(node);
    }

    bool pop(Node& node) {
        node.exhausted = node.heap.empty();
        if (node.exhausted) return false;
        std::pop_heap(node.heap.begin(), node.heap.end());
        node.drawn.push_back(node.heap.back());
        node.heap.pop_back();
        return true;
    }

    // Draws one more entry at the root. The entry last drawn from a cell is replaced by its source's next, which may
    // have to be drawn first: down the chain and up again, without recursion.
    bool extend() {
        waiting_.clear();
        for (std::int64_t n = 0;;) {
            waiting_.push_back(n);
            const Entry last = nodes_[n].drawn.back();
            const std::int64_t t = nodes_[n].t - 1;
            if (t == 0) break; // a first position has one entry
            const ChainState s = source(nodes_[n], last.i);
            std::int64_t& below = nodes_of_[t * width_ + s.b * p_.S + s.c];
            if (below < 0) {
                below = static_cast<std::int64_t>(nodes_.size());
                nodes_.emplace_back().t = t;
                nodes_.back().s = s;
                open(below);
            }
            if (static_cast<std::int64_t>(nodes_[below].drawn.size()) > last.rank + 1) break;
            if (nodes_[below].exhausted) break;
            n = below;
        }
        bool grew = false;
        for (std::size_t k = waiting_.size(); k-- > 0;) {
            Node& node = nodes_[waiting_[k]];
            const Entry last = node.drawn.back();
            const ChainState s = source(node, last.i);
            const std::int64_t t = node.t - 1;
            const std::int64_t below = t > 0 ? nodes_of_[t * width_ + s.b * p_.S + s.c] : -1;
            if (below >= 0 && static_cast<std::int64_t>(nodes_[below].drawn.size()) > last.rank + 1) {
                node.heap.push_back({offer(node, last.i, value(t, s, last.rank + 1)), last.i, last.rank + 1});
                std::push_heap(node.heap.begin(), node.heap.end());
            }
            grew = pop(node);
        }
        return grew;
    }

    MaxProgramme<Real>& p_;
    const ChainSentence<Real>& x_;
    std::int64_t width_;
    std::vector<std::int64_t> nodes_of_; // [T][width]  node of a cell, -1 where none was opened
    std::vector<Node> nodes_;
    std::vector<std::int64_t> waiting_;
};

} // namespace

template <class Real>
std::int64_t ChainViterbi<Real>::best(const ChainSentence<Real>& x, std::int64_t k, std::int32_t* labels,
                                      double* scores, std::int64_t& blocked) {
    auto& p = state_->programme;
    blocked = state_->climbed(x);
    if (blocked >= 0) return 0;
    KMax<Real> paths(p, x);
    std::int64_t rank = 0;
    for (; rank < k && paths.draw(rank); ++rank) {
        paths.read(rank, labels + rank * x.T);
        scores[rank] = path_score(p, x, labels + rank * x.T);
    }
    return rank;
}

template std::int64_t ChainViterbi<float>::best(const ChainSentence<float>&, std::int64_t, std::int32_t*, double*,
                                                std::int64_t&);
template std::int64_t ChainViterbi<double>::best(const ChainSentence<double>&, std::int64_t, std::int32_t*, double*,
                                                 std::int64_t&);

} // namespace chaffinch::structures
