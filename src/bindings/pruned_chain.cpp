// The pruned chain, trained and training: sizes and ids are checked here, once.
#include "converters.hpp"
#include "pruned_chain.hpp"

#include "areas.hpp"
#include "arrays.hpp"
#include "crf_problem.hpp"
#include "pruned_sgd.hpp"
#include "readings.hpp"

#include <algorithm>
#include <tuple>

namespace chaffinch::bindings {

namespace {

void check_rows(std::span<const std::int64_t> ptr, std::span<const std::uint16_t> labels, std::size_t weights,
                std::int64_t Y) {
    expect(rises(ptr, labels.size()), "rows of labels: ptr must rise from 0 to the number of labels");
    expect(labels.size() == weights, "rows of labels: one weight for each label");
    expect(std::ranges::all_of(labels, [Y](std::uint16_t y) { return y < Y; }), "rows of labels: a label is out of range");
}

} // namespace

void bind_pruned_chain(nb::module_& m) {
    nb::class_<scorers::PrunedChain> bound(m, "PrunedChain", "A trained chain of many labels that tries only a few at each token.");
    bound
        .def(
            "__init__",
            [](scorers::PrunedChain* self, In<std::int64_t> ptr, In<std::uint16_t> labels, In<float> weights, In<float> start,
               In<float> end, In<float, 2> pair, float threshold, std::int64_t most) {
                const auto Y = static_cast<std::int64_t>(start.size());
                expect(Y > 0 && Y < 32768 && end.size() == start.size() && pair.shape(0) == start.size() &&
                           pair.shape(1) == start.size(),
                       "PrunedChain: start, end and pair must have the same labels");
                check_rows(span(ptr), span(labels), weights.size(), Y);
                expect(most >= 1, "PrunedChain: a token needs a state");
                new (self) scorers::PrunedChain(copied(ptr), copied(labels), copied(weights), copied(start), copied(end), copied(pair),
                                       {.threshold = threshold, .most = most});
            },
            nb::arg("ptr").noconvert(), nb::arg("labels").noconvert(), nb::arg("weights").noconvert(),
            nb::arg("start").noconvert(), nb::arg("end").noconvert(), nb::arg("pair").noconvert(), nb::arg("threshold"),
            nb::arg("most"))
        .def(
            "states",
            [](const scorers::PrunedChain& self, In<std::int64_t> sentences, In<std::int64_t> ptr, In<std::int32_t> ids,
               std::size_t threads, const Values& values) {
                const scorers::SentenceRows x = checked(self, sentences, ptr, ids, values);
                Unlocked unlocked;
                return self.states(x, threads);
            },
            nb::arg("sentences").noconvert(), nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(),
            nb::arg("threads") = 0, nb::arg("values").noconvert() = nb::none(), "The total number of states of the tokens.");
    bind_readings(bound);

    using Sgd = std::pair<Problem*, learners::PrunedSgd>;
    nb::class_<Sgd>(m, "PrunedSgd", "Stochastic gradient descent on the pruned chain.")
        .def(
            "__init__",
            [](Sgd* self, Problem& p, double c2, double rate, std::int64_t epochs, float threshold, std::int64_t most,
               std::uint64_t seed) {
                const learners::CrfData& d = p.data;
                expect(p.shape.order == 1 && p.shape.observations.empty() && !p.trainable() && !d.soft && !d.allowed && !d.offset && d.states.Q() == 0,
                       "PrunedSgd: order 1, hard labels, no bigram templates, no weights that are not trained");
                expect(most >= 1, "PrunedSgd: a token needs a state");
                const learners::PrunedSettings s{.c2 = c2,
                                       .rate = rate,
                                       .epochs = epochs,
                                       .pruning = {.threshold = threshold, .most = most},
                                       .seed = seed};
                Unlocked unlocked;
                new (self) Sgd(&p, learners::PrunedSgd(p.data, p.shape.F, p.shape.Y, s, p.held()));
            },
            nb::arg("problem"), nb::arg("c2"), nb::arg("rate"), nb::arg("epochs"), nb::arg("threshold"), nb::arg("most"),
            nb::arg("seed") = 1, nb::keep_alive<1, 2>())
        .def(
            "run", [](Sgd& self) { return self.second.epoch(); }, nb::call_guard<Unlocked>(),
            "One shuffled epoch; the sum of the losses met.")
        .def(
            "widen", [](Sgd& self) { self.second.widen(); }, nb::call_guard<Unlocked>(),
            "Add weights for the pairs of features and labels that the model finds likely.")
        .def(
            "weights",
            [](const Sgd& self) {
                learners::PrunedSgd::Weights w = self.second.weights();
                return std::tuple(given(std::move(w.ptr)), given(std::move(w.labels)), given(std::move(w.unary)),
                                  given(std::move(w.chain)));
            },
            "ptr [F+1], labels [nnz], weights [nnz]; pair, start and end in one.")
        .def(
            "load",
            [](Sgd& self, const In<std::int64_t>& ptr, const In<std::uint16_t>& labels, const In<float>& weights,
               const In<float>& chain) {
                const std::int64_t Y = self.first->shape.Y;
                check_rows(span(ptr), span(labels), weights.size(), Y);
                expect(static_cast<std::int64_t>(ptr.size()) == self.first->shape.F + 1 &&
                           static_cast<std::int64_t>(chain.size()) == Y * Y + 2 * Y,
                       "PrunedSgd: weights of another size");
                self.second.load({copied(ptr), copied(labels), copied(weights), copied(chain)});
            },
            nb::arg("ptr").noconvert(), nb::arg("labels").noconvert(), nb::arg("weights").noconvert(),
            nb::arg("chain").noconvert(), "Take these weights, as weights() gave them.")
        .def(
            "state", [](const Sgd& self) { return given(self.second.state()); },
            "What restore() takes, to go on exactly from here.")
        .def(
            "restore",
            [](Sgd& self, const In<std::int64_t>& state) {
                const std::int64_t N = self.first->data.N();
                expect(static_cast<std::int64_t>(state.size()) == N + 2 && permutes(span(state).first(state.size() - 2), N),
                       "this state belongs to another problem");
                self.second.restore(span(state));
            },
            nb::arg("state").noconvert());
}

} // namespace chaffinch::bindings
