// The chain CRF: a training set, its objective, and the learners that lower it.
#include "areas.hpp"
#include "arrays.hpp"
#include "converters.hpp"
#include "crf_batch.hpp"
#include "crf_objective.hpp"
#include "crf_problem.hpp"
#include "crf_sdca.hpp"
#include "crf_sgd.hpp"
#include "score.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>

namespace chaffinch::bindings {

namespace {

template <class Real> void bind_objective(nb::module_& m, const char* name) {
    using Objective = std::pair<Problem*, learners::CrfObjective<Real>>;
    nb::class_<Objective>(m, name, "f(w) = -log-likelihood + c2 |w|^2 over a CrfProblem, and its gradient.")
        .def(
            "__init__",
            [](Objective* self, Problem& p, double c2, std::size_t threads) {
                new (self) Objective(&p, learners::CrfObjective<Real>(p.shape, p.data, c2, p.trainable(), threads));
            },
            nb::arg("problem"), nb::arg("c2"), nb::arg("threads") = 0, nb::keep_alive<1, 2>())
        .def(
            "__call__",
            [](Objective& self, const Out<Real>& w, const Out<Real>& gradient) {
                return self.second(self.first->weights(w), self.first->weights(gradient));
            },
            nb::arg("w").noconvert(), nb::arg("gradient").noconvert(), nb::call_guard<Unlocked>(),
            "The value at w; the gradient overwrites its array.")
        .def(
            "fisher",
            [](Objective& self, const Out<Real>& w, const Out<Real>& diagonal) {
                self.second.fisher(self.first->weights(w), self.first->weights(diagonal));
            },
            nb::arg("w").noconvert(), nb::arg("diagonal").noconvert(), nb::call_guard<Unlocked>(),
            "sum of p (1 - p) for every weight; overwrites its array.");
}

} // namespace

void bind_crf(nb::module_& m) {
    nb::class_<Problem>(m, "CrfProblem", "Sentences of feature rows with labels, as the CRF's learners read them.")
        .def(nb::init<In<std::int64_t>, In<std::int64_t>, In<std::int32_t>, In<std::int32_t>, std::int64_t,
                      std::int64_t, int, Maybe<float, 2>, Maybe<std::uint8_t, 2>, Maybe<float, 1>, Maybe<float, 2>,
                      Maybe<std::int32_t, 2>, std::vector<std::int64_t>, Maybe<std::uint8_t, 1>, bool, Maybe<float, 2>,
                      Maybe<float, 1>, Maybe<std::int32_t, 1>, Maybe<std::uint8_t, 2>, Maybe<std::uint8_t, 1>,
                      Maybe<std::uint8_t, 1>, Values>(),
             nb::arg("sentences").noconvert(), nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(),
             nb::arg("y").noconvert(), nb::arg("F"), nb::arg("Y"), nb::arg("order") = 1,
             nb::arg("soft").noconvert() = nb::none(), nb::arg("allowed").noconvert() = nb::none(),
             nb::arg("weight").noconvert() = nb::none(), nb::arg("offset").noconvert() = nb::none(),
             nb::arg("observed").noconvert() = nb::none(), nb::arg("observations") = std::vector<std::int64_t>{},
             nb::arg("trainable").noconvert() = nb::none(), nb::arg("local") = false,
             nb::arg("cost").noconvert() = nb::none(), nb::arg("chain").noconvert() = nb::none(),
             nb::arg("state_label").noconvert() = nb::none(), nb::arg("state_follows").noconvert() = nb::none(),
             nb::arg("state_starts").noconvert() = nb::none(), nb::arg("held").noconvert() = nb::none(),
             nb::arg("values").noconvert() = nb::none())
        .def_prop_ro("size", [](const Problem& p) { return p.shape.size(); }, "How many weights, padding included.")
        .def_prop_ro("stride", [](const Problem& p) { return p.shape.S(); }, "The row length of unary and pair weights.")
        .def_prop_ro(
            "blocks",
            [](const Problem& p) {
                const auto& s = p.shape;
                return nb::make_tuple(s.pair(), s.start(), s.end(), s.triple(), s.first(), s.last(), s.chain_end());
            },
            "Where pair, start, end, triple, first, last and the bigram rows begin.")
        .def_prop_ro(
            "dual_bytes", [](const Problem& p) { return learners::CrfSdca::bytes_needed(p.shape, p.data); },
            "The memory of CrfSdca besides the weights.");

    bind_objective<float>(m, "CrfObjective");
    bind_objective<double>(m, "CrfObjective64");

    nb::class_<learners::SdcaPass>(m, "SdcaPass", "The results of one pass of CrfSdca.")
        .def_ro("loss", &learners::SdcaPass::loss)
        .def_ro("penalty", &learners::SdcaPass::penalty)
        .def_ro("moved", &learners::SdcaPass::moved, "The objective that gap() is a fraction of.")
        .def_ro("visited", &learners::SdcaPass::visited)
        .def_prop_ro("gap", &learners::SdcaPass::gap, "The estimated distance to the optimum as a fraction of it, 2 to 7 times the true one.");

    using Sdca = std::pair<Problem*, learners::CrfSdca>;
    nb::class_<Sdca>(m, "CrfSdca", "Dual coordinate ascent on the penalised likelihood.")
        .def(
            "__init__",
            [](Sdca* self, Problem& p, double c2, double still, bool skip_quiet, std::uint64_t seed, double factor,
               double c1, double hold, double quiet, const std::optional<Out<float>>& nodes, const std::optional<Out<float>>& pairs) {
                if (!(c1 >= 0 && c2 > 0 && hold >= 0)) throw nb::value_error("CrfSdca: c1 >= 0, c2 > 0, hold >= 0");
                if (p.shape.order != 1 || p.data.allowed || !p.shape.observations.empty())
                    throw nb::value_error("CrfSdca: first order, no partial labels, no bigram templates");
                learners::SdcaSettings s{.c1 = c1, .c2 = c2, .hold = hold, .factor = factor, .still = still, .quiet = quiet, .skip_quiet = skip_quiet, .seed = seed};
                const std::int64_t cells = p.data.T() * p.shape.S(), arcs = p.data.N() * p.shape.Y * p.shape.S();
                if (nodes.has_value() != pairs.has_value() ||
                    (nodes && (static_cast<std::int64_t>(nodes->size()) != cells || static_cast<std::int64_t>(pairs->size()) != arcs)))
                    throw nb::value_error("these marginals belong to another problem");
                new (self) Sdca(&p, learners::CrfSdca(p.shape, p.data, s, p.trainable(), nodes ? nodes->data() : nullptr,
                                                      pairs ? pairs->data() : nullptr));
            },
            nb::arg("problem"), nb::arg("c2"), nb::arg("still") = 0.001, nb::arg("skip_quiet") = true,
            nb::arg("seed") = 1, nb::arg("factor") = 2.0, nb::arg("c1") = 0.0, nb::arg("hold") = 0.0, nb::arg("quiet") = 0.0,
            nb::arg("nodes").noconvert() = nb::none(), nb::arg("pairs").noconvert() = nb::none(), nb::keep_alive<1, 2>(),
            nb::keep_alive<1, 11>(), nb::keep_alive<1, 12>(),
            "quiet: sentences visited before whose change is less are measured, but do not move. nodes, pairs: the caller's marginals [T S] and [N Y S], updated in place; None: own ones, gold at first.")
        .def(
            "run", [](Sdca& self, const Out<float>& w) { return self.second.pass(self.first->weights(w)); },
            nb::arg("w").noconvert(), nb::call_guard<Unlocked>(),
            "One shuffled pass; w must be the result of the last pass, and zeros (or prior weights) before the first.")
        .def(
            "add_weights", [](Sdca& self, const Out<float>& w) { self.second.add_weights(self.first->weights(w)); },
            nb::arg("w").noconvert(), nb::call_guard<Unlocked>(),
            "Add the weights of the marginals of all sentences to w.")
        .def(
            "settle",
            [](Sdca& self, const In<std::int64_t>& sentences, int times, const Out<float>& w) {
                for (const std::int64_t n : span(sentences))
                    if (n < 0 || n >= self.first->data.N()) throw nb::value_error("CrfSdca: no such sentence");
                self.second.settle(span(sentences), times, self.first->weights(w));
            },
            nb::arg("sentences").noconvert(), nb::arg("times"), nb::arg("w").noconvert(), nb::call_guard<Unlocked>(),
            "Visit only these sentences, each `times` times.")
        .def(
            "settle_loudest",
            [](Sdca& self, std::int64_t count, const Out<float>& w) {
                return self.second.settle_loudest(count, self.first->weights(w));
            },
            nb::arg("count"), nb::arg("w").noconvert(), nb::call_guard<Unlocked>(),
            "Visit the sentences whose marginals moved most, once each; loss and moved of all sentences.")
        .def(
            "start_at", [](Sdca& self, const Out<float>& w) { self.second.start_at(self.first->weights(w)); },
            nb::arg("w").noconvert(), nb::call_guard<Unlocked>(),
            "Set the marginals of all sentences to those under w, which does not change.")
        .def(
            "measure", [](Sdca& self, const Out<float>& w) { return self.second.measure(self.first->weights(w)); },
            nb::arg("w").noconvert(), nb::call_guard<Unlocked>(),
            "Loss and moved of all sentences under w, which does not change.")
        .def(
            "state",
            [](const Sdca& self) {
                learners::CrfSdca::State s = self.second.state();
                return std::tuple(given(std::move(s.nodes)), given(std::move(s.pairs)), given(std::move(s.change)), given(std::move(s.loss)),
                                  given(std::move(s.smaller)), given(std::move(s.order)), given(std::move(s.counts)), s.mean_change);
            },
            "What restore() takes, to go on exactly from here.")
        .def(
            "visits",
            [](const Sdca& self) {
                learners::CrfSdca::Visits v = self.second.visits();
                return std::tuple(given(std::move(v.change)), given(std::move(v.loss)), given(std::move(v.smaller)), given(std::move(v.met)));
            },
            "What resume() takes: change, loss and smaller of the last visits, and whether there was one.")
        .def(
            "resume",
            [](Sdca& self, const In<float>& change, const In<float>& loss, const In<float>& smaller, const In<std::uint8_t>& met) {
                const auto N = static_cast<std::size_t>(self.first->data.N());
                if (change.size() != N || loss.size() != N || smaller.size() != N || met.size() != N)
                    throw nb::value_error("these visits belong to another problem");
                self.second.resume({span(change), span(loss), span(smaller), span(met)});
            },
            nb::arg("change").noconvert(), nb::arg("loss").noconvert(), nb::arg("smaller").noconvert(), nb::arg("met").noconvert())
        .def(
            "held",
            [](const Sdca& self) {
                learners::CrfSdca::Held h = self.second.held();
                return std::tuple(given(std::move(h.sums)), h.hold, h.moved, h.held);
            },
            "What restore_held() takes: the sums that the weights of an elastic net are read off, and how w is held.")
        .def(
            "restore_held",
            [](Sdca& self, const In<float>& sums, double hold, double moved, double held) {
                if (sums.size() != self.second.held().sums.size())
                    throw nb::value_error("these sums belong to another problem");
                self.second.restore(learners::CrfSdca::Held{copied(sums), hold, moved, held});
            },
            nb::arg("sums").noconvert(), nb::arg("hold"), nb::arg("moved"), nb::arg("held"))
        .def(
            "restore",
            [](Sdca& self, const In<float>& nodes, const In<float>& pairs, const In<float>& change, const In<float>& loss,
               const In<float>& smaller, const In<std::int64_t>& order, const In<std::int64_t>& counts, double mean_change) {
                const Problem& p = *self.first;
                const std::int64_t S = p.shape.S(), N = p.data.N();
                const auto sized = [](const auto& a, std::int64_t n) { return static_cast<std::int64_t>(a.size()) == n; };
                if (!sized(nodes, p.data.T() * S) || !sized(pairs, N * p.shape.Y * S) || !sized(change, N) || !sized(loss, N) || !sized(smaller, N) ||
                    !sized(counts, N + 2) || !permutes(span(order), N))
                    throw nb::value_error("this state belongs to another problem");
                self.second.restore(learners::CrfSdca::StateView{span(nodes), span(pairs), span(change), span(loss), span(smaller), span(order), span(counts), mean_change});
            },
            nb::arg("nodes").noconvert(), nb::arg("pairs").noconvert(), nb::arg("change").noconvert(),
            nb::arg("loss").noconvert(), nb::arg("smaller").noconvert(), nb::arg("order").noconvert(), nb::arg("counts").noconvert(), nb::arg("mean_change"));

    using Sgd = std::pair<Problem*, std::unique_ptr<learners::CrfSgd>>;
    nb::class_<Sgd>(m, "CrfSgd", "Stochastic gradient descent with a rate that falls linearly to zero.")
        .def(
            "__init__",
            [](Sgd* self, Problem& p, double c2, double rate, std::int64_t epochs, std::uint64_t seed, std::int64_t block,
               std::int64_t sentences) {
                if (block < 1) throw nb::value_error("CrfSgd: a block has at least one sentence");
                if (sentences < 0) throw nb::value_error("CrfSgd: sentences must be >= 0");
                learners::CrfSgdSettings s{
                    .c2 = c2, .rate = rate, .epochs = epochs, .block = block, .seed = seed, .sentences = sentences};
                new (self) Sgd(&p, std::make_unique<learners::CrfSgd>(p.shape, p.data, s, p.trainable()));
            },
            nb::arg("problem"), nb::arg("c2"), nb::arg("rate") = 0.2, nb::arg("epochs") = 5, nb::arg("seed") = 1,
            nb::arg("block") = learners::CrfSgdSettings{}.block, nb::arg("sentences") = 0, nb::keep_alive<1, 2>())
        .def(
            "part",
            [](Sgd& self, const Out<float>& w, const In<std::int64_t>& order, std::int64_t met, double scale,
               std::size_t threads) {
                for (const std::int64_t n : span(order))
                    if (n < 0 || n >= self.first->data.N()) throw nb::value_error("CrfSgd: no such sentence");
                double after = scale;
                float* weights = self.first->weights(w);
                Unlocked unlocked;
                const double loss = self.second->part(span(order), met, after, weights, threads);
                return std::tuple(loss, after);
            },
            nb::arg("w").noconvert(), nb::arg("order").noconvert(), nb::arg("met"), nb::arg("scale"),
            nb::arg("threads") = 1,
            "Sentences in this order as part of an epoch, `met` sentences after the start; w is to be multiplied by the "
            "scale, before and after: the sum of the losses met, and the scale.")
        .def(
            "run",
            [](Sgd& self, const Out<float>& w, std::size_t threads) {
                return self.second->epoch(self.first->weights(w), threads);
            },
            nb::arg("w").noconvert(), nb::arg("threads") = 1, nb::call_guard<Unlocked>(),
            "One shuffled epoch; the sum of the losses met.")
        .def(
            "state", [](const Sgd& self) { return given(self.second->state()); },
            "What restore() takes, to go on exactly from here.")
        .def(
            "restore",
            [](Sgd& self, const In<std::int64_t>& state) {
                const std::int64_t N = self.first->data.N();
                if (static_cast<std::int64_t>(state.size()) != N + 2 || !permutes(span(state).first(state.size() - 2), N))
                    throw nb::value_error("this state belongs to another problem");
                self.second->restore(span(state));
            },
            nb::arg("state").noconvert());

    using Batch = std::pair<Problem*, std::unique_ptr<learners::CrfBatch>>;
    nb::class_<Batch>(m, "CrfBatch", "L-BFGS, or OWL-QN if c1 > 0, over a CrfProblem.")
        .def(
            "__init__",
            [](Batch* self, Problem& p, double c1, double c2, const Out<float>& w, bool fisher, std::size_t memory,
               std::size_t threads) {
                const learners::LbfgsSettings settings{.c1 = c1, .memory = memory, .threads = threads};
                const float* from = p.weights(w);
                Unlocked unlocked;
                new (self) Batch(
                    &p, std::make_unique<learners::CrfBatch>(p.shape, p.data, c2, p.trainable(), from, fisher, settings));
            },
            nb::arg("problem"), nb::arg("c1"), nb::arg("c2"), nb::arg("w").noconvert(), nb::arg("fisher") = false,
            nb::arg("memory") = 6, nb::arg("threads") = 0, nb::keep_alive<1, 2>())
        .def(
            "run", [](Batch& self, const Out<float>& w) { return self.second->iterate(self.first->weights(w)); },
            nb::arg("w").noconvert(), nb::call_guard<Unlocked>(),
            "One step; overwrites w. False if no step lowers the value.")
        .def(
            "widen", [](Batch& self, double c1) {
                if (!(c1 > 0)) throw nb::value_error("CrfBatch.widen: c1 must be > 0");
                return self.second->widen(c1);
            }, nb::arg("c1"), nb::call_guard<Unlocked>(),
            "Rebuild the active set for this c1; returns how many weights outside the old set had a gradient above c1.")
        .def_prop_ro("value", [](const Batch& self) { return self.second->value(); })
        .def_prop_ro("c1", [](const Batch& self) { return self.second->c1(); })
        .def_prop_ro("active", [](const Batch& self) { return self.second->active(); }, "The number of active weights.")
        .def_prop_ro("gradient_norm", [](const Batch& self) { return self.second->gradient_norm(); })
        .def_prop_ro("evaluations", [](const Batch& self) { return self.second->evaluations(); });
}

} // namespace chaffinch::bindings
