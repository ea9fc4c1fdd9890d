// Chains: a batch is checked once when it is made; its methods run without the GIL.
#include "areas.hpp"
#include "arrays.hpp"
#include "chain_batch.hpp"
#include "exp.hpp"
#include "maybe_arrays.hpp"
#include "pair_converter.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>

namespace chaffinch::bindings {

namespace {

template <class Real> class BoundBatch {
  public:
    BoundBatch(In<Real, 2> unary, In<std::int64_t> bounds, Maybe<Real, 2> pair, Maybe<Real, 1> start, Maybe<Real, 1> end,
               Maybe<std::uint8_t, 2> transitions, Maybe<std::uint8_t, 1> start_allowed,
               Maybe<std::uint8_t, 1> end_allowed, Maybe<std::uint8_t, 2> allowed, Maybe<Real, 3> pairs,
               Maybe<Real, 3> triple, Maybe<Real, 2> first, Maybe<Real, 2> last, int order)
        : kept_(unary, bounds, pair, start, end, transitions, start_allowed, end_allowed, allowed, pairs, triple, first,
                last) {
        const auto total = static_cast<std::int64_t>(unary.shape(0));
        const auto Y = static_cast<std::int64_t>(unary.shape(1));
        expect(Y >= 1, "a chain needs at least one label");
        expect(order == 1 || order == 2, "order must be 1 or 2");
        expect(order == 2 || !(triple || first || last), "triple, first and last belong to order 2");
        expect(order == 1 || !pairs, "pairs by position belong to order 1");
        expect(bounds.size() >= 1 && bounds.data()[0] == 0 && bounds.data()[bounds.size() - 1] == total,
               "bounds must run from 0 to the number of rows");
        std::int64_t steps = 0;
        for (std::size_t n = 0; n + 1 < bounds.size(); ++n) {
            const std::int64_t T = bounds.data()[n + 1] - bounds.data()[n];
            expect(T >= 0, "bounds must not decrease");
            steps += std::max<std::int64_t>(0, T - 1);
        }
        steps_ = steps;
        batch_ = {.shared = {.Y = Y,
                             .order = order,
                             .pair = checked(pair, {Y, Y}, "pair"),
                             .pair_stride = Y,
                             .start = checked(start, {Y}, "start"),
                             .end = checked(end, {Y}, "end"),
                             .transitions = checked(transitions, {Y, Y}, "transitions"),
                             .start_allowed = checked(start_allowed, {Y}, "start_allowed"),
                             .end_allowed = checked(end_allowed, {Y}, "end_allowed"),
                             .triple = checked(triple, {Y, Y, Y}, "triple"),
                             .first = checked(first, {Y, Y}, "first"),
                             .last = checked(last, {Y, Y}, "last")},
                  .bounds = span(bounds),
                  .unary = unary.data(),
                  .stride = Y,
                  .allowed = checked(allowed, {total, Y}, "allowed"),
                  .pairs = checked(pairs, {steps, Y, Y}, "pairs")};
    }

    auto viterbi(std::size_t threads) const {
        std::vector<std::int32_t> labels(total());
        std::vector<double> scores(sentences());
        run([&] { return structures::viterbi_batch(batch_, threads, labels.data(), scores.data()); });
        return std::pair(given(std::move(labels)), given(std::move(scores)));
    }

    auto kbest(std::int64_t k, std::size_t threads) const {
        expect(k >= 1, "k must be >= 1");
        std::vector<std::int32_t> labels(total() * k);
        std::vector<double> scores(sentences() * k);
        std::vector<std::int64_t> counts(sentences());
        run([&] { return structures::kbest_batch(batch_, k, threads, labels.data(), scores.data(), counts.data()); });
        return std::tuple(given(std::move(labels)), given(std::move(scores)), given(std::move(counts)));
    }

    // log Z [N], unary [total Y], pair [Y Y] (pairs by position: [steps Y Y]), triple, first, last.
    auto marginals(std::size_t threads) const {
        const auto Y = static_cast<std::size_t>(batch_.shared.Y);
        const bool by_position = batch_.pairs != nullptr;
        const auto wanted = [](const Real* given_in, std::size_t n) { return given_in ? n : 0; };
        std::vector<double> log_z(sentences());
        std::vector<Real> unary(total() * Y), pair(by_position ? static_cast<std::size_t>(steps_) * Y * Y : Y * Y);
        std::vector<Real> triple(batch_.shared.order == 2 ? Y * Y * Y : 0);
        std::vector<Real> first(wanted(batch_.shared.first, Y * Y)), last(wanted(batch_.shared.last, Y * Y));
        const auto at = [](std::vector<Real>& v) { return v.empty() ? nullptr : v.data(); };
        const structures::ChainExpectations<Real> out{.unary = unary.data(),
                                          .unary_stride = batch_.shared.Y,
                                          .pair = by_position ? nullptr : pair.data(),
                                          .pair_stride = batch_.shared.Y,
                                          .pairs = by_position ? pair.data() : nullptr,
                                          .triple = at(triple),
                                          .first = at(first),
                                          .last = at(last)};
        run([&] { return structures::marginals_batch(batch_, threads, out, log_z.data()); });
        return std::tuple(given(std::move(log_z)), given(std::move(unary)), given(std::move(pair)),
                          given(std::move(triple)), given(std::move(first)), given(std::move(last)));
    }

    auto log_z(std::size_t threads) const {
        std::vector<double> values(sentences());
        run([&] { return structures::log_z_batch(batch_, threads, values.data()); });
        return given(std::move(values));
    }

    auto max_marginals(std::size_t threads) const {
        std::vector<Real> out(total() * static_cast<std::size_t>(batch_.shared.Y));
        run([&] { return structures::max_marginals_batch(batch_, threads, out.data()); });
        return given(std::move(out));
    }

    auto sample(std::int64_t n, std::uint64_t seed, std::size_t threads) const {
        expect(n >= 0, "n must be >= 0");
        std::vector<std::int32_t> labels(total() * n);
        run([&] { return structures::sample_batch(batch_, n, seed, threads, labels.data()); });
        return given(std::move(labels));
    }

  private:
    std::size_t total() const { return static_cast<std::size_t>(batch_.bounds.back()); }
    std::size_t sentences() const { return batch_.bounds.size() - 1; }

    template <class Kernel> void run(Kernel&& kernel) const {
        structures::Blocked blocked;
        {
            Unlocked released;
            blocked = kernel();
        }
        if (blocked.sentence < 0) return;
        const std::int64_t T = batch_.bounds[blocked.sentence + 1] - batch_.bounds[blocked.sentence];
        const std::string where = sentences() > 1 ? "sentence " + std::to_string(blocked.sentence) + ", " : "";
        throw std::domain_error(
            blocked.position == T
                ? where + "position " + std::to_string(T - 1) + ": none of the labels that can be reached may end the sequence"
                : where + "position " + std::to_string(blocked.position) +
                      (blocked.position == 0 ? ": no label may start the sequence"
                                             : ": no allowed label can be reached from the position before"));
    }

    std::tuple<In<Real, 2>, In<std::int64_t>, Maybe<Real, 2>, Maybe<Real, 1>, Maybe<Real, 1>, Maybe<std::uint8_t, 2>,
               Maybe<std::uint8_t, 1>, Maybe<std::uint8_t, 1>, Maybe<std::uint8_t, 2>, Maybe<Real, 3>, Maybe<Real, 3>,
               Maybe<Real, 2>, Maybe<Real, 2>>
        kept_; // the arrays live as long as the batch
    structures::ChainBatch<Real> batch_;
    std::int64_t steps_ = 0;
};

template <class Real> void bind_batch(nb::module_& m, const char* name) {
    using Batch = BoundBatch<Real>;
    nb::class_<Batch>(m, name, "Sentences of one chain, stacked; threads = 0 uses every core.")
        .def(nb::init<In<Real, 2>, In<std::int64_t>, Maybe<Real, 2>, Maybe<Real, 1>, Maybe<Real, 1>,
                      Maybe<std::uint8_t, 2>, Maybe<std::uint8_t, 1>, Maybe<std::uint8_t, 1>, Maybe<std::uint8_t, 2>,
                      Maybe<Real, 3>, Maybe<Real, 3>, Maybe<Real, 2>, Maybe<Real, 2>, int>(),
             nb::arg("unary").noconvert(), nb::arg("bounds").noconvert(), nb::arg("pair").noconvert() = nb::none(),
             nb::arg("start").noconvert() = nb::none(), nb::arg("end").noconvert() = nb::none(),
             nb::arg("transitions").noconvert() = nb::none(), nb::arg("start_allowed").noconvert() = nb::none(),
             nb::arg("end_allowed").noconvert() = nb::none(), nb::arg("allowed").noconvert() = nb::none(),
             nb::arg("pairs").noconvert() = nb::none(), nb::arg("triple").noconvert() = nb::none(),
             nb::arg("first").noconvert() = nb::none(), nb::arg("last").noconvert() = nb::none(), nb::arg("order") = 1)
        .def("viterbi", &Batch::viterbi, nb::arg("threads") = 1, "Labels int32 [total] and scores [N].")
        .def("kbest", &Batch::kbest, nb::arg("k"), nb::arg("threads") = 1,
             "Labels int32 [k total] (sentence n at k bounds[n], [k][T]), scores [N k], counts [N].")
        .def("marginals", &Batch::marginals, nb::arg("threads") = 1,
             "log Z [N], unary [total Y], pair [Y Y] or by position, triple, first, last.")
        .def("log_z", &Batch::log_z, nb::arg("threads") = 1, "log Z [N].")
        .def("max_marginals", &Batch::max_marginals, nb::arg("threads") = 1, "Best score through each label [total Y].")
        .def("sample", &Batch::sample, nb::arg("n"), nb::arg("seed"), nb::arg("threads") = 1,
             "n labellings of each sentence, laid out as by kbest.");
}

} // namespace

void bind_chain(nb::module_& m) {
    bind_batch<float>(m, "ChainBatch32");
    bind_batch<double>(m, "ChainBatch64");
    m.def(
        "exp_rows",
        [](In<float> x, Out<float> out) {
            expect(x.size() == out.size(), "x and out must have the same length");
            Unlocked released;
            machine::exp_rows(x.data(), static_cast<std::int64_t>(x.size()), out.data());
        },
        nb::arg("x").noconvert(), nb::arg("out").noconvert(), "out = exp(x), as the sum programme takes it.");
}

} // namespace chaffinch::bindings
