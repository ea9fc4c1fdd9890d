// Semi-Markov chains.
#include "areas.hpp"
#include "arrays.hpp"
#include "segments.hpp"

namespace chaffinch::bindings {

namespace {

SegmentScores scores(const In<double, 3>& segment, const In<double, 2>& pair, const In<double>& start,
                     const In<double>& end) {
    const std::size_t Y = segment.shape(2);
    expect(pair.shape(0) == Y && pair.shape(1) == Y && start.size() == Y && end.size() == Y,
           "pair must be [Y][Y], start and end [Y]");
    expect(segment.shape(1) >= 1 && Y >= 1, "segments have a length and a label");
    return {static_cast<std::int64_t>(segment.shape(0)), static_cast<std::int64_t>(segment.shape(1)),
            static_cast<std::int64_t>(Y), span(segment), span(pair), span(start), span(end)};
}

} // namespace

void bind_segments(nb::module_& m) {
    m.def(
        "best_segments",
        [](In<double, 3> segment, In<double, 2> pair, In<double> start, In<double> end, std::int64_t k) {
            const SegmentScores x = scores(segment, pair, start, end);
            expect(k >= 1, "k must be at least 1");
            std::vector<std::int32_t> flat;
            std::vector<std::int64_t> bounds;
            std::vector<double> found;
            {
                nb::gil_scoped_release released;
                std::vector<Segment> segments;
                best_segments(x, k, segments, bounds, found);
                for (const Segment& s : segments) flat.insert(flat.end(), {s.start, s.length, s.label});
            }
            return nb::make_tuple(given(std::move(flat)), given(std::move(bounds)), given(std::move(found)));
        },
        nb::arg("segment").noconvert(), nb::arg("pair").noconvert(), nb::arg("start").noconvert(),
        nb::arg("end").noconvert(), nb::arg("k"), "The k best: (start, length, label) end to end, their bounds, scores.");
    m.def(
        "sum_segments",
        [](In<double, 3> segment, In<double, 2> pair, In<double> start, In<double> end, Out<double, 3> segment_out,
           Out<double, 2> pair_out, Out<double> start_out, Out<double> end_out) {
            const SegmentScores x = scores(segment, pair, start, end);
            expect(segment_out.size() == segment.size() && pair_out.size() == pair.size() &&
                       start_out.size() == start.size() && end_out.size() == end.size(),
                   "marginals must have the shape of the scores");
            nb::gil_scoped_release released;
            return sum_segments(x, span(segment_out), span(pair_out), span(start_out), span(end_out));
        },
        nb::arg("segment").noconvert(), nb::arg("pair").noconvert(), nb::arg("start").noconvert(),
        nb::arg("end").noconvert(), nb::arg("segment_out").noconvert(), nb::arg("pair_out").noconvert(),
        nb::arg("start_out").noconvert(), nb::arg("end_out").noconvert(), "log Z, and the marginals of every part.");
}

} // namespace chaffinch::bindings
