#include "segment_scores.hpp"

#include "score.hpp"

#include <algorithm>
#include <limits>

namespace chaffinch::scorers {

SegmentShape::SegmentShape(std::int64_t tokens, std::int64_t spans, std::int64_t length, std::span<const std::int32_t> lengths)
    : F(tokens), G(spans), Y(static_cast<std::int64_t>(lengths.size())), L(length), longest(lengths),
      padded_places_(machine::padded(places())), padded_labels_(machine::padded(Y)) {}

void score_segments(const SegmentShape& shape, const SegmentRows& rows, std::int64_t n, const float* w, float scale,
                    const float* cost, SegmentWorkspace& out) {
    const std::int64_t at = rows.sentences[n], T = rows.sentences[n + 1] - at;
    const std::int64_t Y = shape.Y, L = shape.L, S = shape.S(), Z = shape.Z();
    float *places = machine::room(out.places, T * S), *spans = machine::room(out.spans, T * L * Z);
    score_rows(rows.token_ptr.subspan(at, T + 1), rows.token_ids, w, S, places, rows.token_values);
    score_rows(rows.span_ptr.subspan(at * L, T * L + 1), rows.span_ids, w + shape.span_at(), Z, spans);
    for (std::int64_t k = 0; k < T * S; ++k) places[k] = scale * places[k] + (cost ? cost[k] : 0);
    double* summed = machine::room(out.summed, (T + 1) * Y);
    std::fill_n(summed, Y, 0.0);
    for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t y = 0; y < Y; ++y)
            summed[(t + 1) * Y + y] = summed[t * Y + y] + static_cast<double>(places[t * S + SegmentShape::place(y, 1, 3)]);

    out.segment.assign(static_cast<std::size_t>(T * L * Y), -std::numeric_limits<double>::infinity());
    for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t y = 0; y < Y; ++y)
            for (std::int64_t l = 1; l <= std::min<std::int64_t>(shape.longest[y], T - t); ++l) {
                double x = static_cast<double>(places[t * S + SegmentShape::place(y, 0, l)]);
                if (l > 1) x += static_cast<double>(places[(t + l - 1) * S + SegmentShape::place(y, l - 1, l)]);
                if (l > 2) x += summed[(t + l - 1) * Y + y] - summed[(t + 1) * Y + y];
                x += static_cast<double>(scale * spans[(t * L + l - 1) * Z + y]);
                out.segment[(t * L + l - 1) * Y + y] = x;
            }
    const auto copy = [&](std::int64_t from, std::int64_t count, std::vector<double>& to) {
        to.resize(static_cast<std::size_t>(count * Y));
        for (std::int64_t a = 0; a < count; ++a)
            for (std::int64_t y = 0; y < Y; ++y) to[a * Y + y] = static_cast<double>(scale * w[from + a * Z + y]);
    };
    copy(shape.pair_at(), Y, out.pair);
    copy(shape.start_at(), 1, out.start);
    copy(shape.end_at(), 1, out.end);
    out.view = {T, L, Y, out.segment, out.pair, out.start, out.end};
}

} // namespace chaffinch::scorers
