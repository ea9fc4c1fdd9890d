// Trees: a sentence's potentials are checked once when it is made; its methods run without the GIL.
#include "areas.hpp"
#include "arrays.hpp"
#include "maybe_arrays.hpp"
#include "pair_converter.hpp"
#include "tree.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>

namespace chaffinch::bindings {

namespace {

std::vector<std::int32_t> flat(const std::vector<structures::TreeNode>& nodes) {
    std::vector<std::int32_t> out;
    out.reserve(3 * nodes.size());
    for (const structures::TreeNode& n : nodes) out.insert(out.end(), {n.start, n.end, n.label});
    return out;
}

template <class Real> class BoundTree {
  public:
    BoundTree(In<Real, 2> span, std::int64_t T, std::int64_t Y, Maybe<Real, 2> left, Maybe<Real, 2> right,
              Maybe<std::uint8_t, 2> left_allowed, Maybe<std::uint8_t, 2> right_allowed, Maybe<std::uint8_t, 1> root,
              Maybe<std::uint8_t, 1> leaf, Maybe<std::uint8_t, 1> phrase, Maybe<std::uint8_t, 1> open)
        : kept_(span, left, right, left_allowed, right_allowed, root, leaf, phrase, open) {
        const auto columns = static_cast<std::int64_t>(span.shape(1));
        if (T < 1 || Y < 1 || (columns != Y && columns != 3 * Y) ||
            static_cast<std::int64_t>(span.shape(0)) != structures::Spans{T}.count())
            throw nb::value_error("span has the wrong shape");
        p_ = {.T = T,
              .Y = Y,
              .span = span.data(),
              .stride = columns,
              .roles = columns == 3 * Y,
              .left = checked(left, {Y, Y}, "left"),
              .right = checked(right, {Y, Y}, "right"),
              .left_allowed = checked(left_allowed, {Y, Y}, "left_allowed"),
              .right_allowed = checked(right_allowed, {Y, Y}, "right_allowed"),
              .root = checked(root, {Y}, "root"),
              .leaf = checked(leaf, {Y}, "leaf"),
              .phrase = checked(phrase, {Y}, "phrase"),
              .open = checked(open, {structures::Spans{T}.count()}, "open")};
    }

    auto argmax() const {
        std::vector<structures::TreeNode> nodes(static_cast<std::size_t>(2 * p_.T - 1));
        double score = 0;
        bool any;
        {
            Unlocked release;
            any = structures::tree_argmax(p_, score, nodes.data());
        }
        if (!any) throw nb::value_error("no tree is allowed");
        return std::pair(score, given(flat(nodes)));
    }

    auto kbest(std::int64_t k) const {
        std::vector<structures::TreeNode> nodes;
        std::vector<double> scores;
        {
            Unlocked release;
            structures::tree_kbest(p_, k, scores, nodes);
        }
        if (scores.empty()) throw nb::value_error("no tree is allowed");
        return std::pair(given(std::move(scores)), given(flat(nodes)));
    }

    auto logsum() const {
        const auto Y = static_cast<std::size_t>(p_.Y);
        std::vector<Real> span(static_cast<std::size_t>(structures::Spans{p_.T}.count() * p_.stride)), left(Y * Y), right(Y * Y);
        double log_z;
        {
            Unlocked release;
            log_z = structures::tree_logsum(p_, {.span = span.data(), .left = left.data(), .right = right.data()});
        }
        if (log_z == -std::numeric_limits<double>::infinity()) throw nb::value_error("no tree is allowed");
        return std::tuple(log_z, given(std::move(span)), given(std::move(left)), given(std::move(right)));
    }

  private:
    structures::TreePotentials<Real> p_;
    std::tuple<In<Real, 2>, Maybe<Real, 2>, Maybe<Real, 2>, Maybe<std::uint8_t, 2>, Maybe<std::uint8_t, 2>,
               Maybe<std::uint8_t, 1>, Maybe<std::uint8_t, 1>, Maybe<std::uint8_t, 1>, Maybe<std::uint8_t, 1>>
        kept_;
};

template <class Real> void bind_one(nb::module_& m, const char* name) {
    using namespace nb::literals;
    using Bound = BoundTree<Real>;
    nb::class_<Bound>(m, name, "Potentials of the trees over one sentence.")
        .def(nb::init<In<Real, 2>, std::int64_t, std::int64_t, Maybe<Real, 2>, Maybe<Real, 2>, Maybe<std::uint8_t, 2>,
                      Maybe<std::uint8_t, 2>, Maybe<std::uint8_t, 1>, Maybe<std::uint8_t, 1>, Maybe<std::uint8_t, 1>,
                      Maybe<std::uint8_t, 1>>(),
             "span"_a.noconvert(), "T"_a, "Y"_a, "left"_a.noconvert() = nb::none(), "right"_a.noconvert() = nb::none(),
             "left_allowed"_a.noconvert() = nb::none(), "right_allowed"_a.noconvert() = nb::none(),
             "root"_a.noconvert() = nb::none(), "leaf"_a.noconvert() = nb::none(), "phrase"_a.noconvert() = nb::none(),
             "open"_a.noconvert() = nb::none())
        .def("argmax", &Bound::argmax, "The best score, and the nodes [(2T-1) 3] in preorder.")
        .def("kbest", &Bound::kbest, "k"_a, "Scores [n] and nodes [n (2T-1) 3].")
        .def("logsum", &Bound::logsum, "log Z and its gradient by span, left and right.");
}

} // namespace

void bind_tree(nb::module_& m) {
    bind_one<float>(m, "TreeSentence32");
    bind_one<double>(m, "TreeSentence64");
}

} // namespace chaffinch::bindings
