// Support vector machines with kernels: one problem step by step, or many over one Gram matrix; the simplex dual.
#include "areas.hpp"
#include "arrays.hpp"
#include "converters.hpp"
#include "kernel_eg.hpp"
#include "score.hpp"
#include "smo.hpp"

#include <algorithm>
#include <memory>

namespace chaffinch::bindings {

namespace {

// Rows from a Python function, copied into buffers of whole packs; the last two are kept.
struct AskedRows {
    nb::callable ask;
    std::int64_t N;
    machine::AlignedVector<float> room[2];
    std::int64_t held[2] = {-1, -1};
    int last = 1;

    const float* operator()(std::int64_t n) {
        for (int k = 0; k < 2; ++k)
            if (held[k] == n) {
                last = k;
                return room[k].data();
            }
        const int to = 1 - last;
        nb::gil_scoped_acquire acquired;
        const auto row = nb::cast<In<float>>(ask(n));
        expect(static_cast<std::int64_t>(row.size()) == N, "Smo: a row must be as long as there are examples");
        room[to].assign(static_cast<std::size_t>(machine::padded(N)), 0.0f);
        std::copy_n(row.data(), N, room[to].data());
        held[to] = n, last = to;
        return room[to].data();
    }
};

struct SmoRun {
    std::unique_ptr<AskedRows> rows;
    learners::Smo smo;
};

void check_penalties(std::span<const double> C) {
    expect(std::ranges::all_of(C, [](double c) { return c > 0 && c < 1e300; }), "penalties must be positive and finite");
}

void check_signs(std::span<const float> t) {
    expect(std::ranges::all_of(t, [](float s) { return s == 1.0f || s == -1.0f; }), "signs must be +1 or -1");
}

void bind_kernel_eg(nb::module_& m) {
    m.def(
        "eg_steps",
        [](In<std::int64_t> which, In<float, 2> rows, In<std::int32_t> y, In<double> C, In<double> k, std::int64_t Y,
           Out<double, 2> mu, Out<double, 2> beta, Out<double> eta) {
            const std::size_t N = y.size(), S = static_cast<std::size_t>(machine::padded(Y));
            expect(rows.shape(0) == which.size() && rows.shape(1) == N, "eg_steps: rows must be [which, examples]");
            expect(C.size() == N && k.size() == N && eta.size() == N, "eg_steps: C, k and eta must be [examples]");
            expect(mu.shape(0) == N && mu.shape(1) == S && beta.shape(0) == N && beta.shape(1) == S,
                   "eg_steps: mu and beta must be [examples, padded labels]");
            expect(scorers::all_below(span(y), Y), "eg_steps: a label is out of range");
            expect(std::ranges::all_of(span(which), [&](std::int64_t n) { return n >= 0 && static_cast<std::size_t>(n) < N; }),
                   "eg_steps: an example is out of range");
            Unlocked released;
            learners::eg_steps({span(y), span(C), span(k), Y}, span(which), rows.data(), {mu.data(), beta.data(), eta.data()});
        },
        nb::arg("which").noconvert(), nb::arg("rows").noconvert(), nb::arg("y").noconvert(), nb::arg("C").noconvert(),
        nb::arg("k").noconvert(), nb::arg("label_count"), nb::arg("mu").noconvert(), nb::arg("beta").noconvert(),
        nb::arg("eta").noconvert(), "Steps of exponentiated gradient on these examples, whose rows of the Gram matrix are given.");
    m.def(
        "eg_scores",
        [](In<float, 2> rows, In<double, 2> beta, Out<double, 2> F) {
            expect(rows.shape(1) == beta.shape(0) && F.shape(0) == rows.shape(0) && F.shape(1) == beta.shape(1) &&
                       beta.shape(1) % machine::lanes == 0,
                   "eg_scores: rows [n, examples], beta [examples, padded labels] and F [n, padded labels] must fit");
            Unlocked released;
            learners::eg_scores(static_cast<std::int64_t>(rows.shape(0)), rows.data(), static_cast<std::int64_t>(rows.shape(1)),
                      static_cast<std::int64_t>(beta.shape(1)), beta.data(), F.data());
        },
        nb::arg("rows").noconvert(), nb::arg("beta").noconvert(), nb::arg("F").noconvert(), "F = rows @ beta.");
}

} // namespace

void bind_svm(nb::module_& m) {
    bind_kernel_eg(m);
    nb::class_<SmoRun>(m, "Smo", "A support vector machine of two sides, by sequential minimal optimisation.")
        .def(
            "__init__",
            [](SmoRun* self, nb::callable row, In<double> diagonal, In<float> t, In<double> C, bool shrinking) {
                expect(diagonal.size() == t.size() && C.size() == t.size() && t.size() > 0,
                       "Smo: there must be a sign, a penalty and k(x, x) for each example");
                check_penalties(span(C));
                check_signs(span(t));
                auto rows = std::make_unique<AskedRows>();
                rows->ask = std::move(row);
                rows->N = static_cast<std::int64_t>(t.size());
                AskedRows* asked = rows.get();
                new (self) SmoRun{std::move(rows), learners::Smo([asked](std::int64_t n) { return (*asked)(n); }, span(diagonal),
                                                       span(t), span(C), shrinking)};
            },
            nb::arg("row"), nb::arg("diagonal").noconvert(), nb::arg("signs").noconvert(), nb::arg("C").noconvert(),
            nb::arg("shrinking") = true)
        .def("run", [](SmoRun& self, std::int64_t steps, double tolerance) { return self.smo.run(steps, tolerance); },
             nb::arg("steps"), nb::arg("tolerance"), nb::call_guard<Unlocked>())
        .def("objective",
             [](SmoRun& self) {
                 const learners::SvmObjective o = self.smo.objective();
                 return std::make_tuple(o.primal, o.dual, o.bias);
             })
        .def_prop_ro("steps", [](const SmoRun& self) { return self.smo.steps(); })
        .def("alpha", [](const SmoRun& self) {
            const auto a = self.smo.alpha();
            return given(std::vector<double>(a.begin(), a.end()));
        });
    m.def(
        "solve_svms",
        [](In<float, 2> K, In<std::int64_t> ptr, In<std::int64_t> members, In<float> t, In<double> C, double tolerance,
           double gap, std::int64_t most_steps, std::size_t threads, Out<double> alpha, Out<double, 2> objectives) {
            const auto bounds = span(ptr);
            const auto N = static_cast<std::int64_t>(K.shape(0));
            expect(K.shape(0) == K.shape(1), "solve_svms: the Gram matrix must be square");
            expect(!bounds.empty() && bounds.front() == 0 && std::ranges::is_sorted(bounds) &&
                       bounds.back() == static_cast<std::int64_t>(members.size()),
                   "solve_svms: ptr must rise from 0 to the number of members");
            expect(t.size() == members.size() && C.size() == members.size() && alpha.size() == members.size(),
                   "solve_svms: there must be a sign, a penalty and an alpha for each member");
            expect(objectives.shape(0) == bounds.size() - 1 && objectives.shape(1) == 3,
                   "solve_svms: objectives must be [problems, 3]");
            expect(std::ranges::all_of(span(members), [&](std::int64_t n) { return n >= 0 && n < N; }),
                   "solve_svms: a member is out of range");
            check_penalties(span(C));
            check_signs(span(t));
            Unlocked released;
            std::vector<learners::SvmObjective> found(bounds.size() - 1);
            learners::solve_svms(K.data(), N, {bounds, span(members), span(t), span(C)}, tolerance, gap, most_steps, threads,
                       alpha.data(), found.data());
            for (std::size_t p = 0; p < found.size(); ++p) {
                double* row = objectives.data() + 3 * p;
                row[0] = found[p].primal, row[1] = found[p].dual, row[2] = found[p].bias;
            }
        },
        nb::arg("gram").noconvert(), nb::arg("ptr").noconvert(), nb::arg("members").noconvert(),
        nb::arg("signs").noconvert(), nb::arg("C").noconvert(), nb::arg("tolerance"), nb::arg("gap"), nb::arg("most_steps"),
        nb::arg("threads"), nb::arg("alpha").noconvert(), nb::arg("objectives").noconvert());
}

} // namespace chaffinch::bindings
