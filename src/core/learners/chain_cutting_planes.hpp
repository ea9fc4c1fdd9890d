// Cutting planes for the structured hinge on a first-order chain (see chain_hinge.hpp for the hinge and its planes).
//
//   P(w) = |w|^2 / 2 + sum_n C_n H_n(w)
//   D(a) = sum_n C_n a_n . l_n - |w|^2 / 2         w = sum_n C_n F_n (d_n a_n),    a_n on the simplex
//
// NSlackPlanes: every sentence has a working set of answers. A visit searches the worst answer under the current
// weights, adds it if it exceeds all kept ones, and optimises the sentence's own weights a_n with all others fixed: a
// warm-started programme over few answers, with cached inner products. Answers without weight for many visits are
// dropped.
// (Tsochantaridis et al. 2005, re-solved as constraints arrive.)
//
// OneSlackPlanes: one working set for all sentences together; a plane is the sum of the worst planes of a pass.
// (Joachims, Finley and Yu 2009.)
#pragma once

#include "chain_hinge.hpp"
#include "margin_objective.hpp"
#include "simplex.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::learners {

template <class Observations> class NSlackPlanes {
  public:
    NSlackPlanes(ChainHinge<Observations> hinge, std::int64_t size, // of w
                 std::span<const double> C,                         // [N]
                 std::int64_t idle); // visits after which an answer without weight is dropped

    // Visits these sentences; returns the sum of their gaps before the visits.
    double run(std::span<const std::int64_t> order);

    // The same over the kept answers only, for sentences that keep more than one.
    double sweep(std::span<const std::int64_t> order);

    MarginObjective measured();
    std::vector<float> weights() const { return {w_.begin(), w_.end()}; }
    std::int64_t kept() const; // answers, over all sentences

  private:
    struct Plane {
        std::vector<std::int32_t> labels;
        double loss = 0, a = 0;
        std::int64_t rested = 0;
    };
    struct WorkingSet {
        std::vector<Plane> planes; // the first is the gold answer's
        std::vector<double> G;     // [K][K]
    };

    double solve(std::int64_t n, double top);
    void heights(std::int64_t n);
    void add(std::int64_t n, const WorstAnswer& worst);
    void drop_idle(WorkingSet& set) const;
    double product(std::int64_t n, const Plane& i, const Plane& j, const float* G) const;

    ChainHinge<Observations> hinge_;
    std::vector<double> C_;
    std::int64_t idle_;
    machine::AlignedVector<float> w_;
    std::vector<WorkingSet> sets_;
    SimplexProgramme programme_;
    std::vector<double> up_, b_, a_, G_, steps_;
    std::vector<const std::int32_t*> answers_;
};

template <class Observations> class OneSlackPlanes {
  public:
    OneSlackPlanes(ChainHinge<Observations> hinge, std::int64_t size, std::span<const double> C, std::int64_t idle);

    // A pass: searches all sentences under the trial weights, adds the plane, solves the programme and sets the next
    // trial weights: the best so far, moved by this fraction towards those of the programme. Returns the primal of the
    // best weights and the dual of the previous programme.
    MarginObjective cut(double inner, // the programme is solved to this fraction of the gap
                        double share);

    std::vector<float> weights() const; // the best ones so far
    std::int64_t kept() const { return static_cast<std::int64_t>(planes_.size()); }

  private:
    struct Plane { // of all sentences: the cells that are not zero, by their numbers in cells_
        std::vector<std::int32_t> cells;
        std::vector<float> values;
        double loss = 0, a = 0;
        std::int64_t rested = 0;
    };

    double search(Plane& made);
    void gather(Plane& made);
    double dot(const Plane& plane) const; // with compact_
    void solve(double tolerance);
    void drop_idle();
    void renumber();

    ChainHinge<Observations> hinge_;
    std::vector<double> C_;
    std::int64_t idle_;
    machine::AlignedVector<float> w_, gradient_; // [size] trial weights; the sum of differences, zero between passes
    std::vector<std::int32_t> number_;           // [size] of a cell that a plane has touched; -1 for the others
    std::vector<std::int32_t> cells_;            // the cells that planes have touched
    std::vector<float> compact_;                 // of the new plane, by number
    std::vector<double> tried_, best_, solved_;  // weights by number: tried, best so far, of the programme
    double primal_, dual_ = 0;                   // of the best weights, of the programme
    std::vector<Plane> planes_;                  // the first is the gold answers': nothing
    std::vector<double> G_;                      // [K][K]
    std::size_t dropped_ = 0;                    // cells of planes dropped since the last renumbering
    SimplexProgramme programme_;
};

#define CHAFFINCH_PLANES(prefix, Observations)                                                                         \
    prefix template class NSlackPlanes<scorers::Observations>;                                                         \
    prefix template class OneSlackPlanes<scorers::Observations>;
CHAFFINCH_PLANES(extern, SparseObservations)
CHAFFINCH_PLANES(extern, DenseObservations)
CHAFFINCH_PLANES(extern, MonomialObservations)

} // namespace chaffinch::learners
