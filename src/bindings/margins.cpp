// The structured margin on chains, and the rows that it is trained on; everything is checked here, once.
#include "areas.hpp"
#include "chain_frank_wolfe.hpp"
#include "chain_margin.hpp"
#include "pair_converter.hpp"

#include <cmath>
#include <memory>
#include <variant>

namespace chaffinch::bindings {

namespace {

using namespace online;

scorers::MonomialMap monomials(std::int64_t D, int degree, double gamma, double offset) {
    expect(D >= 0 && D <= 2000, "there must be 0 to 2000 features to multiply");
    expect(degree >= 1 && degree <= 3, "degree must be 1, 2 or 3");
    expect(gamma > 0 && offset > 0 && std::isfinite(gamma) && std::isfinite(offset), "gamma and offset must be above 0");
    return {D, degree, gamma, offset};
}

class Trainer {
  public:
    using Solver = std::variant<learners::ChainFrankWolfe<scorers::SparseObservations>, learners::ChainFrankWolfe<scorers::DenseObservations>,
                                learners::ChainFrankWolfe<scorers::MonomialObservations>>;

    Trainer(In<std::int64_t> sentences, std::optional<In<std::int64_t>> ptr, std::optional<In<std::int32_t>> ids,
            std::optional<In<float, 2>> rows, In<std::int32_t> gold, std::int64_t F, std::int64_t Y, std::int64_t pair,
            std::int64_t start, std::int64_t end, std::int64_t cells, In<double> C, bool average,
            const scorers::MonomialMap* map, Maybe<std::uint8_t, 2> transitions,
            Maybe<std::uint8_t, 1> start_allowed, Maybe<std::uint8_t, 1> end_allowed, Values values)
        : data_(std::move(sentences), std::move(ptr), std::move(ids), std::move(rows), std::move(gold), F, Y, pair, start,
                end, cells, C, std::move(transitions), std::move(start_allowed), std::move(end_allowed), std::move(values)),
          size_(cells), gaps_(data_.sentences()) {
        const auto made = [&]<class Observations>(learners::ChainHinge<Observations> hinge) {
            solver_ = std::make_unique<Solver>(std::in_place_type<learners::ChainFrankWolfe<Observations>>, std::move(hinge),
                                               cells, span(C), average);
        };
        if (map)
            data_.open(*map, made);
        else
            data_.open(false, made);
    }

    void run(In<std::int64_t> order) {
        data_.check_order(span(order));
        Unlocked released;
        std::visit([&](auto& s) { s.run(span(order), gaps_); }, *solver_);
    }

    std::pair<double, double> measured() {
        Unlocked released;
        const learners::MarginObjective o = std::visit([&](auto& s) { return s.measured(gaps_); }, *solver_);
        return {o.primal, o.dual};
    }

    auto gaps() const { return given(std::vector<double>(gaps_)); }

    auto weights() {
        std::vector<float> out(static_cast<std::size_t>(size_));
        {
            Unlocked released;
            std::visit([&](auto& s) { s.weights(out); }, *solver_);
        }
        return given(std::move(out));
    }

  private:
    ChainMargin data_;
    std::int64_t size_;
    std::vector<double> gaps_;
    std::unique_ptr<Solver> solver_;
};

} // namespace

void bind_margins(nb::module_& m) {
    nb::class_<scorers::MonomialMap>(m, "MonomialMap", "Products of up to three binary features: a polynomial kernel, spelt out.")
        .def("__init__",
             [](scorers::MonomialMap* self, std::int64_t D, int degree, double gamma, double offset) {
                 new (self) scorers::MonomialMap(monomials(D, degree, gamma, offset));
             },
             nb::arg("D"), nb::arg("degree"), nb::arg("gamma"), nb::arg("offset"))
        .def_prop_ro("rows", &scorers::MonomialMap::rows)
        .def_prop_ro("squares", &scorers::MonomialMap::squares, "The square of a monomial's value, by its size 0 to 3.")
        .def_prop_ro("firsts", &scorers::MonomialMap::firsts, "The row at which monomials of each size begin.")
        .def(
            "expand",
            [](const scorers::MonomialMap& self, In<std::int64_t> ptr, In<std::int32_t> ids) {
                check_lists(span(ptr), span(ids), self.features());
                std::vector<std::int64_t> bounds{0};
                std::vector<std::int32_t> all, rows;
                {
                    Unlocked released;
                    std::array<std::int64_t, 5> sizes{};
                    for (std::size_t t = 0; t + 1 < ptr.size(); ++t) {
                        self.expand(span(ids).subspan(static_cast<std::size_t>(ptr.data()[t]),
                                                      static_cast<std::size_t>(ptr.data()[t + 1] - ptr.data()[t])),
                                    rows, sizes);
                        all.insert(all.end(), rows.begin(), rows.end());
                        bounds.push_back(static_cast<std::int64_t>(all.size()));
                    }
                }
                return std::pair(given(std::move(bounds)), given(std::move(all)));
            },
            nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), "The monomials of each list of features, as ptr and ids.")
        .def(
            "score",
            [](const scorers::MonomialMap& self, In<std::int64_t> ptr, In<std::int32_t> ids, In<float, 2> w, Out<float, 2> out) {
                check_lists(span(ptr), span(ids), self.features());
                expect(static_cast<std::int64_t>(w.shape(0)) == self.rows() && w.shape(1) == out.shape(1) &&
                           out.shape(0) + 1 == ptr.size(),
                       "w must be [monomials, S] and out [positions, S]");
                Unlocked released;
                scorers::MonomialObservations(span(ptr), span(ids), self)
                    .score(0, static_cast<std::int64_t>(out.shape(0)), w.data(), static_cast<std::int64_t>(w.shape(1)),
                           out.data());
            },
            nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("w").noconvert(), nb::arg("out").noconvert(),
            "out[t] = the sum of w over the monomials of position t, which are never stored.");

    nb::class_<Trainer>(m, "ChainFrankWolfe", "Block-coordinate Frank-Wolfe for the structured hinge on a chain.")
        .def(nb::init<In<std::int64_t>, std::optional<In<std::int64_t>>, std::optional<In<std::int32_t>>,
                      std::optional<In<float, 2>>, In<std::int32_t>, std::int64_t, std::int64_t, std::int64_t,
                      std::int64_t, std::int64_t, std::int64_t, In<double>, bool,
                      const scorers::MonomialMap*, Maybe<std::uint8_t, 2>,
                      Maybe<std::uint8_t, 1>, Maybe<std::uint8_t, 1>, Values>(),
             nb::arg("sentences").noconvert(), nb::arg("ptr").noconvert().none(), nb::arg("ids").noconvert().none(),
             nb::arg("rows").noconvert().none(), nb::arg("gold").noconvert(), nb::kw_only(), nb::arg("F"), nb::arg("Y"),
             nb::arg("pair"), nb::arg("start"), nb::arg("end"), nb::arg("cells"), nb::arg("C").noconvert(), nb::arg("average"),
             nb::arg("monomials").none() = nb::none(), nb::arg("transitions").noconvert() = nb::none(),
             nb::arg("start_allowed").noconvert() = nb::none(), nb::arg("end_allowed").noconvert() = nb::none(),
             nb::arg("values").noconvert() = nb::none())
        .def("run", &Trainer::run, nb::arg("order").noconvert(), "Visit these sentences.")
        .def("measured", &Trainer::measured, "Primal and dual of the weights that weights() gives.")
        .def("gaps", &Trainer::gaps, "Each sentence's gap at its last visit: float64 [N].")
        .def("weights", &Trainer::weights, "w, or its mean over the steps so far.");

    m.def(
        "dense_score",
        [](In<float, 2> x, In<float, 2> w, Out<float, 2> out) {
            expect(x.shape(1) == w.shape(0) && out.shape(0) == x.shape(0) && out.shape(1) == w.shape(1) &&
                       w.shape(1) % static_cast<std::size_t>(machine::lanes) == 0,
                   "x [T, D], w [D, S] and out [T, S] must fit, S a whole number of vectors");
            Unlocked released;
            scorers::dense_score(x.data(), static_cast<std::int64_t>(x.shape(0)), static_cast<std::int64_t>(x.shape(1)), w.data(),
                        static_cast<std::int64_t>(w.shape(1)), out.data());
        },
        nb::arg("x").noconvert(), nb::arg("w").noconvert(), nb::arg("out").noconvert(), "out = x w, in blocks.");
    m.def(
        "dense_add",
        [](In<float, 2> x, In<float, 2> delta, float step, Out<float, 2> w) {
            expect(x.shape(1) == w.shape(0) && delta.shape(0) == x.shape(0) && delta.shape(1) == w.shape(1),
                   "x [T, D], delta [T, S] and w [D, S] must fit");
            Unlocked released;
            scorers::dense_add(x.data(), static_cast<std::int64_t>(x.shape(0)), static_cast<std::int64_t>(x.shape(1)),
                      delta.data(), step, static_cast<std::int64_t>(w.shape(1)), w.data());
        },
        nb::arg("x").noconvert(), nb::arg("delta").noconvert(), nb::arg("step"), nb::arg("w").noconvert(),
        "w += step x' delta.");
}

} // namespace chaffinch::bindings
