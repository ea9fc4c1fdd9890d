// Learners of document classifiers over rows of weighted features.
#include "areas.hpp"
#include "arrays.hpp"
#include "choice_objective.hpp"
#include "choice_scores.hpp"
#include "choice_sgd.hpp"
#include "converters.hpp"
#include "dual_choice.hpp"
#include "dual_rest.hpp"
#include "lbfgs.hpp"
#include "score.hpp"
#include "weight_rows.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>

namespace chaffinch::bindings {

namespace {

template <class Array> void check_table(const Array& w, std::int64_t F, std::int64_t Y) {
    expect(static_cast<std::int64_t>(w.shape(0)) == F + 1 && static_cast<std::int64_t>(w.shape(1)) == machine::padded(Y),
           "weights must be [features + 1, padded labels]");
}

// Rows that were checked once, and the arrays that keep them alive.
struct DocumentRows {
    In<std::int64_t> ptr;
    In<std::int32_t> ids;
    In<float> values, by_feature, by_row;
    features::Examples examples;

    DocumentRows(In<std::int64_t> ptr_, In<std::int32_t> ids_, In<float> values_, std::int64_t F, float bias,
                 In<float> by_feature_, In<float> by_row_)
        : ptr(std::move(ptr_)), ids(std::move(ids_)), values(std::move(values_)), by_feature(std::move(by_feature_)),
          by_row(std::move(by_row_)) {
        const auto bounds = span(ptr);
        expect(!bounds.empty() && bounds.front() == 0 && std::ranges::is_sorted(bounds) &&
                   bounds.back() == static_cast<std::int64_t>(ids.size()),
               "DocumentRows: ptr must rise from 0 to the number of ids");
        expect(values.size() == 0 || values.size() == ids.size(), "DocumentRows: values must match ids, or be empty");
        expect(F >= 0 && scorers::all_below(span(ids), F), "DocumentRows: a feature is out of range");
        expect((by_feature.size() == 0 && by_row.size() == 0) ||
                   (values.size() == 0 && static_cast<std::int64_t>(by_feature.size()) == F &&
                    by_row.size() + 1 == bounds.size()),
               "DocumentRows: factors go without values, one per feature and one per row");
        examples = {bounds, span(ids), span(values), F, bias, span(by_feature), span(by_row)};
    }

    std::int64_t N() const { return examples.N(); }

    void check_penalties(const In<float>& C) const {
        expect(static_cast<std::int64_t>(C.size()) == N(), "there must be one penalty per document");
        expect(std::ranges::all_of(span(C), [](float c) { return c > 0; }), "penalties must be positive");
    }
    void check_order(const In<std::int64_t>& order) const {
        expect(std::ranges::all_of(span(order), [&](std::int64_t n) { return n >= 0 && n < N(); }),
               "order names a document that is not there");
    }
    void check_targets(const In<float, 2>& q, std::int64_t Y) const {
        expect(static_cast<std::int64_t>(q.shape(0)) == N() && static_cast<std::int64_t>(q.shape(1)) == Y && Y > 0,
               "targets must be [documents, labels]");
    }
    template <class Array> void check_weights(const Array& w, std::int64_t Y) const { check_table(w, examples.F, Y); }
};

// Weights of the caller, or none.
using Given = std::optional<Out<float, 2>>;

std::span<float> given_weights(const Given& w, const DocumentRows& rows, std::int64_t Y) {
    if (!w) return {};
    rows.check_weights(*w, Y);
    return {w->data(), w->size()};
}

using Table = nb::ndarray<nb::numpy, const float, nb::ndim<2>>;

template <class Solver> Table alpha(const Solver& solver, std::int64_t N) {
    return Table(solver.alpha(), {static_cast<std::size_t>(N), static_cast<std::size_t>(solver.S())});
}

template <class Run> std::tuple<double, double> objective(const Run& self, std::size_t threads) {
    Unlocked released;
    const learners::DualObjective o = self.solver.objective(threads);
    return {o.primal, o.dual};
}

template <class Run> void weights(const Run& self, Out<float, 2> w) {
    self.rows->check_weights(w, self.Y);
    Unlocked released;
    self.solver.weights(w.data());
}

template <class Run> nb::ndarray<nb::numpy, float, nb::ndim<2>> release(Run& self) {
    auto* w = new machine::AlignedVector<float>(self.solver.release());
    nb::capsule owner(w, [](void* p) noexcept { delete static_cast<machine::AlignedVector<float>*>(p); });
    const auto S = static_cast<std::size_t>(self.solver.S());
    return nb::ndarray<nb::numpy, float, nb::ndim<2>>(w->data(), {w->size() / S, S}, owner);
}

template <class Run> void forget(Run& self, In<std::int64_t> which) {
    self.rows->check_order(which);
    Unlocked released;
    self.solver.forget(span(which));
}

template <class Run> void scores(const Run& self, In<std::int64_t> which, Out<float, 2> out) {
    self.rows->check_order(which);
    expect(out.shape(0) == which.size() && static_cast<std::int64_t>(out.shape(1)) == machine::padded(self.Y),
           "scores must be [documents, padded labels]");
    Unlocked released;
    self.solver.scores(span(which), out.data());
}

// The methods of every dual solver.
template <class Run> void bind_reading(nb::class_<Run>& bound, const char* alphas) {
    bound.def("objective", &objective<Run>, nb::arg("threads"),
              "The primal objective of the weights and the dual objective of the dual variables.")
        .def("weights", &weights<Run>, nb::arg("w").noconvert(), "Write the weights, float32 [features + 1, padded labels].")
        .def("restart", [](Run& self) { self.solver.restart(); }, "Reset the weights to zero, as before the first pass.")
        .def("release", &release<Run>, "The same as an array without a copy; the solver cannot be used afterwards.")
        .def(
            "resume",
            [](Run& self, In<float, 2> duals) {
                expect(static_cast<std::int64_t>(duals.shape(0)) == self.rows->N() &&
                           static_cast<std::int64_t>(duals.shape(1)) == self.solver.S(),
                       "dual variables must be [documents, padded labels]");
                self.solver.resume(span(duals));
            },
            nb::arg("duals").noconvert(), "The dual variables of an earlier pass; the weights must have their sums.")
        .def(
            "alpha", [](const Run& self) { return alpha(self.solver, self.rows->N()); }, nb::rv_policy::reference_internal,
            alphas);
}

// For held-out margins: removing documents and scoring them.
template <class Run> void bind_holding_out(nb::class_<Run>& bound) {
    bound
        .def("wake", [](Run& self) { self.solver.wake(); }, "End shrinking: update all dual variables again.")
        .def("forget", &forget<Run>, nb::arg("which").noconvert(), "Remove documents from the weights.")
        .def("scores", &scores<Run>, nb::arg("which").noconvert(), nb::arg("out").noconvert(),
             "Write the scores of documents, float32 [which, padded labels].");
}

struct Rest {
    const DocumentRows* rows;
    std::int64_t Y;
    learners::DualRest solver;
};

struct CrammerSinger {
    const DocumentRows* rows;
    std::int64_t Y;
    learners::DualCrammerSinger solver;
};

struct Logistic {
    const DocumentRows* rows;
    std::int64_t Y;
    learners::DualLogistic solver;
};

// An objective and the optimiser that asks it, at one place.
struct BatchRun {
    In<float, 2> q;
    In<float> c;
    std::int64_t Y;
    learners::ChoiceObjective objective;
    learners::Lbfgs steps;

    BatchRun(const DocumentRows& rows, In<float, 2> q_, In<float> c_, std::int64_t Y_, learners::ChoiceLoss loss, double l2,
             const learners::LbfgsSettings& settings)
        : q(std::move(q_)), c(std::move(c_)), Y(Y_),
          objective(rows.examples, span(q), span(c), Y_, loss, l2, settings.threads),
          steps([this](const float* w, float* g) { return objective(w, g); },
                machine::AlignedVector<float>(static_cast<std::size_t>(objective.size())), {}, settings) {}
};

} // namespace

void bind_classify(nb::module_& m) {
    nb::class_<DocumentRows>(m, "DocumentRows", "Rows of weighted features, checked once.")
        .def(nb::init<In<std::int64_t>, In<std::int32_t>, In<float>, std::int64_t, float, In<float>, In<float>>(),
             nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(), nb::arg("features"),
             nb::arg("bias"), nb::arg("by_feature").noconvert(), nb::arg("by_row").noconvert());

    nb::enum_<learners::MarginLoss>(m, "MarginLoss")
        .value("hinge", learners::MarginLoss::hinge)
        .value("squared_hinge", learners::MarginLoss::squared_hinge)
        .value("squared", learners::MarginLoss::squared);

    nb::class_<Rest> rest(m, "DualRest", "One model per label against the rest, by dual coordinate descent.");
    rest.def(
            "__init__",
            [](Rest* self, const DocumentRows& rows, In<std::int64_t> label_ptr, In<std::int32_t> labels, In<float> C,
               std::int64_t Y, learners::MarginLoss loss, bool shrinking, const Given& w) {
                const auto bounds = span(label_ptr);
                expect(static_cast<std::int64_t>(bounds.size()) == rows.N() + 1 && bounds.front() == 0 &&
                           std::ranges::is_sorted(bounds) && bounds.back() == static_cast<std::int64_t>(labels.size()),
                       "DualRest: label_ptr must rise from 0 to the number of labels");
                expect(Y > 0 && scorers::all_below(span(labels), Y), "DualRest: a label is out of range");
                rows.check_penalties(C);
                new (self) Rest{&rows, Y, learners::DualRest(rows.examples, bounds, span(labels), span(C), Y, loss, shrinking,
                                                             given_weights(w, rows, Y))};
            },
            nb::arg("rows"), nb::arg("label_ptr").noconvert(), nb::arg("labels").noconvert(), nb::arg("C").noconvert(),
            nb::arg("label_count"), nb::arg("loss"), nb::arg("shrinking"), nb::arg("w").noconvert().none() = nb::none(),
            nb::keep_alive<1, 2>(), nb::keep_alive<1, 9>())
        .def(
            "run",
            [](Rest& self, In<std::int64_t> order, std::size_t threads, Out<float> violation) {
                self.rows->check_order(order);
                expect(static_cast<std::int64_t>(violation.size()) == self.Y, "DualRest: violation must be [labels]");
                Unlocked released;
                return self.solver.pass(span(order), threads, span(violation));
            },
            nb::arg("order").noconvert(), nb::arg("threads"), nb::arg("violation").noconvert(),
            "One pass in this order; violation float32 [labels] receives each label's largest. Returns the duality gap.");
    bind_reading(rest, "The dual variables, float32 [documents, padded labels].");
    bind_holding_out(rest);

    nb::class_<CrammerSinger> crammer_singer(m, "DualCrammerSinger", "Crammer and Singer's multiclass margin, by its dual.");
    crammer_singer
        .def(
            "__init__",
            [](CrammerSinger* self, const DocumentRows& rows, In<std::int32_t> y, In<float> C, std::int64_t Y,
               learners::MarginLoss loss, bool shrinking, const Given& w) {
                expect(loss != learners::MarginLoss::squared, "DualCrammerSinger: the loss is the hinge or its square");
                expect(static_cast<std::int64_t>(y.size()) == rows.N(), "DualCrammerSinger: one label per document");
                expect(Y > 0 && scorers::all_below(span(y), Y), "DualCrammerSinger: a label is out of range");
                rows.check_penalties(C);
                new (self) CrammerSinger{&rows, Y, learners::DualCrammerSinger(rows.examples, span(y), span(C), Y,
                                                                      loss == learners::MarginLoss::squared_hinge, shrinking,
                                                                      given_weights(w, rows, Y))};
            },
            nb::arg("rows"), nb::arg("y").noconvert(), nb::arg("C").noconvert(), nb::arg("label_count"),
            nb::arg("loss"), nb::arg("shrinking"), nb::arg("w").noconvert().none() = nb::none(), nb::keep_alive<1, 2>(),
            nb::keep_alive<1, 8>())
        .def(
            "run",
            [](CrammerSinger& self, In<std::int64_t> order) {
                self.rows->check_order(order);
                Unlocked released;
                const auto found = self.solver.pass(span(order));
                return std::make_tuple(found.violation, found.met);
            },
            nb::arg("order").noconvert(), "One pass in this order; returns the largest violation and the duality gap.")
        .def_prop_ro("resting", [](const CrammerSinger& self) { return self.solver.resting(); }, "Documents left out of passes.");
    bind_reading(crammer_singer, "The dual variables, float32 [documents, padded labels].");
    bind_holding_out(crammer_singer);

    nb::class_<Logistic> logistic(m, "DualLogistic", "Multinomial logistic regression, by stochastic dual coordinate ascent.");
    logistic
        .def(
            "__init__",
            [](Logistic* self, const DocumentRows& rows, In<float, 2> q, In<float> C, bool whole, const Given& w) {
                const auto Y = static_cast<std::int64_t>(q.shape(1));
                rows.check_targets(q, Y);
                rows.check_penalties(C);
                new (self) Logistic{&rows, Y, learners::DualLogistic(rows.examples, span(q), span(C), Y, whole,
                                                                     given_weights(w, rows, Y))};
            },
            nb::arg("rows"), nb::arg("targets").noconvert(), nb::arg("C").noconvert(), nb::arg("whole") = false,
            nb::arg("w").noconvert().none() = nb::none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 6>())
        .def(
            "load",
            [](Logistic& self, In<float, 2> w) {
                expect(self.solver.whole(), "DualLogistic.load needs whole=True");
                expect(static_cast<std::int64_t>(w.shape(0)) == self.rows->examples.F + 1 &&
                           static_cast<std::int64_t>(w.shape(1)) == self.solver.S(),
                       "w must be [features + 1, padded labels]");
                self.solver.load(span(w));
            },
            nb::arg("w").noconvert(), "Take weights that other documents have updated too.")
        .def(
            "run",
            [](Logistic& self, In<std::int64_t> order) {
                self.rows->check_order(order);
                Unlocked released;
                return self.solver.pass(span(order));
            },
            nb::arg("order").noconvert(), "One pass in this order; returns the duality gap.");
    bind_reading(logistic, "The dual distributions, float32 [documents, padded labels].");

    nb::enum_<learners::ChoiceLoss>(m, "ChoiceLoss")
        .value("softmax", learners::ChoiceLoss::softmax)
        .value("sigmoid", learners::ChoiceLoss::sigmoid)
        .value("hinge", learners::ChoiceLoss::hinge)
        .value("perceptron", learners::ChoiceLoss::perceptron);

    nb::class_<learners::ChoiceSgd>(m, "ChoiceSgd", "Stochastic gradient descent over documents, plain or AdaGrad, averaged or not.")
        .def(
            "__init__",
            [](learners::ChoiceSgd* self, std::int64_t F, std::int64_t Y, learners::ChoiceLoss loss, bool adaptive, bool average, double l1,
               double l2) {
                expect(F >= 0 && Y > 0 && l1 >= 0 && l2 >= 0, "ChoiceSgd: sizes and penalties must not be negative");
                new (self) learners::ChoiceSgd(F, Y, {loss, adaptive, average, l1, l2});
            },
            nb::arg("features"), nb::arg("label_count"), nb::arg("loss"), nb::arg("adaptive"), nb::arg("average"),
            nb::arg("l1"), nb::arg("l2"))
        .def(
            "run",
            [](learners::ChoiceSgd& self, const DocumentRows& rows, In<float, 2> q, In<float> c, In<std::int64_t> order,
               std::int64_t batch, In<float> rates, std::size_t threads, Out<float, 2> w) {
                expect(rows.examples.F == self.F(), "ChoiceSgd: rows have another number of features");
                rows.check_targets(q, self.Y());
                rows.check_penalties(c);
                rows.check_order(order);
                rows.check_weights(w, self.Y());
                expect(batch > 0, "ChoiceSgd: a batch has at least one document");
                const auto steps = (static_cast<std::int64_t>(order.size()) + batch - 1) / batch;
                expect(static_cast<std::int64_t>(rates.size()) == steps, "ChoiceSgd: there must be one rate per batch");
                Unlocked released;
                return self.run(rows.examples, span(q), span(c), span(order), batch, span(rates), threads, w.data());
            },
            nb::arg("rows"), nb::arg("targets").noconvert(), nb::arg("importance").noconvert(),
            nb::arg("order").noconvert(), nb::arg("batch"), nb::arg("rates").noconvert(), nb::arg("threads"),
            nb::arg("w").noconvert(), "Steps over the documents in this order; returns the sum of their losses before the updates.")
        .def(
            "settle",
            [](learners::ChoiceSgd& self, Out<float, 2> w) {
                check_table(w, self.F(), self.Y());
                self.settle(w.data());
            },
            nb::arg("w").noconvert(), "Bring every weight up to date with the penalties.")
        .def(
            "average",
            [](const learners::ChoiceSgd& self, In<float, 2> w, Out<float, 2> out) {
                check_table(w, self.F(), self.Y());
                check_table(out, self.F(), self.Y());
                self.average(w.data(), out.data());
            },
            nb::arg("w").noconvert(), nb::arg("out").noconvert(), "The mean of settled weights over all steps.");

    using Batch = std::pair<const DocumentRows*, std::unique_ptr<BatchRun>>;
    nb::class_<Batch>(m, "ChoiceBatch", "L-BFGS, or OWL-QN if l1 > 0, over the likelihood of all documents.")
        .def(
            "__init__",
            [](Batch* self, const DocumentRows& rows, In<float, 2> q, In<float> c, learners::ChoiceLoss loss, double l1, double l2,
               std::size_t memory, std::size_t threads) {
                const auto Y = static_cast<std::int64_t>(q.shape(1));
                rows.check_targets(q, Y);
                rows.check_penalties(c);
                expect(loss == learners::ChoiceLoss::softmax || loss == learners::ChoiceLoss::sigmoid, "ChoiceBatch: the loss must be smooth");
                expect(l1 >= 0 && l2 >= 0, "ChoiceBatch: penalties must not be negative");
                const learners::LbfgsSettings settings{.c1 = l1, .memory = memory, .threads = threads};
                new (self) Batch(&rows, std::make_unique<BatchRun>(rows, q, c, Y, loss, l2, settings));
            },
            nb::arg("rows"), nb::arg("targets").noconvert(), nb::arg("importance").noconvert(), nb::arg("loss"),
            nb::arg("l1"), nb::arg("l2"), nb::arg("memory") = 6, nb::arg("threads") = 0, nb::keep_alive<1, 2>())
        .def(
            "run", [](Batch& self) { return self.second->steps.iterate(); }, nb::call_guard<Unlocked>(),
            "One step; False if none lowers the value any further.")
        .def_prop_ro("value", [](const Batch& self) { return self.second->steps.value(); })
        .def(
            "evaluate",
            [](Batch& self, In<float, 2> w, Out<float, 2> g) {
                self.first->check_weights(w, self.second->Y);
                self.first->check_weights(g, self.second->Y);
                return self.second->objective(w.data(), g.data());
            },
            nb::arg("w").noconvert(), nb::arg("gradient").noconvert(), nb::call_guard<Unlocked>(),
            "The value without the L1 term at w; the gradient overwrites its array.")
        .def(
            "weights",
            [](const Batch& self, Out<float, 2> w) {
                self.first->check_weights(w, self.second->Y);
                std::ranges::copy(self.second->steps.x(), w.data());
            },
            nb::arg("w").noconvert(), "Copy the weights as they stand.");

    m.def(
        "row_strengths",
        [](StridedRows<float> w, std::size_t threads, Out<float> out) {
            expect(out.size() == w.shape(0), "row_strengths: one number per row");
            const std::int64_t S = stride_of(w);
            Unlocked released;
            features::row_strengths(static_cast<std::int64_t>(w.shape(0)), static_cast<std::int64_t>(w.shape(1)), S, w.data(), threads,
                          out.data());
        },
        nb::arg("w").noconvert(), nb::arg("threads"), nb::arg("out").noconvert(), "The largest |w| of each row.");

    m.def(
        "kept_rows",
        [](StridedRows<float> w, In<std::uint8_t> keep, float least, Out<float, 2> out) {
            const auto kept = static_cast<std::size_t>(std::ranges::count_if(span(keep), [](std::uint8_t k) { return k != 0; }));
            expect(keep.size() == w.shape(0) && out.shape(0) == kept && out.shape(1) == w.shape(1),
                   "kept_rows: a flag for each row, and room for those that are kept");
            const std::int64_t S = stride_of(w);
            Unlocked released;
            features::kept_rows(static_cast<std::int64_t>(w.shape(0)), static_cast<std::int64_t>(w.shape(1)), S, w.data(), keep.data(),
                                least, out.data());
        },
        nb::arg("w").noconvert(), nb::arg("keep").noconvert(), nb::arg("least"), nb::arg("out").noconvert(),
        "The rows with a flag, weights smaller than `least` as zeros.");

    m.def(
        "round_rows",
        [](Out<float, 2> w, std::size_t threads, Out<std::int8_t, 2> q, Out<float> scales) {
            expect(q.shape(0) == w.shape(0) && q.shape(1) <= w.shape(1) && scales.size() == w.shape(0),
                   "round_rows: q and scales must have a row for each of w");
            Unlocked released;
            features::round_rows(static_cast<std::int64_t>(w.shape(0)), static_cast<std::int64_t>(q.shape(1)),
                       static_cast<std::int64_t>(w.shape(1)), threads, w.data(), q.data(), scales.data());
        },
        nb::arg("w").noconvert(), nb::arg("threads"), nb::arg("q").noconvert(), nb::arg("scales").noconvert(),
        "The first columns of w in eight bits, a scale for each row; w is rounded in place.");

    m.def(
        "choice_scores",
        [](const DocumentRows& rows, In<float, 2> w, std::size_t threads, Out<float, 2> out) {
            const auto Y = static_cast<std::int64_t>(out.shape(1));
            expect(static_cast<std::int64_t>(out.shape(0)) == rows.N(), "choice_scores: one row of scores per document");
            rows.check_weights(w, Y);
            Unlocked released;
            scorers::choice_scores(rows.examples, Y, w.data(), threads, out.data());
        },
        nb::arg("rows"), nb::arg("w").noconvert(), nb::arg("threads"), nb::arg("out").noconvert(),
        "out float32 [documents, labels]: the score of every label.");
}

} // namespace chaffinch::bindings
