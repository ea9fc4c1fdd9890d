// The inside chart of trees in a ring without scales (MaxPlus): what Viterbi and the k best walk down.
#pragma once

#include "semiring.hpp"
#include "tree.hpp"

#include <algorithm>
#include <limits>

namespace chaffinch::structures {

// left and right hold the score of a span as a child of a parent with each label:
//   cell[ij][A]  = span[ij][A] + max_k left[ik][A] + right[kj][A]
//   left[ik][A]  = span[ik][Y + A] + max_B cell[ik][B] + pair[B][A]        right likewise
template <class Real> class TreeChart {
  public:
    static constexpr Real none = -std::numeric_limits<Real>::infinity();

    const TreePotentials<Real>* p;
    Spans spans;
    std::int64_t P; // padded(Y)
    const Real *cell, *left, *right;   // [S][P]
    const Real *left_pair, *right_pair; // [Y][P] child, parent

    void fill(const TreePotentials<Real>& potentials);

    // max over k of left + right, and the first k that has it.
    Real best_split(std::int64_t i, std::int64_t j, std::int64_t A, std::int64_t& split) const {
        Real best = none;
        split = -1;
        for (std::int64_t k = i + 1; k < j; ++k) {
            const Real x = left[spans.at(i, k) * P + A] + right[spans.at(k, j) * P + A];
            if (x > best) best = x, split = k;
        }
        return best;
    }
    // The first child label that is best under a parent A.
    std::int64_t best_child(std::int64_t s, const Real* pair, std::int64_t A) const {
        Real best = none;
        std::int64_t found = -1;
        for (std::int64_t B = 0; B < p->Y; ++B) {
            const Real x = cell[s * P + B] + pair[B * P + A];
            if (x > best) best = x, found = B;
        }
        return found;
    }

  private:
    CHAFFINCH_INLINE void fill_inline();
    friend void fill_chart(TreeChart<float>&);
    friend void fill_chart(TreeChart<double>&);

    machine::AlignedVector<Real> cells_, lefts_, rights_, pairs_;
    machine::AlignedVector<std::uint8_t> alive_;
    machine::AlignedVector<std::int32_t> list_;
    machine::AlignedVector<const Real*> from_;
};

} // namespace chaffinch::structures
