// Weights updated online, and their mean over time.
//
//   w[c]  the weight of cell c;  a cell is one (row, label), a row one feature or one context of labels
//   u[c]  = sum over the changes of w[c] of  time * change
//
// The mean of w over the steps 0 .. time-1 is w - u / time: only the cells that change are touched.
// (Daume 2006, "Practical structured learning techniques", figure 2.3.)
#pragma once

#include "aligned.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace chaffinch::learners {

class OnlineWeights {
  public:
    // confident: keep a variance for each cell as well (AROW).
    OnlineWeights(std::int64_t cells, bool confident)
        : w_(static_cast<std::size_t>(cells)), u_(static_cast<std::size_t>(cells)),
          sigma_(confident ? static_cast<std::size_t>(cells) : 0, 1.0f) {}

    std::int64_t size() const { return static_cast<std::int64_t>(w_.size()); }
    const float* w() const { return w_.data(); }
    float* sigma() { return sigma_.data(); }
    std::int64_t time() const { return time_; }

    // One step of time passes: an example, or a decision.
    void tick() { now_ = static_cast<float>(++time_); }

    void add(std::int64_t cell, float change) {
        if (!hidden_.empty() && !seen(cell, change)) return;
        w_[cell] += change;
        u_[cell] += now_ * change;
    }

    // Rows of `stride` cells stay hidden until they have been updated `updates` times; their earlier updates count from
    // then on.
    // (Goldberg and Elhadad 2011, "Learning sparser perceptron models".)
    void hide(std::int64_t stride, std::int64_t updates) {
        stride_ = stride;
        enough_ = static_cast<std::int32_t>(updates);
        hidden_.resize(w_.size());
        updates_.resize(w_.size() / static_cast<std::size_t>(stride));
    }

    // More cells, all zero. Pointers into w are void afterwards.
    void grow(std::int64_t cells) {
        w_.resize(static_cast<std::size_t>(cells));
        u_.resize(static_cast<std::size_t>(cells));
        if (!sigma_.empty()) sigma_.resize(static_cast<std::size_t>(cells), 1.0f);
        if (hidden_.empty()) return;
        hidden_.resize(static_cast<std::size_t>(cells));
        updates_.resize(static_cast<std::size_t>(cells / stride_));
    }

    void prefetch(std::int64_t cell) const {
        __builtin_prefetch(&w_[cell], 1);
        __builtin_prefetch(&u_[cell], 1);
    }

    // Weights to start from; the mean counts from here.
    void begin(std::span<const float> w) {
        std::ranges::copy(w, w_.begin());
        std::ranges::fill(u_, 0.0f);
        time_ = 0, now_ = 0;
    }

    // The whole state of training, for checkpoints. sigma: empty without confidence.
    std::span<const float> all_w() const { return w_; }
    std::span<const float> all_u() const { return u_; }
    std::span<const float> all_sigma() const { return sigma_; }
    void resume(std::span<const float> w, std::span<const float> u, std::span<const float> sigma, std::int64_t time) {
        std::ranges::copy(w, w_.begin());
        std::ranges::copy(u, u_.begin());
        std::ranges::copy(sigma, sigma_.begin());
        time_ = time, now_ = static_cast<float>(time);
    }

    void averaged(std::span<float> out) const; // [size]

  private:
    // Has the cell's row had enough updates? If this is the last one needed, its hidden updates become visible.
    bool seen(std::int64_t cell, float change) {
        std::int32_t& count = updates_[cell / stride_];
        if (count >= enough_) return true;
        hidden_[cell] += change;
        if (change > 0 && ++count == enough_) {
            const std::int64_t row = cell / stride_ * stride_;
            for (std::int64_t c = row; c < row + stride_; ++c) {
                w_[c] += hidden_[c];
                u_[c] += now_ * hidden_[c];
            }
        }
        return false;
    }

    machine::AlignedVector<float> w_, u_, sigma_, hidden_;
    machine::AlignedVector<std::int32_t> updates_; // [rows]
    std::int64_t stride_ = 1;
    std::int32_t enough_ = 0;
    std::int64_t time_ = 0;
    float now_ = 0;
};

} // namespace chaffinch::learners
