#include "segment_sgd.hpp"

#include "clones.hpp"
#include "decaying_steps.hpp"
#include "score.hpp"
#include "stop.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace chaffinch::learners {

namespace {

constexpr double nothing = 1e-7; // parts with a smaller error of expectation are skipped

CHAFFINCH_HOT void shrink(std::int64_t n, float scale, float* w) {
    for (std::int64_t k = 0; k < n; ++k) w[k] *= scale;
}

} // namespace

SegmentSgd::SegmentSgd(const scorers::SegmentShape& shape, const scorers::SegmentRows& rows, std::span<const structures::Segment> gold,
                       std::span<const std::int64_t> gold_ptr, std::span<const float> weight, const SegmentSgdSettings& settings)
    : shape_(shape), rows_(rows), gold_(gold), gold_ptr_(gold_ptr), weight_(weight), settings_(settings),
      order_(rows.sentences.size() - 1), random_(settings.seed) {
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
}

double SegmentSgd::epoch(float* w) {
    machine::shuffle(std::span(order_), random_);
    DecayingSteps steps(settings_.rate, settings_.c2, static_cast<std::int64_t>(order_.size()), settings_.epochs);
    double loss = 0;
    for (const std::int64_t n : order_) {
        machine::check_stop();
        const auto before = static_cast<float>(steps.scale());
        const float step = steps.step(met_++);
        if (rows_.sentences[n] < rows_.sentences[n + 1]) {
            const float weight = weight_.empty() ? 1.0f : weight_[n];
            loss += static_cast<double>(weight) * sentence(n, before, weight * step, w);
        }
        if (steps.worn()) shrink(shape_.size(), static_cast<float>(steps.scale()), w), steps.renew();
    }
    shrink(shape_.size(), static_cast<float>(steps.scale()), w);
    return loss;
}

// Score under scale * w, then w += step (expected - gold); the loss.
double SegmentSgd::sentence(std::int64_t n, float scale, float step, float* w) {
    const std::int64_t at = rows_.sentences[n], T = rows_.sentences[n + 1] - at;
    const std::int64_t Y = shape_.Y, L = shape_.L, S = shape_.S(), Z = shape_.Z();
    const auto gold = gold_.subspan(gold_ptr_[n], gold_ptr_[n + 1] - gold_ptr_[n]);
    float* cost = nullptr;
    if (settings_.margin > 0) {
        cost = machine::room(cost_, T * S);
        std::fill_n(cost, T * S, settings_.margin);
        for (const structures::Segment& g : gold)
            for (std::int64_t k = 0; k < g.length; ++k) {
                float* here = cost + (g.start + k) * S;
                if (g.label) here[0] *= settings_.recall;
                here[scorers::SegmentShape::place(g.label, k, g.length)] = 0;
            }
    }
    scorers::score_segments(shape_, rows_, n, w, scale, cost, at_);
    segment_.resize(at_.segment.size()), pair_.resize(at_.pair.size());
    start_.resize(at_.start.size()), end_.resize(at_.end.size());
    double loss = structures::sum_segments(at_.view, segment_, pair_, start_, end_);

    const auto gains = [&](std::vector<double>& expected, const std::vector<double>& scores, std::int64_t cell) {
        expected[cell] -= 1;
        loss -= scores[cell];
    };
    for (std::size_t k = 0; k < gold.size(); ++k) {
        gains(segment_, at_.segment, (gold[k].start * L + gold[k].length - 1) * Y + gold[k].label);
        if (k > 0) gains(pair_, at_.pair, gold[k - 1].label * Y + gold[k].label);
    }
    gains(start_, at_.start, gold.front().label);
    gains(end_, at_.end, gold.back().label);

    float *places = machine::room(place_delta_, T * S), *spans = machine::room(span_delta_, T * L * Z);
    std::fill_n(places, T * S, 0.0f);
    std::fill_n(spans, T * L * Z, 0.0f);
    for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t y = 0; y < Y; ++y)
            for (std::int64_t l = 1; l <= std::min<std::int64_t>(shape_.longest[y], T - t); ++l) {
                const double d = segment_[(t * L + l - 1) * Y + y];
                if (std::abs(d) < nothing) continue;
                const auto x = static_cast<float>(d);
                spans[(t * L + l - 1) * Z + y] = x;
                for (std::int64_t k = 0; k < l; ++k) places[(t + k) * S + scorers::SegmentShape::place(y, k, l)] += x;
            }
    scorers::add_rows(rows_.token_ptr.subspan(at, T + 1), rows_.token_ids, places, step, S, w, rows_.token_values);
    scorers::add_rows(rows_.span_ptr.subspan(at * L, T * L + 1), rows_.span_ids, spans, step, Z, w + shape_.span_at());
    const auto move = [&](const std::vector<double>& delta, std::int64_t to) {
        for (std::size_t k = 0; k < delta.size(); ++k)
            w[to + static_cast<std::int64_t>(k) / Y * Z + static_cast<std::int64_t>(k) % Y] += step * static_cast<float>(delta[k]);
    };
    move(pair_, shape_.pair_at());
    move(start_, shape_.start_at());
    move(end_, shape_.end_at());
    return loss;
}

} // namespace chaffinch::learners
