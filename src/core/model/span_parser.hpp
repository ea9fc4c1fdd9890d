// Parses sentence by sentence: features of spans, weights and trees together.
#pragma once

#include "aligned.hpp"
#include "span_features.hpp"
#include "workspace.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace chaffinch::model {

// Where the scores of a sentence's spans lie.
struct SpanRoom {
    std::vector<std::int64_t> ptr;
    std::vector<std::int32_t> ids;
    machine::AlignedVector<float> rows;
};

// The potentials of a sentence, valid as long as the room is held.
struct ScoredSpans {
    machine::Workspace<SpanRoom> room;
    structures::TreePotentials<float> potentials;
};

// Room for what tree_logsum finds.
struct SpanMarginals {
    std::vector<float> marginals, pairs;
};

// A linear model of trees. Weights: span [F][stride] (stride = padded(3Y)), left and right [Y][Y].
struct SpanModel {
    std::shared_ptr<const features::SpanFeatures> features;
    std::vector<float> span, left, right;
    std::int64_t stride;
    structures::TreePotentials<float> like; // Y and masks; the potentials are filled in
    std::vector<std::uint8_t> masks; // what `like` points into

    ScoredSpans scored(const features::SpanColumns& x, const std::uint8_t* open) const;
};

// Spans of two words or more whose probability as a node reaches the threshold under a small model; the whole is one.
void open_spans(const SpanModel& coarse, const features::SpanColumns& x, float threshold, std::uint8_t* open); // [S]

} // namespace chaffinch::model
