// Derivations by a grammar: rules are checked when the grammar is made, potentials when a sentence is.
#include "areas.hpp"
#include "arrays.hpp"
#include "brackets.hpp"
#include "derivation.hpp"
#include "pair_converter.hpp"

#include <limits>
#include <optional>
#include <tuple>

namespace chaffinch::bindings {

namespace {

constexpr double unlikely = 1e-7; // far below any toll of a bracket

template <class T, std::size_t Dims> using Maybe = std::optional<In<T, Dims>>;

std::vector<std::int32_t> flat(const std::vector<structures::TreeNode>& nodes) {
    std::vector<std::int32_t> out;
    out.reserve(3 * nodes.size());
    for (const structures::TreeNode& n : nodes) out.insert(out.end(), {n.start, n.end, n.label});
    return out;
}

template <class Real> class BoundDerivation {
  public:
    BoundDerivation(const structures::Grammar& grammar, In<Real, 2> leaf, In<Real> rule, Maybe<Real, 2> span, Maybe<Real, 1> top,
                    Maybe<std::uint8_t, 1> root, Maybe<std::uint8_t, 1> open)
        : kept_(leaf, rule, span, top, root, open) {
        const auto T = static_cast<std::int64_t>(leaf.shape(0));
        const std::int64_t S = structures::Spans{T}.count(), Y = grammar.Y;
        const auto size = [](const auto& array, std::size_t d) { return static_cast<std::int64_t>(array.shape(d)); };
        expect(T >= 1 && size(leaf, 1) == Y, "leaf has the wrong shape");
        expect(size(rule, 0) == grammar.R, "rule has the wrong shape");
        expect(!span || (size(*span, 0) == S && size(*span, 1) == Y), "span has the wrong shape");
        expect(!top || size(*top, 0) == Y, "top has the wrong shape");
        expect(!root || size(*root, 0) == Y, "root has the wrong shape");
        expect(!open || size(*open, 0) == S, "open has the wrong shape");
        p_ = {&grammar,
              T,
              leaf.data(),
              rule.data(),
              span ? span->data() : nullptr,
              top ? top->data() : nullptr,
              root ? root->data() : nullptr,
              open ? open->data() : nullptr};
    }

    auto argmax() const {
        std::vector<structures::TreeNode> nodes(static_cast<std::size_t>(2 * p_.T - 1));
        double score = 0;
        bool any;
        {
            Unlocked release;
            any = structures::derivation_argmax(p_, score, nodes.data());
        }
        if (!any) throw nb::value_error("no derivation is allowed");
        return std::pair(score, given(flat(nodes)));
    }
    auto kbest(std::int64_t k) const {
        std::vector<structures::TreeNode> nodes;
        std::vector<double> scores;
        {
            Unlocked release;
            structures::derivation_kbest(p_, k, scores, nodes);
        }
        if (scores.empty()) throw nb::value_error("no derivation is allowed");
        return std::pair(given(std::move(scores)), given(flat(nodes)));
    }
    auto logsum() const {
        const auto cells = [&](std::int64_t n) { return static_cast<std::size_t>(n * p_.grammar->Y); };
        std::vector<Real> leaf(cells(p_.T)), rule(static_cast<std::size_t>(p_.grammar->R));
        std::vector<Real> span(p_.span ? cells(structures::Spans{p_.T}.count()) : 0), top(cells(1));
        double log_z;
        {
            Unlocked release;
            log_z = structures::derivation_logsum(p_, {leaf.data(), rule.data(), p_.span ? span.data() : nullptr, top.data()});
        }
        if (log_z == -std::numeric_limits<double>::infinity()) throw nb::value_error("no derivation is allowed");
        return std::tuple(log_z, given(std::move(leaf)), given(std::move(rule)), given(std::move(span)),
                          given(std::move(top)));
    }
    // The tree of the most expected brackets.
    auto expected(In<std::int64_t> bracket_ptr, In<std::int32_t> brackets, float toll, In<std::uint8_t> leaf_labels) const {
        const structures::BracketLabels how = bracket_labels(bracket_ptr, brackets, toll);
        const std::int64_t Y = p_.grammar->Y, S = structures::Spans{p_.T}.count();
        expect(static_cast<std::int64_t>(how.ptr.size()) == Y + 1, "brackets of each label are needed");
        expect(static_cast<std::int64_t>(leaf_labels.size()) == Y, "leaf_labels has the wrong shape");
        std::vector<structures::TreeNode> nodes(static_cast<std::size_t>(2 * p_.T - 1));
        double log_z;
        {
            Unlocked release;
            std::vector<Real> leaf(static_cast<std::size_t>(p_.T * Y)), span(static_cast<std::size_t>(S * Y));
            log_z = structures::derivation_logsum(p_, {leaf.data(), nullptr, span.data(), nullptr, unlikely});
            std::vector<float> marginals(span.begin(), span.end());
            for (std::int64_t t = 0; t < p_.T; ++t)
                for (std::int64_t A = 0; A < Y; ++A)
                    marginals[structures::Spans{p_.T}.at(t, t + 1) * Y + A] = static_cast<float>(leaf[t * Y + A]);
            std::vector<std::uint8_t> phrase(static_cast<std::size_t>(Y));
            for (std::int64_t A = 0; A < Y; ++A) phrase[A] = !leaf_labels.data()[A];
            structures::expected_tree(p_.T, Y, marginals.data(), Y, how, leaf_labels.data(), phrase.data(), nodes.data());
        }
        if (log_z == -std::numeric_limits<double>::infinity()) throw nb::value_error("no derivation is allowed");
        return std::pair(log_z, given(flat(nodes)));
    }

  private:
    structures::DerivationPotentials<Real> p_;
    std::tuple<In<Real, 2>, In<Real>, Maybe<Real, 2>, Maybe<Real, 1>, Maybe<std::uint8_t, 1>, Maybe<std::uint8_t, 1>>
        kept_;
};

template <class Real> void bind_one(nb::module_& m, const char* name) {
    using namespace nb::literals;
    using Bound = BoundDerivation<Real>;
    nb::class_<Bound>(m, name, "Potentials of the derivations of one sentence.")
        .def(nb::init<const structures::Grammar&, In<Real, 2>, In<Real>, Maybe<Real, 2>, Maybe<Real, 1>, Maybe<std::uint8_t, 1>,
                      Maybe<std::uint8_t, 1>>(),
             "grammar"_a, "leaf"_a.noconvert(), "rule"_a.noconvert(), "span"_a.noconvert() = nb::none(),
             "top"_a.noconvert() = nb::none(), "root"_a.noconvert() = nb::none(), "open"_a.noconvert() = nb::none(), nb::keep_alive<1, 2>())
        .def("argmax", &Bound::argmax, "The best score, and the nodes [(2T-1) 3] in preorder.")
        .def("kbest", &Bound::kbest, "k"_a, "Scores [n] and nodes [n (2T-1) 3].")
        .def("logsum", &Bound::logsum, "log Z and its gradient by leaf, rule, span and top.")
        .def("expected", &Bound::expected, "bracket_ptr"_a.noconvert(), "brackets"_a.noconvert(), "toll"_a,
             "leaf_labels"_a.noconvert(), "log Z, and the nodes of the tree with the most expected brackets.");
}

} // namespace

void bind_derivation(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<structures::Grammar>(m, "Grammar", "Binary rules over numbered labels.")
        .def(
            "__init__",
            [](structures::Grammar* self, std::int64_t Y, In<std::int32_t, 2> rules) {
                expect(Y >= 1 && rules.shape(1) == 3, "rules are triples of labels");
                for (const std::int32_t label : span(rules)) expect(label >= 0 && label < Y, "a label out of range");
                new (self) structures::Grammar(Y, span(rules));
            },
            "Y"_a, "rules"_a.noconvert());
    bind_one<float>(m, "DerivationSentence32");
    bind_one<double>(m, "DerivationSentence64");
}

} // namespace chaffinch::bindings
