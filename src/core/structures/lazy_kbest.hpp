// The k best derivations of a hypergraph whose best scores are known, found lazily (Huang and Chiang 2005, "Better
// k-best parsing", algorithm 3): a node is looked into only when someone asks for its next derivation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace chaffinch::structures {

// One way to make a node: of one or two others (-1: none) at a weight.
template <class Real> struct Edge {
    std::int64_t tail[2];
    Real weight;
};

// Graph offers best(node), the score of its best derivation, and edges(node, out), every edge whose tails can be made.
// A derivation scores (tail 0 + tail 1) + weight. Ties: by the number of tail 0, then its derivation, then tail 1 alike.
template <class Graph, class Real> class LazyKBest {
  public:
    explicit LazyKBest(const Graph& graph) : graph_(graph) {}

    struct Derivation {
        Edge<Real> edge;
        std::int32_t rank[2];
        Real score;
    };

    // The r-th best derivation of a node, from 0; false if there are not so many.
    bool find(std::int64_t node, std::int32_t r, Derivation& found) {
        Node& here = opened(node); // stays where it is, whatever else is opened
        while (here.found.size() <= static_cast<std::size_t>(r)) {
            if (here.successors_due) {
                here.successors_due = false;
                const Derivation last = here.found.back();
                for (int side = 0; side < 2; ++side) advance(here, last, side);
            }
            if (here.waiting.empty()) return false;
            pop(here);
            here.successors_due = true;
        }
        found = here.found[static_cast<std::size_t>(r)];
        return true;
    }

    // Up to k derivations of what a root's one tail stands for, best first: their scores, and visit(node) for every
    // node of each, parents before children, left before right.
    template <class Visit> void unfold(std::int64_t root, std::int64_t k, std::vector<double>& scores, Visit visit) {
        Derivation tree, next;
        std::vector<std::pair<std::int64_t, std::int32_t>> waiting;
        for (std::int32_t r = 0; r < k && find(root, r, tree); ++r) {
            scores.push_back(static_cast<double>(tree.score));
            waiting.assign(1, {tree.edge.tail[0], tree.rank[0]});
            while (!waiting.empty()) {
                const auto [node, rank] = waiting.back();
                waiting.pop_back();
                find(node, rank, next);
                visit(node);
                for (int side = 1; side >= 0; --side)
                    if (next.edge.tail[side] >= 0) waiting.push_back({next.edge.tail[side], next.rank[side]});
            }
        }
    }

  private:
    struct Node {
        std::vector<Derivation> waiting;
        std::vector<Derivation> found;
        bool successors_due = false;
    };

    Node& opened(std::int64_t node) {
        const auto [at, fresh] = nodes_.try_emplace(node);
        if (fresh) {
            std::vector<Edge<Real>> edges;
            graph_.edges(node, edges);
            Node& here = at->second;
            here.waiting.reserve(edges.size());
            for (const Edge<Real>& e : edges) {
                Real score = e.weight;
                if (e.tail[0] >= 0) score = graph_.best(e.tail[0]);
                if (e.tail[1] >= 0) score += graph_.best(e.tail[1]);
                if (e.tail[0] >= 0) score += e.weight;
                here.waiting.push_back({e, {0, 0}, score});
            }
        }
        return at->second;
    }

    // The derivation that takes the next one of a side. To meet each once, the left side moves only while the right
    // stands at its first.
    void advance(Node& here, const Derivation& from, int side) {
        if (from.edge.tail[side] < 0 || (side == 0 && from.edge.tail[1] >= 0 && from.rank[1] > 0)) return;
        Derivation next = from, tail;
        ++next.rank[side];
        if (!find(next.edge.tail[side], next.rank[side], tail)) return;
        next.score = side == 0 ? tail.score : score_of(next.edge.tail[0], next.rank[0]);
        if (next.edge.tail[1] >= 0) next.score += side == 1 ? tail.score : score_of(next.edge.tail[1], next.rank[1]);
        next.score += next.edge.weight;
        here.waiting.push_back(next);
    }

    Real score_of(std::int64_t node, std::int32_t rank) {
        if (rank == 0) return graph_.best(node);
        Derivation d;
        find(node, rank, d);
        return d.score;
    }

    // Move the best that waits to the found. Few wait: a scan, which lets ties be compared in depth.
    void pop(Node& here) {
        std::size_t best = 0;
        for (std::size_t m = 1; m < here.waiting.size(); ++m) {
            const Derivation &a = here.waiting[m], &b = here.waiting[best];
            if (a.score > b.score || (a.score == b.score && compare(a, b) < 0)) best = m;
        }
        here.found.push_back(here.waiting[best]);
        here.waiting[best] = here.waiting.back();
        here.waiting.pop_back();
    }

    int compare(const Derivation& a, const Derivation& b) {
        for (int side = 0; side < 2; ++side) {
            if (a.edge.tail[side] != b.edge.tail[side]) return a.edge.tail[side] < b.edge.tail[side] ? -1 : 1;
            if (a.edge.tail[side] < 0 || a.rank[side] == b.rank[side]) continue;
            Derivation u, v;
            find(a.edge.tail[side], a.rank[side], u);
            find(b.edge.tail[side], b.rank[side], v);
            if (const int order = compare(u, v)) return order;
        }
        return 0;
    }

    const Graph& graph_;
    std::unordered_map<std::int64_t, Node> nodes_;
};

} // namespace chaffinch::structures
