// Span features, the trainer of trees over them, and the parser.
#include "areas.hpp"
#include "arrays.hpp"
#include "brackets.hpp"
#include "expected_brackets.hpp"
#include "pair_converter.hpp"
#include "parallel.hpp"
#include "score.hpp"
#include "span_parser.hpp"
#include "tree_trainer.hpp"
#include "workspace.hpp"

#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>

namespace chaffinch::bindings {

namespace {

using Masks = std::optional<In<std::uint8_t>>;
using Columns = std::vector<In<std::int32_t>>;
constexpr std::int64_t block_size = 16; // sentences that a thread takes at a time

// root, leaf, phrase [Y], left and right [Y][Y] end to end in one array.
structures::TreePotentials<float> with_masks(std::int64_t Y, const std::uint8_t* masks) {
    structures::TreePotentials<float> like{};
    like.Y = Y;
    like.root = masks;
    like.leaf = masks + Y;
    like.phrase = masks + 2 * Y;
    like.left_allowed = masks + 3 * Y;
    like.right_allowed = masks + 3 * Y + Y * Y;
    return like;
}

void check_masks(std::int64_t Y, const In<std::uint8_t>& masks) {
    expect(Y >= 1 && static_cast<std::int64_t>(masks.size()) == 3 * Y + 2 * Y * Y, "masks have the wrong size");
}

features::SpanColumns columns_of(const Columns& all, std::int64_t from, std::int64_t T) {
    features::SpanColumns x{{}, T};
    for (const auto& column : all) x.columns.push_back(column.data() + from);
    return x;
}

// The tree of the most expected brackets, and log Z.
bool expected(const structures::TreePotentials<float>& p, const structures::BracketLabels& how, double& log_z, structures::TreeNode* nodes) {
    machine::Workspace<model::SpanMarginals> workspace;
    auto& [marginals, pairs] = *workspace;
    marginals.resize(static_cast<std::size_t>(structures::Spans{p.T}.count() * p.stride));
    pairs.resize(static_cast<std::size_t>(p.Y * p.Y));
    log_z = structures::tree_logsum(p, {.span = marginals.data(), .left = pairs.data(), .right = pairs.data()});
    if (log_z == -std::numeric_limits<double>::infinity()) return false;
    structures::expected_tree(p.T, p.Y, marginals.data(), p.stride, how, p.leaf, p.phrase, nodes);
    return true;
}

class BoundFeatures {
  public:
    // atoms [n][3] of kind, column and offset; ptr [templates + 1]
    BoundFeatures(In<std::int32_t, 2> atoms, In<std::int64_t> ptr, std::int64_t columns) : columns_(columns) {
        expect(atoms.shape(1) == 3, "atoms have three numbers each");
        check_bounds(span(ptr), atoms.shape(0));
        std::vector<features::SpanAtom> made;
        for (std::size_t k = 0; k < atoms.shape(0); ++k) {
            const std::int32_t* a = atoms.data() + 3 * k;
            expect(a[0] >= 0 && a[0] <= features::SpanAtom::inside, "an atom of unknown kind");
            expect(a[0] == features::SpanAtom::length || (a[1] >= 0 && a[1] < columns), "an atom of an unknown column");
            expect(std::abs(a[2]) <= 1000, "an atom too far away");
            made.push_back({static_cast<features::SpanAtom::Kind>(a[0]), a[1], a[2]});
        }
        features = std::make_shared<features::SpanFeatures>(std::move(made), std::vector(ptr.data(), ptr.data() + ptr.size()));
    }

    void check(const Columns& columns, std::span<const std::int64_t> bounds) const {
        expect(static_cast<std::int64_t>(columns.size()) == columns_, "the wrong number of columns");
        for (const auto& column : columns) check_bounds(bounds, column.size());
    }

    // Counts the features of the nodes of trees and keeps the frequent ones.
    void fit(const Columns& columns, In<std::int64_t> bounds, In<std::int32_t, 2> nodes, std::int32_t least) {
        check(columns, span(bounds));
        std::size_t m = 0;
        for (std::size_t n = 0; n + 1 < bounds.size(); ++n) {
            const std::int64_t T = bounds.data()[n + 1] - bounds.data()[n];
            const features::SpanColumns x = columns_of(columns, bounds.data()[n], T);
            for (std::int64_t k = 0; k < 2 * T - 1; ++k, ++m) {
                expect(m < nodes.shape(0), "too few nodes");
                const std::int32_t i = nodes(m, 0), j = nodes(m, 1);
                expect(0 <= i && i < j && j <= T, "a node out of its sentence");
                features->count(x, i, j);
            }
        }
        features->freeze(least);
    }

    auto extract(const Columns& columns, In<std::int64_t> bounds, const Masks& open) const {
        check(columns, span(bounds));
        std::vector<std::int64_t> ptr(1, 0);
        std::vector<std::int32_t> ids;
        std::int64_t rows = 0;
        for (std::size_t n = 0; n + 1 < bounds.size(); ++n)
            rows += structures::Spans{bounds.data()[n + 1] - bounds.data()[n]}.count();
        expect(!open || static_cast<std::int64_t>(open->size()) == rows, "open has the wrong size");
        {
            Unlocked release;
            for (std::size_t n = 0; n + 1 < bounds.size(); ++n) {
                const std::int64_t T = bounds.data()[n + 1] - bounds.data()[n];
                const auto done = static_cast<std::int64_t>(ptr.size()) - 1;
                features->extract(columns_of(columns, bounds.data()[n], T), open ? open->data() + done : nullptr, ptr, ids);
            }
        }
        return std::pair(given(std::move(ptr)), given(std::move(ids)));
    }

    auto keys() const { return given(std::vector(features->keys())); }
    void restore(In<std::uint64_t> keys) {
        expect(features->restore({keys.data(), keys.data() + keys.size()}), "a feature comes twice");
    }

    std::shared_ptr<features::SpanFeatures> features;

  private:
    std::int64_t columns_;
};

class BoundTrainer {
  public:
    BoundTrainer(In<std::int64_t> bounds, In<std::int64_t> ptr, In<std::int32_t> ids, In<std::int32_t, 2> nodes,
                 Masks open, In<std::uint8_t> masks, std::int64_t F, std::int64_t Y, std::int64_t left, std::int64_t right,
                 std::int64_t cells, const std::string& loss, bool adaptive, float rate, float start, float dropout, std::uint64_t seed,
                 std::optional<In<float>> weight)
        : kept_(bounds, ptr, ids, nodes, open, masks), weight_(std::move(weight)) {
        expect(bounds.size() >= 1 && bounds.data()[0] == 0, "bounds must begin with 0");
        learners::TreeExamples x{span(bounds), span(ptr), span(ids), span(nodes), open ? open->data() : nullptr, weight_ ? weight_->data() : nullptr, {0}};
        std::size_t m = 0;
        for (std::size_t n = 0; n + 1 < bounds.size(); ++n) {
            const std::int64_t T = x.bounds[n + 1] - x.bounds[n];
            expect(T >= 1, "a sentence without words");
            x.rows.push_back(x.rows.back() + structures::Spans{T}.count());
            expect(nodes.shape(1) == 3 && m + static_cast<std::size_t>(2 * T - 1) <= nodes.shape(0), "too few nodes");
            for (std::int64_t k = 0; k < 2 * T - 1; ++k, ++m)
                expect(0 <= nodes(m, 0) && nodes(m, 0) < nodes(m, 1) && nodes(m, 1) <= T && 0 <= nodes(m, 2) &&
                           nodes(m, 2) < Y,
                       "a node out of its sentence");
        }
        expect(static_cast<std::int64_t>(ptr.size()) == x.rows.back() + 1, "ptr must have a row for each span");
        check_bounds(span(ptr), ids.size());
        expect(!open || static_cast<std::int64_t>(open->size()) == x.rows.back(), "open has the wrong size");
        expect(scorers::all_below(span(ids), F), "a feature id out of range");
        check_masks(Y, masks);
        expect(left >= F * machine::padded(3 * Y) && right >= left + Y * machine::padded(Y) && cells >= right + Y * machine::padded(Y),
               "the blocks of w overlap");
        expect(loss == "likelihood" || loss == "hinge" || loss == "perceptron", "an unknown loss");
        expect(start > 0, "start must be above 0");
        expect(!weight_ || weight_->size() + 1 == bounds.size(), "weight must have one number per sentence");
        expect(dropout >= 0 && dropout < 1, "dropout must be in [0, 1)");
        const learners::TreeLoss what = loss == "likelihood" ? learners::TreeLoss::likelihood
                              : loss == "hinge"    ? learners::TreeLoss::hinge
                                                   : learners::TreeLoss::perceptron;
        trainer_ = std::make_unique<learners::TreeTrainer>(std::move(x), learners::TreeLayout{F, Y, machine::padded(3 * Y), left, right, machine::padded(Y), cells},
                                                 with_masks(Y, masks.data()), learners::TreeRule{what, adaptive, rate, start, dropout, seed});
        cells_ = cells;
        examples_ = static_cast<std::int64_t>(bounds.size()) - 1;
    }

    auto epoch(In<std::int64_t> order) {
        for (const std::int64_t n : span(order)) expect(n >= 0 && n < examples_, "an example out of range");
        learners::TreeTrainer::Pass pass;
        {
            Unlocked release;
            pass = trainer_->epoch(span(order));
        }
        return std::pair(pass.loss, pass.wrong);
    }

    void weights(bool average, Out<float> out) const {
        expect(static_cast<std::int64_t>(out.size()) == cells_, "w has the wrong size");
        Unlocked release;
        trainer_->weights(average, {out.data(), out.size()});
    }

  private:
    std::tuple<In<std::int64_t>, In<std::int64_t>, In<std::int32_t>, In<std::int32_t, 2>, Masks, In<std::uint8_t>> kept_;
    std::optional<In<float>> weight_;
    std::unique_ptr<learners::TreeTrainer> trainer_;
    std::int64_t cells_ = 0, examples_ = 0;
};

class BoundModel {
  public:
    // w: span [F][padded(3Y)], left and right [Y][Y]
    BoundModel(const BoundFeatures& features, In<float, 2> w, In<float, 2> left, In<float, 2> right,
               In<std::uint8_t> masks) {
        const auto Y = static_cast<std::int64_t>(left.shape(0));
        check_masks(Y, masks);
        expect(static_cast<std::int64_t>(w.shape(0)) == features.features->size() &&
                   static_cast<std::int64_t>(w.shape(1)) == machine::padded(3 * Y),
               "the weights of spans have the wrong shape");
        for (const auto* pair : {&left, &right})
            expect(static_cast<std::int64_t>(pair->shape(0)) == Y && static_cast<std::int64_t>(pair->shape(1)) == Y,
                   "the weights of pairs have the wrong shape");
        model.features = features.features;
        model.span.assign(w.data(), w.data() + w.size());
        model.left.assign(left.data(), left.data() + left.size());
        model.right.assign(right.data(), right.data() + right.size());
        model.masks.assign(masks.data(), masks.data() + masks.size());
        model.stride = machine::padded(3 * Y);
        model.like = with_masks(Y, model.masks.data());
        bound_ = &features;
    }

    // uint8 [spans of all sentences]: the spans that the model keeps.
    auto open(const Columns& columns, In<std::int64_t> bounds, float threshold, std::size_t threads) const {
        const auto rows = checked(columns, bounds);
        std::vector<std::uint8_t> out(static_cast<std::size_t>(rows.back()));
        Unlocked release;
        each(rows.size() - 1, threads, [&](std::int64_t n) {
            const std::int64_t from = bounds.data()[n], T = bounds.data()[n + 1] - from;
            if (T > 0) model::open_spans(model, columns_of(columns, from, T), threshold, out.data() + rows[n]);
        });
        return out;
    }

    // Trees of sentences: counts [N], scores [sum], nodes [sum of counts (2T-1)][3]. k = 0: the expected-brackets tree.
    auto parse(const Columns& columns, In<std::int64_t> bounds, const Masks& open_mask, std::int64_t k,
               In<std::int64_t> bracket_ptr, In<std::int32_t> brackets, float toll, std::size_t threads) const {
        const auto rows = checked(columns, bounds);
        expect(!open_mask || static_cast<std::int64_t>(open_mask->size()) == rows.back(), "open has the wrong size");
        expect(static_cast<std::int64_t>(bracket_ptr.size()) == model.like.Y + 1, "brackets of each label are needed");
        const structures::BracketLabels how = bracket_labels(bracket_ptr, brackets, toll);
        const std::size_t N = rows.size() - 1;
        std::vector<std::vector<structures::TreeNode>> nodes(N);
        std::vector<std::vector<double>> scores(N);
        {
            Unlocked release;
            each(N, threads, [&](std::int64_t n) {
                const std::int64_t from = bounds.data()[n], T = bounds.data()[n + 1] - from;
                if (T == 0) return;
                const model::ScoredSpans scored = model.scored(columns_of(columns, from, T), open_mask ? open_mask->data() + rows[n] : nullptr);
                const structures::TreePotentials<float>& p = scored.potentials;
                if (k > 1) return structures::tree_kbest(p, k, scores[n], nodes[n]);
                nodes[n].resize(static_cast<std::size_t>(2 * T - 1));
                double score = 0;
                const bool any = k == 0 ? expected(p, how, score, nodes[n].data())
                                        : structures::tree_argmax(p, score, nodes[n].data());
                if (any) scores[n].push_back(score);
                else nodes[n].clear();
            });
        }
        std::vector<std::int64_t> counts;
        std::vector<double> all_scores;
        std::vector<std::int32_t> all_nodes;
        for (std::size_t n = 0; n < N; ++n) {
            counts.push_back(static_cast<std::int64_t>(scores[n].size()));
            all_scores.insert(all_scores.end(), scores[n].begin(), scores[n].end());
            for (const structures::TreeNode& m : nodes[n]) all_nodes.insert(all_nodes.end(), {m.start, m.end, m.label});
        }
        return std::tuple(given(std::move(counts)), given(std::move(all_scores)), given(std::move(all_nodes)));
    }

    // p(label at span) of all sentences: [spans][Y] end to end, zero if a sentence has no tree.
    auto marginals(const Columns& columns, In<std::int64_t> bounds, const Masks& open_mask, std::size_t threads) const {
        const auto rows = checked(columns, bounds);
        expect(!open_mask || static_cast<std::int64_t>(open_mask->size()) == rows.back(), "open has the wrong size");
        const std::int64_t Y = model.like.Y;
        std::vector<float> out(static_cast<std::size_t>(rows.back() * Y));
        {
            Unlocked release;
            each(rows.size() - 1, threads, [&](std::int64_t n) {
                const std::int64_t from = bounds.data()[n], T = bounds.data()[n + 1] - from;
                if (T == 0) return;
                const model::ScoredSpans scored = model.scored(columns_of(columns, from, T), open_mask ? open_mask->data() + rows[n] : nullptr);
                const structures::TreePotentials<float>& p = scored.potentials;
                std::vector<float> found(static_cast<std::size_t>(structures::Spans{T}.count() * p.stride)), pairs(static_cast<std::size_t>(Y * Y));
                if (structures::tree_logsum(p, {.span = found.data(), .left = pairs.data(), .right = pairs.data()}) == -std::numeric_limits<double>::infinity())
                    return;
                for (std::int64_t s = 0; s < structures::Spans{T}.count(); ++s)
                    std::copy_n(found.data() + s * p.stride, Y, out.data() + (rows[n] + s) * Y);
            });
        }
        return given(std::move(out));
    }

    model::SpanModel model;

  private:
    std::vector<std::int64_t> checked(const Columns& columns, const In<std::int64_t>& bounds) const {
        bound_->check(columns, span(bounds));
        std::vector<std::int64_t> rows(1, 0);
        for (std::size_t n = 0; n + 1 < bounds.size(); ++n)
            rows.push_back(rows.back() + structures::Spans{bounds.data()[n + 1] - bounds.data()[n]}.count());
        return rows;
    }
    template <class Work> static void each(std::size_t N, std::size_t threads, Work&& work) {
        machine::parallel_blocks((N + block_size - 1) / block_size, threads, [&](std::size_t b) {
            for (std::size_t n = b * block_size; n < std::min(N, (b + 1) * block_size); ++n)
                machine::check_stop(), work(static_cast<std::int64_t>(n));
        });
    }

    const BoundFeatures* bound_;
};

} // namespace

void bind_span_parser(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<BoundFeatures>(m, "SpanFeatures", "Templates over spans, and the ids of their features.")
        .def(nb::init<In<std::int32_t, 2>, In<std::int64_t>, std::int64_t>(), "atoms"_a.noconvert(), "ptr"_a.noconvert(),
             "columns"_a)
        .def("fit", &BoundFeatures::fit, "columns"_a, "bounds"_a.noconvert(), "nodes"_a.noconvert(), "least"_a)
        .def("extract", &BoundFeatures::extract, "columns"_a, "bounds"_a.noconvert(), "open"_a.noconvert() = nb::none())
        .def("keys", &BoundFeatures::keys)
        .def("restore", &BoundFeatures::restore, "keys"_a.noconvert())
        .def("__len__", [](const BoundFeatures& f) { return f.features->size(); });
    nb::class_<BoundTrainer>(m, "TreeTrainer", "Online training of linear models of trees.")
        .def(nb::init<In<std::int64_t>, In<std::int64_t>, In<std::int32_t>, In<std::int32_t, 2>, Masks, In<std::uint8_t>,
                      std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, const std::string&, bool, float,
                      float, float, std::uint64_t, std::optional<In<float>>>(),
             "bounds"_a.noconvert(), "ptr"_a.noconvert(), "ids"_a.noconvert(), "nodes"_a.noconvert(),
             "open"_a.noconvert().none(), "masks"_a.noconvert(), "F"_a, "Y"_a, "left"_a, "right"_a, "cells"_a, "loss"_a,
             "adaptive"_a, "rate"_a, "start"_a, "dropout"_a, "seed"_a, "weight"_a.noconvert() = nb::none())
        .def("epoch", &BoundTrainer::epoch, "order"_a.noconvert(), "The loss, and how many sentences were wrong.")
        .def("weights", &BoundTrainer::weights, "average"_a, "out"_a.noconvert());
    nb::class_<BoundModel>(m, "SpanModel", "Weights over span features: trees of sentences.")
        .def(nb::init<const BoundFeatures&, In<float, 2>, In<float, 2>, In<float, 2>, In<std::uint8_t>>(), "features"_a,
             "w"_a.noconvert(), "left"_a.noconvert(), "right"_a.noconvert(), "masks"_a.noconvert(), nb::keep_alive<1, 2>())
        .def(
            "open",
            [](const BoundModel& model, const Columns& columns, In<std::int64_t> bounds, float threshold,
               std::size_t threads) { return given(model.open(columns, bounds, threshold, threads)); },
            "columns"_a, "bounds"_a.noconvert(), "threshold"_a, "threads"_a)
        .def("parse", &BoundModel::parse, "columns"_a, "bounds"_a.noconvert(), "open"_a.noconvert().none(), "k"_a,
             "bracket_ptr"_a.noconvert(), "brackets"_a.noconvert(), "toll"_a, "threads"_a)
        .def("marginals", &BoundModel::marginals, "columns"_a, "bounds"_a.noconvert(), "open"_a.noconvert().none(), "threads"_a,
             "How likely each label is at each span of each sentence: [spans][Y] end to end.");
}

} // namespace chaffinch::bindings
