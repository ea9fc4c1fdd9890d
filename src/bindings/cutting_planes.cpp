// Cutting planes on chains; everything is checked here, once.
#include "areas.hpp"
#include "chain_cutting_planes.hpp"
#include "labelled.hpp"
#include "observations.hpp"
#include "pair_converter.hpp"

#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

namespace chaffinch::bindings {

namespace {

using namespace online;

template <template <class> class Planes> class CuttingPlanes {
  public:
    using Solver = std::variant<Planes<scorers::SparseObservations>, Planes<scorers::DenseObservations>>;

    CuttingPlanes(In<std::int64_t> sentences, std::optional<In<std::int64_t>> ptr, std::optional<In<std::int32_t>> ids,
                  std::optional<In<float, 2>> rows, In<std::int32_t> gold, std::int64_t F, std::int64_t Y,
                  std::int64_t pair, std::int64_t start, std::int64_t end, std::int64_t cells, In<double> C, bool slack,
                  std::int64_t idle, Maybe<std::uint8_t, 2> transitions, Maybe<std::uint8_t, 1> start_allowed,
                  Maybe<std::uint8_t, 1> end_allowed)
        : sentences_(std::move(sentences)), ptr_(std::move(ptr)), ids_(std::move(ids)), rows_(std::move(rows)),
          gold_(std::move(gold)), transitions_(std::move(transitions)), start_allowed_(std::move(start_allowed)),
          end_allowed_(std::move(end_allowed)) {
        const std::int64_t S = machine::padded(Y);
        const auto fits = [&](std::int64_t at, std::int64_t n) { return at >= F * S && at + n <= cells; };
        const auto T = static_cast<std::int64_t>(gold_.size());
        const auto labels = static_cast<std::size_t>(Y);
        expect(F >= 0 && Y >= 1 && idle >= 1, "F must be >= 0, Y and idle >= 1");
        expect(fits(pair, Y * S) && fits(start, S) && fits(end, S), "pair, start and end must lie after unary, within w");
        expect(sentences_.size() > 0 && span(sentences_).front() == 0 && std::ranges::is_sorted(span(sentences_)) &&
                   span(sentences_).back() == T,
               "sentences must rise from 0 to the number of labels");
        expect(C.size() + 1 == sentences_.size() &&
                   std::ranges::all_of(span(C), [](double c) { return c >= 0 && std::isfinite(c); }),
               "C must have one number per sentence, at least 0");
        expect(scorers::all_below(span(gold_), Y), "a label is out of range");
        expect(!transitions_ || (transitions_->shape(0) == labels && transitions_->shape(1) == labels),
               "transitions must be [labels, labels]");
        expect(!start_allowed_ || start_allowed_->size() == labels, "start_allowed must be [labels]");
        expect(!end_allowed_ || end_allowed_->size() == labels, "end_allowed must be [labels]");
        expect(rows_.has_value() != ptr_.has_value() && ptr_.has_value() == ids_.has_value(),
               "features are either ptr and ids, or rows");
        const learners::ChainCells layout{.Y = Y, .S = S, .pair = pair, .start = start, .end = end};
        const learners::ChainMasks masks{
            .transitions = pointer(transitions_), .start = pointer(start_allowed_), .end = pointer(end_allowed_)};
        const auto made = [&]<class Observations>(Observations x) {
            learners::ChainHinge<Observations> hinge(std::move(x), span(sentences_), span(gold_), layout, masks, slack);
            solver_ = std::make_unique<Solver>(std::in_place_type<Planes<Observations>>, std::move(hinge), cells, span(C), idle);
        };
        if (rows_) {
            expect(rows_->shape(0) == gold_.size() && rows_->shape(1) == static_cast<std::size_t>(F),
                   "rows must be [labels given, F]");
            Unlocked released;
            made(scorers::DenseObservations(rows_->data(), F));
        } else {
            check_examples({span(sentences_), span(*ptr_), span(*ids_)}, F);
            Unlocked released;
            made(scorers::SparseObservations(span(*ptr_), span(*ids_), F));
        }
    }

    double run(In<std::int64_t> order, bool search) {
        const auto N = static_cast<std::int64_t>(sentences_.size()) - 1;
        expect(std::ranges::all_of(span(order), [N](std::int64_t n) { return n >= 0 && n < N; }),
               "order holds a number that is no sentence's");
        Unlocked released;
        return std::visit([&](auto& s) { return search ? s.run(span(order)) : s.sweep(span(order)); }, *solver_);
    }

    std::pair<double, double> measured() {
        Unlocked released;
        const learners::MarginObjective o = std::visit([&](auto& s) { return s.measured(); }, *solver_);
        return {o.primal, o.dual};
    }

    std::pair<double, double> cut(double inner, double share) {
        Unlocked released;
        const learners::MarginObjective o = std::visit([&](auto& s) { return s.cut(inner, share); }, *solver_);
        return {o.primal, o.dual};
    }

    std::int64_t kept() const {
        return std::visit([](const auto& s) { return s.kept(); }, *solver_);
    }

    auto weights() const {
        return std::visit([](const auto& s) { return given(s.weights()); }, *solver_);
    }

  private:
    In<std::int64_t> sentences_;
    std::optional<In<std::int64_t>> ptr_;
    std::optional<In<std::int32_t>> ids_;
    std::optional<In<float, 2>> rows_;
    In<std::int32_t> gold_;
    Maybe<std::uint8_t, 2> transitions_;
    Maybe<std::uint8_t, 1> start_allowed_, end_allowed_;
    std::unique_ptr<Solver> solver_;
};

template <template <class> class Planes> auto bind(nb::module_& m, const char* name, const char* what) {
    using Made = CuttingPlanes<Planes>;
    return nb::class_<Made>(m, name, what)
        .def(nb::init<In<std::int64_t>, std::optional<In<std::int64_t>>, std::optional<In<std::int32_t>>,
                      std::optional<In<float, 2>>, In<std::int32_t>, std::int64_t, std::int64_t, std::int64_t,
                      std::int64_t, std::int64_t, std::int64_t, In<double>, bool, std::int64_t, Maybe<std::uint8_t, 2>,
                      Maybe<std::uint8_t, 1>, Maybe<std::uint8_t, 1>>(),
             nb::arg("sentences").noconvert(), nb::arg("ptr").noconvert().none(), nb::arg("ids").noconvert().none(),
             nb::arg("rows").noconvert().none(), nb::arg("gold").noconvert(), nb::kw_only(), nb::arg("F"), nb::arg("Y"),
             nb::arg("pair"), nb::arg("start"), nb::arg("end"), nb::arg("cells"), nb::arg("C").noconvert(),
             nb::arg("slack"), nb::arg("idle"), nb::arg("transitions").noconvert() = nb::none(),
             nb::arg("start_allowed").noconvert() = nb::none(), nb::arg("end_allowed").noconvert() = nb::none())
        .def("kept", &Made::kept, "How many planes are kept.")
        .def("weights", &Made::weights, "w.");
}

} // namespace

void bind_cutting_planes(nb::module_& m) {
    bind<learners::NSlackPlanes>(m, "ChainNSlack", "A working set of answers for each sentence of a chain.")
        .def("run", &CuttingPlanes<learners::NSlackPlanes>::run, nb::arg("order").noconvert(), nb::arg("search"),
             "Visit these sentences, with a search or among the answers kept; returns the sum of their gaps.")
        .def("measured", &CuttingPlanes<learners::NSlackPlanes>::measured, "Primal and dual.");
    bind<learners::OneSlackPlanes>(m, "ChainOneSlack", "One working set of planes for all sentences of a chain.")
        .def("cut", &CuttingPlanes<learners::OneSlackPlanes>::cut, nb::arg("inner"), nb::arg("share"),
             "Search all sentences, add the plane, solve and move; returns primal and dual before the move.");
}

} // namespace chaffinch::bindings
