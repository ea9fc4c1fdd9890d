// Parts with feature vectors of their own, and L-BFGS over a function of the caller's.
#include "areas.hpp"
#include "checked_rows.hpp"
#include "lbfgs.hpp"
#include "maybe_arrays.hpp"

#include <nanobind/stl/function.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

namespace chaffinch::bindings {

namespace {

// A function of two NumPy arrays, x to read and g to fill, minimised step by step.
class Minimiser {
  public:
    using View = nb::ndarray<nb::numpy, const float, nb::ndim<1>>;
    using Gradient = nb::ndarray<nb::numpy, float, nb::ndim<1>>;
    using Function = std::function<double(View, Gradient)>;

    Minimiser(Function f, In<float> x, double c1, Maybe<float, 1> diagonal, std::size_t threads)
        : n_(x.size()), lbfgs_(
                            [f = std::move(f), n = x.size()](const float* at, float* g) {
                                return f(View(at, {n}, nb::none()), Gradient(g, {n}, nb::none()));
                            },
                            span(x), checked_diagonal(diagonal, x.size()), settings(c1, threads)) {}

    bool iterate() { return lbfgs_.iterate(); }
    double value() const { return lbfgs_.value(); }
    void x(Out<float> out) const {
        if (out.size() != n_) throw nb::value_error("out must be as long as x");
        std::ranges::copy(lbfgs_.x().first(n_), out.data());
    }
    auto memory() const {
        std::vector<float> found(lbfgs_.pairs() * 2 * n_);
        lbfgs_.memory(found.data());
        return given(std::move(found));
    }
    void remember(In<float> memory) {
        if (n_ == 0 || memory.size() % (2 * n_) != 0) throw nb::value_error("memory must be pairs of vectors as long as x");
        lbfgs_.remember(span(memory));
    }

  private:
    static learners::LbfgsSettings settings(double c1, std::size_t threads) {
        learners::LbfgsSettings s;
        s.c1 = c1;
        s.threads = threads;
        return s;
    }
    static machine::AlignedVector<float> checked_diagonal(const Maybe<float, 1>& given, std::size_t n) {
        if (!given) return {};
        if (given->size() != n) throw nb::value_error("diagonal must be as long as x");
        const auto all = span(*given);
        if (std::ranges::any_of(all, [](float d) { return !(d > 0); })) throw nb::value_error("diagonal must be positive");
        return {all.begin(), all.end()};
    }
    std::size_t n_;
    learners::Lbfgs lbfgs_;
};

} // namespace

void bind_part_rows(nb::module_& m) {
    m.def(
        "score_parts",
        [](In<std::int64_t> ptr, In<std::int32_t> ids, In<float> values, In<double> w, Out<double> out) {
            const scorers::PartRows x = checked_rows(ptr, ids, values, out.size(), w.size());
            Unlocked released;
            scorers::score_parts(x, span(w), span(out));
        },
        nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(),
        nb::arg("w").noconvert(), nb::arg("out").noconvert(), "out[p] = sum over row p of values[k] w[ids[k]].");
    m.def(
        "add_parts",
        [](In<std::int64_t> ptr, In<std::int32_t> ids, In<float> values, In<double> delta, double step, Out<double> w) {
            const scorers::PartRows x = checked_rows(ptr, ids, values, delta.size(), w.size());
            Unlocked released;
            add_parts(x, span(delta), step, span(w));
        },
        nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(),
        nb::arg("delta").noconvert(), nb::arg("step"), nb::arg("w").noconvert(),
        "w[ids[k]] += step * delta[p] * values[k] for every k of every row p.");
    m.def(
        "parts_squared_length",
        [](In<std::int64_t> ptr, In<std::int32_t> ids, In<float> values, In<double> delta) {
            const scorers::PartRows x = checked_rows(ptr, ids, values, delta.size(), std::numeric_limits<std::int32_t>::max());
            Unlocked released;
            return scorers::parts_squared_length(x, span(delta));
        },
        nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(),
        nb::arg("delta").noconvert(), "The squared length of the change that add_parts(..., delta, 1, w) makes.");
    m.def(
        "parts_dot",
        [](In<double> a, In<double> b) {
            if (a.size() != b.size()) throw nb::value_error("a and b must have the same length");
            return scorers::parts_dot(span(a), span(b));
        },
        nb::arg("a").noconvert(), nb::arg("b").noconvert(),
        "The sum of a[p] b[p] over the parts where neither is 0.");
    nb::class_<Minimiser>(m, "Minimiser", "L-BFGS on a function f(x, g) that returns its value and fills g.")
        .def(nb::init<Minimiser::Function, In<float>, double, Maybe<float, 1>, std::size_t>(), nb::arg("f"),
             nb::arg("x").noconvert(), nb::arg("c1") = 0.0, nb::arg("diagonal").noconvert() = nb::none(),
             nb::arg("threads") = 1)
        .def("iterate", &Minimiser::iterate, "One step. False: no step lowers the value any further.")
        .def_prop_ro("value", &Minimiser::value)
        .def("x", &Minimiser::x, nb::arg("out").noconvert(), "Copy the current x into out.")
        .def("memory", &Minimiser::memory, "The pairs of its last steps, flat [pairs * 2 * n].")
        .def("remember", &Minimiser::remember, nb::arg("memory").noconvert(),
             "Go on from x exactly as the run with this memory.");
}

} // namespace chaffinch::bindings
