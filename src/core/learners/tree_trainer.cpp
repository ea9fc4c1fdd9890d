#include "tree_trainer.hpp"

#include "clones.hpp"
#include "random.hpp"
#include "score.hpp"
#include "stop.hpp"

#include <algorithm>
#include <cmath>

namespace chaffinch::learners {

namespace {

// Cells of a delta below this are skipped: they change too little.
constexpr float still = 1e-3f;
constexpr std::int64_t line = 16; // floats

// out += delta
CHAFFINCH_HOT void add_row(const float* delta, std::int64_t n, float* out) {
    for (std::int64_t c = 0; c < n; ++c) out[c] += delta[c];
}

// w += rate g;  mean += time rate g, so that w - mean / time is the mean over time.
CHAFFINCH_HOT void plain_step(const float* g, std::int64_t n, float rate, float time, float* w, float* mean) {
    for (std::int64_t c = 0; c < n; ++c) {
        const float d = rate * g[c];
        w[c] += d;
        mean[c] += time * d;
    }
}

CHAFFINCH_HOT void adaptive_step(const float* g, std::int64_t n, float rate, float time, float* w, float* mean,
                                 float* squares) {
    for (std::int64_t c = 0; c < n; ++c) {
        squares[c] += g[c] * g[c];
        const float d = rate * g[c] / std::sqrt(squares[c]);
        w[c] += d;
        mean[c] += time * d;
    }
}

// visit(row, node, parent, left) for every node of a tree in preorder; the root has no parent.
template <class Visit> void walk(const structures::TreeNode* nodes, std::int64_t T, Visit&& visit) {
    const structures::Spans spans{T};
    std::vector<const structures::TreeNode*> above; // phrases whose right child is still to come
    const structures::TreeNode* parent = nullptr;
    for (std::int64_t m = 0; m < 2 * T - 1; ++m) {
        const structures::TreeNode& node = nodes[m];
        const bool left = parent != nullptr;
        if (left) above.push_back(parent);
        else if (m > 0) parent = above.back(), above.pop_back();
        visit(spans.at(node.start, node.end), node, parent, left);
        parent = node.end - node.start > 1 ? &node : nullptr;
    }
}

} // namespace

TreeTrainer::TreeTrainer(TreeExamples examples, TreeLayout layout, structures::TreePotentials<float> like, TreeRule rule)
    : examples_(std::move(examples)), layout_(layout), like_(like), rule_(rule),
      w_(static_cast<std::size_t>(layout.cells)), mean_(static_cast<std::size_t>(layout.cells)),
      squares_(rule.adaptive ? static_cast<std::size_t>(layout.cells) : 0, rule.start), slot_(static_cast<std::size_t>(layout.F), -1) {
    const auto pairs = static_cast<std::size_t>(layout.Y * layout.Y);
    for (auto* block : {&left_, &right_, &left_delta_, &right_delta_}) block->resize(pairs);
}

TreeTrainer::Pass TreeTrainer::epoch(std::span<const std::int64_t> order) {
    Pass pass{0, 0};
    for (const std::int64_t n : order) {
        machine::check_stop();
        const double loss = examples_.bounds[n + 1] > examples_.bounds[n] ? move(n) : 0;
        pass.loss += examples_.weight ? static_cast<double>(examples_.weight[n]) * loss : loss;
        pass.wrong += loss > (rule_.loss == TreeLoss::likelihood ? std::log(2.0) : 0.0);
        ++time_;
    }
    return pass;
}

void TreeTrainer::weights(bool average, std::span<float> out) const {
    const auto features = static_cast<std::size_t>(layout_.F * layout_.span_stride);
    for (std::size_t c = 0; c < out.size(); ++c) {
        out[c] = average && time_ > 0 ? w_[c] - mean_[c] / static_cast<float>(time_) : w_[c];
        if (c < features) out[c] *= 1 - rule_.dropout;
    }
}

// Computes the potentials of sentence n and its features after dropout.
void TreeTrainer::score(std::int64_t n) {
    const std::int64_t T = examples_.bounds[n + 1] - examples_.bounds[n], S = structures::Spans{T}.count();
    const std::int64_t first = examples_.rows[n], W = layout_.span_stride, Y = layout_.Y;
    machine::Random random(rule_.seed ^ (static_cast<std::uint64_t>(time_) * 0x9e3779b97f4a7c15ULL));
    const std::uint64_t salt = random.next();
    const auto limit = static_cast<std::uint64_t>(static_cast<double>(rule_.dropout) * 0x1.0p64);
    ptr_.assign(1, 0);
    ids_.clear();
    for (std::int64_t s = 0; s < S; ++s) {
        for (std::int64_t k = examples_.ptr[first + s]; k < examples_.ptr[first + s + 1]; ++k) {
            const std::int32_t f = examples_.ids[k];
            if (limit == 0 || machine::Random(salt + static_cast<std::uint64_t>(f)).next() >= limit) ids_.push_back(f);
        }
        ptr_.push_back(static_cast<std::int64_t>(ids_.size()));
    }
    float* rows = machine::room(rows_, S * W);
    scorers::score_rows(ptr_, ids_, w_.data(), W, rows);
    for (std::int64_t B = 0; B < Y; ++B) {
        std::copy_n(&w_[layout_.left + B * layout_.pair_stride], Y, &left_[B * Y]);
        std::copy_n(&w_[layout_.right + B * layout_.pair_stride], Y, &right_[B * Y]);
    }
    potentials_ = like_;
    potentials_.T = T;
    potentials_.Y = Y;
    potentials_.span = rows;
    potentials_.stride = W;
    potentials_.roles = true;
    potentials_.left = left_.data();
    potentials_.right = right_.data();
    potentials_.open = examples_.open ? examples_.open + first : nullptr;
}

// Trains on one sentence; returns its loss before the update.
double TreeTrainer::move(std::int64_t n) {
    score(n);
    const std::int64_t T = potentials_.T, S = structures::Spans{T}.count(), W = layout_.span_stride, Y = layout_.Y;
    const std::int64_t before = 2 * examples_.bounds[n] - n;
    std::vector<structures::TreeNode> gold(static_cast<std::size_t>(2 * T - 1)), found(gold.size());
    for (std::size_t m = 0; m < gold.size(); ++m) {
        const std::int32_t* node = &examples_.nodes[3 * (static_cast<std::size_t>(before) + m)];
        gold[m] = {node[0], node[1], node[2]};
    }
    float* delta = machine::room(delta_, S * W);
    std::fill_n(delta, S * W, 0.0f);
    std::ranges::fill(left_delta_, 0.0f);
    std::ranges::fill(right_delta_, 0.0f);
    double loss;
    if (rule_.loss == TreeLoss::likelihood) {
        loss = structures::tree_logsum(potentials_, {.span = delta, .left = left_delta_.data(), .right = right_delta_.data()});
        for (std::int64_t c = 0; c < S * W; ++c) delta[c] = -delta[c];
        for (auto* block : {&left_delta_, &right_delta_})
            for (float& x : *block) x = -x;
        answer(gold.data(), 1);
        walk(gold.data(), T, [&](std::int64_t row, const structures::TreeNode& node, const structures::TreeNode* parent, bool left) {
            loss -= static_cast<double>(rows_[row * W + node.label]);
            if (!parent) return;
            loss -= static_cast<double>(rows_[row * W + (left ? 1 : 2) * Y + parent->label]);
            loss -= static_cast<double>((left ? left_ : right_)[node.label * Y + parent->label]);
        });
    } else {
        const bool augmented = rule_.loss == TreeLoss::hinge;
        if (augmented) {
            for (std::int64_t s = 0; s < S; ++s)
                for (std::int64_t y = 0; y < Y; ++y) rows_[s * W + y] += 1;
            for (const structures::TreeNode& g : gold) rows_[structures::Spans{T}.at(g.start, g.end) * W + g.label] -= 1;
        }
        double best = 0;
        structures::tree_argmax(potentials_, best, found.data());
        loss = 0;
        for (std::size_t m = 0; m < gold.size(); ++m)
            loss += gold[m].start != found[m].start || gold[m].end != found[m].end || gold[m].label != found[m].label;
        if (loss == 0) return 0;
        answer(gold.data(), 1);
        answer(found.data(), -1);
    }
    gather(examples_.weight ? examples_.weight[n] : 1.0f);
    apply();
    return loss;
}

// delta += sign parts(y)
void TreeTrainer::answer(const structures::TreeNode* nodes, float sign) {
    const std::int64_t W = layout_.span_stride, Y = layout_.Y;
    walk(nodes, potentials_.T, [&](std::int64_t row, const structures::TreeNode& node, const structures::TreeNode* parent, bool left) {
        delta_[row * W + node.label] += sign;
        if (!parent) return;
        delta_[row * W + (left ? 1 : 2) * Y + parent->label] += sign;
        (left ? left_delta_ : right_delta_)[node.label * Y + parent->label] += sign;
    });
}

// gradient[slot of f] = sum over the spans with f of delta, times the sentence's weight
void TreeTrainer::gather(float weight) {
    const std::int64_t S = structures::Spans{potentials_.T}.count(), W = layout_.span_stride;
    touched_.clear();
    for (auto* block : {&left_delta_, &right_delta_})
        for (float& x : *block) x *= weight;
    for (std::int64_t s = 0; s < S; ++s) {
        float* row = &delta_[s * W];
        float most = 0;
        for (std::int64_t c = 0; c < W; ++c) {
            row[c] = std::abs(row[c]) < still ? 0.0f : weight * row[c];
            most = std::max(most, std::abs(row[c]));
        }
        if (most == 0) continue;
        for (std::int64_t k = ptr_[s]; k < ptr_[s + 1]; ++k) {
            std::int32_t& slot = slot_[ids_[k]];
            if (slot < 0) {
                slot = static_cast<std::int32_t>(touched_.size());
                touched_.push_back(ids_[k]);
                const std::int64_t need = static_cast<std::int64_t>(touched_.size()) * W;
                if (static_cast<std::int64_t>(gradient_.size()) < need) gradient_.resize(static_cast<std::size_t>(2 * need));
                std::fill_n(&gradient_[slot * W], W, 0.0f);
            }
            add_row(row, W, &gradient_[slot * W]);
        }
    }
}

void TreeTrainer::apply() {
    const std::int64_t W = layout_.span_stride, Y = layout_.Y;
    for (std::size_t m = 0; m < touched_.size(); ++m) {
        step(touched_[m] * W, &gradient_[static_cast<std::int64_t>(m) * W], W);
        slot_[touched_[m]] = -1;
    }
    for (std::int64_t B = 0; B < Y; ++B) {
        step(layout_.left + B * layout_.pair_stride, &left_delta_[B * Y], Y);
        step(layout_.right + B * layout_.pair_stride, &right_delta_[B * Y], Y);
    }
}

void TreeTrainer::step(std::int64_t cell, const float* g, std::int64_t count) {
    // Most cache lines of a row have no gradient, and memory traffic is the main cost.
    const auto time = static_cast<float>(time_);
    for (std::int64_t c = 0; c < count; c += line) {
        const std::int64_t n = std::min(line, count - c);
        if (std::all_of(g + c, g + c + n, [](float x) { return x == 0; })) continue;
        const std::int64_t at = cell + c;
        if (rule_.adaptive) adaptive_step(g + c, n, rule_.rate, time, &w_[at], &mean_[at], &squares_[at]);
        else plain_step(g + c, n, rule_.rate, time, &w_[at], &mean_[at]);
    }
}

} // namespace chaffinch::learners
