// Cutting planes on chains; everything is checked here, once.
#include "areas.hpp"
#include "chain_cutting_planes.hpp"
#include "chain_margin.hpp"
#include "pair_converter.hpp"

#include <memory>
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
                  Maybe<std::uint8_t, 1> end_allowed, Values values)
        : data_(std::move(sentences), std::move(ptr), std::move(ids), std::move(rows), std::move(gold), F, Y, pair, start,
                end, cells, C, std::move(transitions), std::move(start_allowed), std::move(end_allowed), std::move(values)) {
        expect(idle >= 1, "idle must be >= 1");
        data_.open(slack, [&]<class Observations>(learners::ChainHinge<Observations> hinge) {
            solver_ = std::make_unique<Solver>(std::in_place_type<Planes<Observations>>, std::move(hinge), cells, span(C), idle);
        });
    }

    double run(In<std::int64_t> order, bool search) {
        data_.check_order(span(order));
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
    ChainMargin data_;
    std::unique_ptr<Solver> solver_;
};

template <template <class> class Planes> auto bind(nb::module_& m, const char* name, const char* what) {
    using Made = CuttingPlanes<Planes>;
    return nb::class_<Made>(m, name, what)
        .def(nb::init<In<std::int64_t>, std::optional<In<std::int64_t>>, std::optional<In<std::int32_t>>,
                      std::optional<In<float, 2>>, In<std::int32_t>, std::int64_t, std::int64_t, std::int64_t,
                      std::int64_t, std::int64_t, std::int64_t, In<double>, bool, std::int64_t, Maybe<std::uint8_t, 2>,
                      Maybe<std::uint8_t, 1>, Maybe<std::uint8_t, 1>, Values>(),
             nb::arg("sentences").noconvert(), nb::arg("ptr").noconvert().none(), nb::arg("ids").noconvert().none(),
             nb::arg("rows").noconvert().none(), nb::arg("gold").noconvert(), nb::kw_only(), nb::arg("F"), nb::arg("Y"),
             nb::arg("pair"), nb::arg("start"), nb::arg("end"), nb::arg("cells"), nb::arg("C").noconvert(),
             nb::arg("slack"), nb::arg("idle"), nb::arg("transitions").noconvert() = nb::none(),
             nb::arg("start_allowed").noconvert() = nb::none(), nb::arg("end_allowed").noconvert() = nb::none(),
             nb::arg("values").noconvert() = nb::none())
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
