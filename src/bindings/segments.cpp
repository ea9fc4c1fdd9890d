// Semi-Markov chains.
#include "areas.hpp"
#include "arrays.hpp"
#include "feature_values.hpp"
#include "parallel.hpp"
#include "score.hpp"
#include "segment_scores.hpp"
#include "segment_sgd.hpp"
#include "workspace.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

namespace chaffinch::bindings {

namespace {

structures::SegmentScores scores(const In<double, 3>& segment, const In<double, 2>& pair, const In<double>& start,
                     const In<double>& end) {
    const std::size_t Y = segment.shape(2);
    expect(pair.shape(0) == Y && pair.shape(1) == Y && start.size() == Y && end.size() == Y,
           "pair must be [Y][Y], start and end [Y]");
    expect(segment.shape(1) >= 1 && Y >= 1, "segments have a length and a label");
    return {static_cast<std::int64_t>(segment.shape(0)), static_cast<std::int64_t>(segment.shape(1)),
            static_cast<std::int64_t>(Y), span(segment), span(pair), span(start), span(end)};
}

// Sentences with the features of their tokens and spans, checked once.
class BoundSegments {
  public:
    BoundSegments(In<std::int64_t> sentences, In<std::int64_t> token_ptr, In<std::int32_t> token_ids,
                  In<std::int64_t> span_ptr, In<std::int32_t> span_ids, std::int64_t F, std::int64_t G,
                  In<std::int32_t> longest, Values values)
        : kept_(sentences, token_ptr, token_ids, span_ptr, span_ids), longest_(longest), values_(std::move(values)),
          shape(F, G, longest.size() ? *std::max_element(longest.data(), longest.data() + longest.size()) : 0, span(longest)),
          rows{span(sentences), span(token_ptr), span(span_ptr), span(token_ids), span(span_ids),
               checked_values(values_, token_ids.size())} {
        const auto rising = [](std::span<const std::int64_t> bounds, std::size_t end) {
            return !bounds.empty() && bounds.front() == 0 && std::ranges::is_sorted(bounds) &&
                   bounds.back() == static_cast<std::int64_t>(end);
        };
        expect(shape.Y >= 1 && longest.data()[0] == 1, "segments of label 0 have length 1");
        expect(*std::min_element(longest.data(), longest.data() + shape.Y) >= 1, "segments have a length");
        expect(token_ptr.size() >= 1 && rising(rows.sentences, token_ptr.size() - 1), "sentences must bound the tokens");
        expect(rising(rows.token_ptr, token_ids.size()) && rising(rows.span_ptr, span_ids.size()), "ptr must bound its ids");
        expect(span_ptr.size() == (token_ptr.size() - 1) * static_cast<std::size_t>(shape.L) + 1, "a row for each span");
        expect(scorers::all_below(rows.token_ids, F) && scorers::all_below(rows.span_ids, G), "a feature id is out of range");
    }

    std::int64_t N() const { return static_cast<std::int64_t>(rows.sentences.size()) - 1; }
    template <class Array> auto weights(const Array& w) const {
        expect(static_cast<std::int64_t>(w.size()) == shape.size(), "weights of another size");
        return w.data();
    }

    // The best segmentations, end to end, and how many segments each sentence has.
    auto best(const In<float>& w, std::size_t threads) const {
        const float* weight = weights(w);
        std::vector<std::vector<structures::Segment>> found(static_cast<std::size_t>(N()));
        {
            Unlocked released;
            machine::parallel_blocks(found.size(), threads, [&](std::size_t n) {
                machine::Workspace<scorers::SegmentWorkspace> workspace;
                scorers::SegmentWorkspace& at = *workspace;
                std::vector<std::int64_t> bounds;
                std::vector<double> scores;
                scorers::score_segments(shape, rows, static_cast<std::int64_t>(n), weight, 1, nullptr, at);
                if (at.view.T) structures::best_segments(at.view, 1, found[n], bounds, scores);
            });
        }
        std::vector<std::int32_t> flat;
        std::vector<std::int64_t> counts;
        for (const auto& one : found) {
            for (const structures::Segment& s : one) flat.insert(flat.end(), {s.start, s.length, s.label});
            counts.push_back(static_cast<std::int64_t>(one.size()));
        }
        return nb::make_tuple(given(std::move(flat)), given(std::move(counts)));
    }
    // segment [T L Y], pair [Y Y], start [Y], end [Y] of sentence n
    auto scores_of(const In<float>& w, std::int64_t n) const {
        expect(n >= 0 && n < N(), "no such sentence");
        scorers::SegmentWorkspace at;
        scorers::score_segments(shape, rows, n, weights(w), 1, nullptr, at);
        return nb::make_tuple(given(std::move(at.segment)), given(std::move(at.pair)), given(std::move(at.start)),
                              given(std::move(at.end)));
    }

  private:
    std::tuple<In<std::int64_t>, In<std::int64_t>, In<std::int32_t>, In<std::int64_t>, In<std::int32_t>> kept_;
    In<std::int32_t> longest_;
    Values values_;

  public:
    scorers::SegmentShape shape;
    scorers::SegmentRows rows;
};

class BoundSegmentSgd {
  public:
    BoundSegmentSgd(const BoundSegments& problem, In<std::int32_t, 2> gold, In<std::int64_t> gold_ptr,
                    const std::optional<In<float>>& weight, const learners::SegmentSgdSettings& settings)
        : problem_(problem), ptr_(gold_ptr.data(), gold_ptr.data() + gold_ptr.size()) {
        if (weight) weight_.assign(span(*weight).begin(), span(*weight).end());
        expect(!weight || static_cast<std::int64_t>(weight_.size()) == problem.N(), "weight must have one number per sentence");
        expect(gold.shape(1) == 3, "a segment is start, length and label");
        for (std::size_t k = 0; k < gold.shape(0); ++k)
            gold_.push_back({gold.data()[3 * k], gold.data()[3 * k + 1], gold.data()[3 * k + 2]});
        const auto& shape = problem.shape;
        expect(static_cast<std::int64_t>(ptr_.size()) == problem.N() + 1 && ptr_.front() == 0 && std::ranges::is_sorted(ptr_) &&
                   ptr_.back() == static_cast<std::int64_t>(gold_.size()),
               "gold_ptr must bound the segments of each sentence");
        for (std::int64_t n = 0; n < problem.N(); ++n) {
            std::int64_t at = 0;
            for (std::int64_t k = ptr_[n]; k < ptr_[n + 1]; at += gold_[k++].length)
                expect(gold_[k].start == at && gold_[k].label >= 0 && gold_[k].label < shape.Y && gold_[k].length >= 1 &&
                           gold_[k].length <= shape.longest[gold_[k].label],
                       "a segment does not fit");
            expect(at == problem.rows.sentences[n + 1] - problem.rows.sentences[n], "segments must cover their sentence");
        }
        sgd_.emplace(problem.shape, problem.rows, gold_, ptr_, weight_, settings);
    }
    double epoch(const Out<float>& w) { return sgd_->epoch(problem_.weights(w)); }

  private:
    const BoundSegments& problem_;
    std::vector<structures::Segment> gold_;
    std::vector<std::int64_t> ptr_;
    std::vector<float> weight_;
    std::optional<learners::SegmentSgd> sgd_;
};

} // namespace

void bind_segments(nb::module_& m) {
    m.def(
        "best_segments",
        [](In<double, 3> segment, In<double, 2> pair, In<double> start, In<double> end, std::int64_t k) {
            const structures::SegmentScores x = scores(segment, pair, start, end);
            expect(k >= 1, "k must be at least 1");
            std::vector<std::int32_t> flat;
            std::vector<std::int64_t> bounds;
            std::vector<double> found;
            {
                Unlocked released;
                std::vector<structures::Segment> segments;
                structures::best_segments(x, k, segments, bounds, found);
                for (const structures::Segment& s : segments) flat.insert(flat.end(), {s.start, s.length, s.label});
            }
            return nb::make_tuple(given(std::move(flat)), given(std::move(bounds)), given(std::move(found)));
        },
        nb::arg("segment").noconvert(), nb::arg("pair").noconvert(), nb::arg("start").noconvert(),
        nb::arg("end").noconvert(), nb::arg("k"), "The k best: (start, length, label) end to end, their bounds, scores.");
    m.def(
        "sum_segments",
        [](In<double, 3> segment, In<double, 2> pair, In<double> start, In<double> end, Out<double, 3> segment_out,
           Out<double, 2> pair_out, Out<double> start_out, Out<double> end_out) {
            const structures::SegmentScores x = scores(segment, pair, start, end);
            expect(segment_out.size() == segment.size() && pair_out.size() == pair.size() &&
                       start_out.size() == start.size() && end_out.size() == end.size(),
                   "marginals must have the shape of the scores");
            Unlocked released;
            return structures::sum_segments(x, span(segment_out), span(pair_out), span(start_out), span(end_out));
        },
        nb::arg("segment").noconvert(), nb::arg("pair").noconvert(), nb::arg("start").noconvert(),
        nb::arg("end").noconvert(), nb::arg("segment_out").noconvert(), nb::arg("pair_out").noconvert(),
        nb::arg("start_out").noconvert(), nb::arg("end_out").noconvert(), "log Z, and the marginals of every part.");

    using namespace nb::literals;
    nb::class_<BoundSegments>(m, "SegmentProblem", "Sentences with features of tokens and of spans.")
        .def(nb::init<In<std::int64_t>, In<std::int64_t>, In<std::int32_t>, In<std::int64_t>, In<std::int32_t>, std::int64_t,
                      std::int64_t, In<std::int32_t>, Values>(),
             "sentences"_a.noconvert(), "token_ptr"_a.noconvert(), "token_ids"_a.noconvert(), "span_ptr"_a.noconvert(),
             "span_ids"_a.noconvert(), "F"_a, "G"_a, "longest"_a.noconvert(), "values"_a.noconvert() = nb::none())
        .def_prop_ro("size", [](const BoundSegments& p) { return p.shape.size(); }, "How many weights, padding included.")
        .def("best", &BoundSegments::best, "w"_a.noconvert(), "threads"_a,
             "(start, length, label) of all best segments end to end, and how many each sentence has.")
        .def("scores", &BoundSegments::scores_of, "w"_a.noconvert(), "n"_a,
             "The potentials of sentence n: segment, pair, start, end.");
    nb::class_<BoundSegmentSgd>(m, "SegmentSgd", "Stochastic gradient descent on the likelihood of segmentations.")
        .def(
            "__init__",
            [](BoundSegmentSgd* self, const BoundSegments& problem, In<std::int32_t, 2> gold, In<std::int64_t> gold_ptr,
               double c2, double rate, std::int64_t epochs, float margin, float recall, std::uint64_t seed,
               std::optional<In<float>> weight) {
                new (self) BoundSegmentSgd(problem, gold, gold_ptr, weight, {c2, rate, epochs, margin, recall, seed});
            },
            "problem"_a, "gold"_a.noconvert(), "gold_ptr"_a.noconvert(), "c2"_a, "rate"_a, "epochs"_a, "margin"_a,
            "recall"_a, "seed"_a, "weight"_a.noconvert() = nb::none(), nb::keep_alive<1, 2>())
        .def("run", &BoundSegmentSgd::epoch, "w"_a.noconvert(), nb::call_guard<Unlocked>(),
             "One shuffled epoch; the sum of the losses met.");
}

} // namespace chaffinch::bindings
