#include "span_parser.hpp"

#include "aligned.hpp"
#include "score.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace chaffinch::model {

ScoredSpans SpanModel::scored(const features::SpanColumns& x, const std::uint8_t* open) const {
    ScoredSpans out{{}, like};
    auto& [ptr, ids, rows] = *out.room;
    ptr.assign(1, 0);
    ids.clear();
    features->extract(x, open, ptr, ids);
    structures::TreePotentials<float>& p = out.potentials;
    p.T = x.T;
    float* to = machine::room(rows, structures::Spans{x.T}.count() * stride);
    scorers::score_rows(ptr, ids, span.data(), stride, to);
    p.span = to;
    p.stride = stride;
    p.roles = true;
    p.left = left.data();
    p.right = right.data();
    p.open = open;
    return out;
}

void open_spans(const SpanModel& coarse, const features::SpanColumns& x, float threshold, std::uint8_t* open) {
    const structures::Spans spans{x.T};
    const ScoredSpans scored = coarse.scored(x, nullptr);
    const structures::TreePotentials<float>& p = scored.potentials;
    machine::Workspace<SpanMarginals> workspace;
    auto& [marginals, pairs] = *workspace;
    marginals.resize(static_cast<std::size_t>(spans.count() * p.stride));
    pairs.resize(static_cast<std::size_t>(p.Y * p.Y));
    const double log_z = structures::tree_logsum(p, {.span = marginals.data(), .left = pairs.data(), .right = pairs.data()});
    const bool any = log_z > -std::numeric_limits<double>::infinity();
    for (std::int64_t s = 0; s < spans.count(); ++s) {
        float sum = 0;
        for (std::int64_t y = 0; y < p.Y; ++y) sum += marginals[s * p.stride + y];
        open[s] = !any || sum >= threshold;
    }
    // The best tree of the small model must stay, or there might be no tree at all.
    std::vector<structures::TreeNode> best(static_cast<std::size_t>(2 * x.T - 1));
    double score = 0;
    if (structures::tree_argmax(p, score, best.data()))
        for (const structures::TreeNode& node : best) open[spans.at(node.start, node.end)] = 1;
}

} // namespace chaffinch::model
