#include "label_state.hpp"

#include "clones.hpp"
#include "score.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace chaffinch {

CHAFFINCH_HOT void sum_rows(const float* w, const std::int32_t* rows, std::int64_t L, std::int64_t S, const float* base,
                            float* out) {
    using Lanes = Pack<float>;
    for (std::int64_t at = 0; at < S; at += lanes) {
        Lanes s0, s1{}, s2{}, s3{}, row;
        std::memcpy(&s0, base + at, sizeof s0);
        const auto add = [&](std::int64_t i, Lanes& sum) __attribute__((always_inline)) {
            std::memcpy(&row, w + rows[i] * S + at, sizeof row);
            sum += row;
        };
        std::int64_t i = 0;
        for (; i + 4 <= L; i += 4) add(i, s0), add(i + 1, s1), add(i + 2, s2), add(i + 3, s3);
        if (i < L) add(i, s0);
        if (i + 1 < L) add(i + 1, s1);
        if (i + 2 < L) add(i + 2, s2);
        s0 = (s0 + s1) + (s2 + s3);
        std::memcpy(out + at, &s0, sizeof s0);
    }
}

void LabelState::open(const Observed& x, std::int64_t n, const float* w) {
    x_ = x;
    from_ = x.examples.sentences[n];
    T_ = x.examples.sentences[n + 1] - from_;
    first_look_ = true;
    const std::int64_t left = context_.left(), right = context_.right();
    codes_.resize(static_cast<std::size_t>(left + T_ + right));
    std::fill_n(codes_.begin(), left, context_.start());
    std::fill_n(codes_.begin() + left, T_, context_.undecided());
    std::fill_n(codes_.begin() + left + T_, right, context_.end());
    if (static_cast<std::int64_t>(rows_.size()) < T_ * context_.size())
        rows_.resize(static_cast<std::size_t>(T_ * context_.size())), keys_.resize(rows_.size());
    room(features_, T_ * S_);
    room(scores_, T_ * S_);
    if (legal_.constrained()) room(masks_, T_ * S_);
    legal_.open(T_);
    const std::int32_t* observations = x.observations + from_ * context_.columns();
    for (std::int64_t i = 0; i < T_ * context_.columns(); i += 16) __builtin_prefetch(observations + i);
    gather(0, T_ - 1, w); // meanwhile the observations arrive
}

void LabelState::gather(std::int64_t first, std::int64_t last, const float* w) {
    w_ = w;
    if (last < first) return;
    score_rows(x_.examples.ptr.subspan(static_cast<std::size_t>(from_ + first), static_cast<std::size_t>(last - first + 2)),
               x_.examples.ids, w, S_, features_.data() + first * S_);
    for (std::int64_t t = first; t <= last && Y_ < S_; ++t)
        std::fill(features_.data() + t * S_ + Y_, features_.data() + (t + 1) * S_, Agenda::never);
}

void LabelState::look_first(std::int64_t t) {
    const std::int64_t L = context_.size(), left = context_.left(), right = context_.right();
    if (openings_rows_ != context_.rows()) {
        openings_rows_ = context_.rows();
        openings_known_.assign(static_cast<std::size_t>((left + 1) * (right + 1)), 0);
        openings_keys_.resize(openings_known_.size() * static_cast<std::size_t>(L));
        openings_found_.resize(openings_keys_.size());
    }
    const std::int64_t which = std::min(t, left) * (right + 1) + std::min(T_ - 1 - t, right);
    std::uint64_t* keys = openings_keys_.data() + which * L;
    std::int32_t* rows = openings_found_.data() + which * L;
    if (!openings_known_[which]) {
        context_.find_plain(codes(t), keys, rows);
        openings_known_[which] = 1;
    }
    std::copy_n(keys, L, keys_.data() + t * L);
    std::copy_n(rows, L, rows_.data() + t * L);
    context_.find_observing(x_.observations + (from_ + t) * context_.columns(), codes(t), keys_.data() + t * L,
                            rows_.data() + t * L);
}

void LabelState::look(std::int64_t t) {
    const std::int64_t L = context_.size();
    if (first_look_)
        look_first(t);
    else
        context_.find_all(x_.observations + (from_ + t) * context_.columns(), codes(t), keys_.data() + t * L, rows_.data() + t * L);
    sum(t);
    if (legal_.constrained()) legal_.mask(t, masks_.data() + t * S_);
}

void LabelState::sum(std::int64_t t) {
    const std::int64_t L = context_.size();
    sum_rows(w_, rows_.data() + t * L, L, S_, features_.data() + t * S_, scores_.data() + t * S_);
}

Choice LabelState::best_with_cost(std::int64_t t, std::int32_t gold) const {
    float row[lanes];
    const auto some = [&](std::int64_t at) { // the scores of labels at .. at + 7
        Pack<float> values, mask;
        get(values, scores(t) + at);
        if (legal_.constrained()) get(mask, masks_.data() + t * S_ + at), values += mask;
        const float right = gold >= at && gold < at + lanes ? values[gold - at] : 0;
        if (gold >= 0) values += 1.0f;
        if (gold >= at && gold < at + lanes) values[gold - at] = right;
        put(row, values);
    };
    some(0);
    Top top = first_highest(row);
    for (std::int64_t at = lanes; at < S_; at += lanes) {
        some(at);
        if (const Top next = first_highest(row); next.value > top.value)
            top = {next.value, static_cast<std::int32_t>(at) + next.place};
    }
    float next = Agenda::never;
    for (std::int64_t at = 0; at < S_; at += lanes) {
        if (S_ > lanes) some(at);
        if (top.place >= at && top.place < at + lanes) row[top.place - at] = Agenda::never;
        next = std::max(next, highest(row));
    }
    return {top.place, top.value, top.value - next};
}

void LabelState::softmax(std::int64_t t, float temperature, float* out) const {
    const float* row = scores(t);
    const float top = best(t).score;
    float sum = 0;
    for (std::int64_t y = 0; y < Y_; ++y) {
        out[y] = legal(t, y) ? std::exp((row[y] - top) / temperature) : 0.0f;
        sum += out[y];
    }
    for (std::int64_t y = 0; y < Y_; ++y) out[y] /= sum;
}

void LabelState::settle(std::int64_t t, std::int32_t y) {
    std::fill_n(scores_.data() + t * S_, Y_, -std::numeric_limits<float>::infinity());
    scores_[t * S_ + y] = 0;
    if (legal_.constrained()) std::fill_n(masks_.data() + t * S_, Y_, 0.0f);
}

void LabelState::decide_unseen(std::int64_t t, std::int32_t y) {
    first_look_ = false;
    codes_[context_.left() + t] = y;
    legal_.decide(t, y, false);
}

void LabelState::decide_known() {
    if (!x_.known) return;
    for (std::int64_t t = 0; t < T_; ++t)
        if (const std::int32_t y = known(t); y >= 0) {
            decide_unseen(t, y);
            settle(t, y);
        }
}

void LabelState::decide_forward(std::int64_t t, std::int32_t y) {
    first_look_ = false;
    codes_[context_.left() + t] = y;
    legal_.decide(t, y, true);
}

} // namespace chaffinch
