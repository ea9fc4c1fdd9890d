// The k best derivations of an acyclic hypergraph whose best scores are known, drawn lazily (Huang and Chiang 2005,
// "Better k-best parsing", algorithm 3): the list of a node grows only when a better derivation asks for its next entry.
// After one max pass, k derivations cost O(k n log) for n nodes each, plus the edges of the nodes they pass.
//
//   entry r of a node = the r-th largest over its edges (a, b, weight) and ranks p, q of
//                       (value of entry p of a + value of entry q of b) + weight
//
// Equal offers: the smaller a first, then the entries of a in reading order, then b and its entries alike. Chains,
// segments, pruned lattices and trees are such graphs. Matchings are not, since a link excludes others anywhere: their k
// best are Murty's (assignment.cpp).
#pragma once

#include "stop.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace chaffinch::structures {

// A Graph offers
//   edges(node, add)    every edge whose tails can be made, as add(a, b, weight, offer of their first entries); -1: no tail
//   best(node)          the value of its first entry
//   value(node, offer)  the value of an entry with this offer, through the additions of the max pass
template <class Graph, class Real> class LazyKBest {
  public:
    explicit LazyKBest(Graph& graph) : graph_(graph) {}

    // Up to k derivations of the root, best first: begin(score), then visit(node) for every node below the root, parents
    // before children, left before right.
    template <class Begin, class Visit> void unfold(std::int64_t root, std::int64_t k, Begin begin, Visit visit) {
        if (root < dense) index_.assign(static_cast<std::size_t>(root) + 1, nullptr);
        Node& top = opened(root);
        std::vector<std::pair<std::int64_t, std::int32_t>> waiting; // right tails
        for (std::int64_t r = 0; r < k; ++r) {
            machine::check_stop();
            if (r > 0) grow(top);
            if (std::ssize(top.drawn) <= r) return;
            begin(top.drawn[r].offer);
            Entry single; // a first entry that needs no list; after the first derivation it is likely to be met again
            for (const Entry* e = &top.drawn[r];;) {
                if (e->tail[1] >= 0) waiting.push_back({e->tail[1], e->rank[1]});
                std::int64_t node = e->tail[0];
                std::int32_t rank = e->rank[0];
                if (node < 0) {
                    if (waiting.empty()) break;
                    std::tie(node, rank) = waiting.back();
                    waiting.pop_back();
                }
                visit(node);
                if (const Node* at = known(node)) {
                    e = &at->drawn[rank];
                } else {
                    single = first(node);
                    if (r > 0) made(node).drawn.push_back(single);
                    e = &single;
                }
            }
        }
    }

  private:
    struct Entry {
        std::int64_t tail[2];
        std::int32_t rank[2];
        Real weight, offer;
        // To reach each derivation once, the left rank moves only while the right rank is 0.
        bool moves(int side) const { return tail[side] >= 0 && (side == 1 || tail[1] < 0 || rank[1] == 0); }
    };
    struct Node {
        std::vector<Entry> drawn, waiting;
        bool listed = false;        // its edges are queued; until then at most the first entry is known
        bool heaped = false;        // the queue is a heap; for few draws a scan is cheaper
        bool successors_due = true; // successors of the last entry drawn are not queued yet
        bool exhausted = false;
    };

    // Does a come after b? std heaps keep the largest on top, so this is their "less".
    bool after(const Entry& a, const Entry& b) const {
        if (a.offer != b.offer) return a.offer < b.offer;
        if (a.tail[0] != b.tail[0]) return a.tail[0] > b.tail[0];
        // With one tail, equal offers have tails of equal values, whose ranks are in this order already.
        return a.tail[1] < 0 ? a.rank[0] > b.rank[0] : compare(a, b) > 0;
    }

    // Reading order, whatever the offers are.
    int compare(const Entry& a, const Entry& b) const {
        for (int side = 0; side < 2; ++side) {
            if (a.tail[side] != b.tail[side]) return a.tail[side] < b.tail[side] ? -1 : 1;
            if (a.tail[side] < 0 || a.rank[side] == b.rank[side]) continue;
            const Node& tail = *known(a.tail[side]); // opened, as one of the ranks is not the first
            if (const int order = compare(tail.drawn[a.rank[side]], tail.drawn[b.rank[side]])) return order;
        }
        return 0;
    }
    auto order() const {
        return [this](const Entry& a, const Entry& b) { return after(a, b); };
    }

    Node* known(std::int64_t node) const {
        if (!index_.empty()) return index_[static_cast<std::size_t>(node)];
        const auto at = nodes_.find(node);
        return at == nodes_.end() ? nullptr : at->second;
    }
    Node& made(std::int64_t node) {
        if (Node* at = known(node)) return *at;
        Node& here = store_.emplace_back();
        (index_.empty() ? nodes_[node] : index_[static_cast<std::size_t>(node)]) = &here;
        return here;
    }

    Entry first(std::int64_t node) {
        Entry best{{-1, -1}, {0, 0}, 0, -std::numeric_limits<Real>::infinity()};
        graph_.edges(node, [&](std::int64_t a, std::int64_t b, Real weight, Real offer) {
            if (offer < best.offer) return;
            const Entry e{{a, b}, {0, 0}, weight, offer};
            if (after(best, e)) best = e;
        });
        return best;
    }

    // The list of a node, which stays where it is; the first entry is drawn.
    Node& opened(std::int64_t node) {
        Node& here = made(node);
        if (!std::exchange(here.listed, true)) {
            here.drawn.clear();
            offers_.clear();
            graph_.edges(node, [&](std::int64_t a, std::int64_t b, Real weight, Real offer) {
                offers_.push_back({{a, b}, {0, 0}, weight, offer});
            });
            here.waiting.assign(offers_.begin(), offers_.end());
            pop(here);
        }
        return here;
    }

    // One more entry of a node, or exhausted. Its last entry is replaced by those with the next of a tail, which may have
    // to be drawn first: down the graph and up again, without recursion.
    void grow(Node& node) {
        growing_.assign(1, &node);
        while (!growing_.empty()) {
            Node& here = *growing_.back();
            if (here.successors_due && !here.drawn.empty()) {
                const Entry last = here.drawn.back();
                Node* tails[2] = {nullptr, nullptr};
                Node* needed = nullptr;
                for (int side = 0; side < 2; ++side)
                    if (last.moves(side)) {
                        tails[side] = &opened(last.tail[side]);
                        if (!has(*tails[side], last.rank[side] + 1) && !tails[side]->exhausted) needed = tails[side];
                    }
                if (needed) {
                    growing_.push_back(needed);
                    continue;
                }
                for (int side = 0; side < 2; ++side)
                    if (tails[side] && has(*tails[side], last.rank[side] + 1)) push(here, last, side, *tails[side]);
                here.successors_due = false;
            }
            pop(here);
            growing_.pop_back();
        }
    }

    static bool has(const Node& node, std::int32_t rank) { return std::ssize(node.drawn) > rank; }

    void push(Node& here, const Entry& from, int side, const Node& tail) {
        Entry next = from;
        ++next.rank[side];
        const Real moved = graph_.value(next.tail[side], tail.drawn[next.rank[side]].offer);
        const std::int64_t other = next.tail[1 - side];
        next.offer = (other < 0 ? moved : moved + value(other, next.rank[1 - side])) + next.weight;
        here.waiting.push_back(next);
        if (here.heaped) std::push_heap(here.waiting.begin(), here.waiting.end(), order());
    }

    Real value(std::int64_t node, std::int32_t rank) {
        return rank == 0 ? graph_.best(node) : graph_.value(node, known(node)->drawn[rank].offer);
    }

    void pop(Node& here) {
        here.exhausted = here.waiting.empty();
        if (here.exhausted) return;
        if (here.drawn.size() < scans) {
            std::size_t best = 0;
            for (std::size_t m = 1; m < here.waiting.size(); ++m) {
                if (here.waiting[m].offer < here.waiting[best].offer) continue;
                if (after(here.waiting[best], here.waiting[m])) best = m;
            }
            std::swap(here.waiting[best], here.waiting.back());
        } else {
            if (!std::exchange(here.heaped, true)) std::make_heap(here.waiting.begin(), here.waiting.end(), order());
            std::pop_heap(here.waiting.begin(), here.waiting.end(), order());
        }
        here.drawn.push_back(here.waiting.back());
        here.waiting.pop_back();
        here.successors_due = true;
    }

    static constexpr std::size_t scans = 3;
    static constexpr std::int64_t dense = 1 << 14;

    Graph& graph_;
    std::deque<Node> store_;                       // nodes stay where they are
    std::vector<Node*> index_;                     // by number, if the root, the highest of all, is below `dense`
    std::unordered_map<std::int64_t, Node*> nodes_; // the same of larger graphs
    std::vector<Entry> offers_;
    std::vector<Node*> growing_;
};

} // namespace chaffinch::structures
