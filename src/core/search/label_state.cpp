#include "label_state.hpp"

#include "clones.hpp"
#include "score.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace chaffinch::search {

namespace {

// The two highest of eight numbers, and the first place where the higher stands. Nothing leaves the registers.
struct TopTwo {
    float first, second;
    std::int32_t place;
};

CHAFFINCH_INLINE TopTwo top_two(const machine::Pack<float>& values) {
    using Four = machine::Vector<float, 4>;
    using Marks = machine::Vector<std::int32_t, 4>;
    const auto least = [](auto a, auto b) __attribute__((always_inline)) { return a < b ? a : b; };
    const auto most = [](auto a, auto b) __attribute__((always_inline)) { return a > b ? a : b; };
    Four a, b;
    machine::halved(values, a, b);
    const Four high = most(a, b), low = least(a, b);
    // Of two pairs (high, low) the highest is the higher high; the next is the lower high or a low.
    const float high02 = most(high[0], high[2]), low02 = most(least(high[0], high[2]), most(low[0], low[2]));
    const float high13 = most(high[1], high[3]), low13 = most(least(high[1], high[3]), most(low[1], low[3]));
    const float first = most(high02, high13), second = most(least(high02, high13), most(low02, low13));
    const Marks here = ((a == first) & Marks{1, 2, 4, 8}) | ((b == first) & Marks{16, 32, 64, 128});
    const auto pairs = machine::read_as<std::uint64_t>(here);
    const std::uint64_t both = pairs[0] | pairs[1];
    return {first, second, std::countr_zero(static_cast<std::uint32_t>(both | (both >> 32)))};
}

// The sums of one pack of labels, which are columns 0 .. 7 of w, base and out, and the highest of them.
CHAFFINCH_INLINE TopTwo sum_pack(const float* w, const std::int32_t* rows, std::int64_t L, std::int64_t S, const float* base,
                                 float* out) {
    machine::Pack<float> s0, s1{}, s2{}, s3{}, row;
    machine::get(s0, base);
    const auto add = [&](std::int64_t i, machine::Pack<float>& sum) __attribute__((always_inline)) {
        machine::get(row, w + rows[i] * S);
        sum += row;
    };
    std::int64_t i = 0;
    for (; i + 4 <= L; i += 4) add(i, s0), add(i + 1, s1), add(i + 2, s2), add(i + 3, s3);
    if (i < L) add(i, s0);
    if (i + 1 < L) add(i + 1, s1);
    if (i + 2 < L) add(i + 2, s2);
    s0 = (s0 + s1) + (s2 + s3);
    machine::put(out, s0);
    return top_two(s0);
}

} // namespace

CHAFFINCH_HOT void sum_rows(std::span<const std::int64_t> positions, const float* w, const std::int32_t* rows,
                            std::int64_t L, std::int64_t S, const float* base, float* out, Choice* best) {
    if (S == machine::lanes) {
        for (const std::int64_t t : positions) {
            const TopTwo top = sum_pack(w, rows + t * L, L, machine::lanes, base + t * machine::lanes, out + t * machine::lanes);
            best[t] = {top.place, top.first, top.first - top.second};
        }
        return;
    }
    for (const std::int64_t t : positions) {
        std::int32_t label = 0;
        float first = Agenda::never, second = Agenda::never;
        for (std::int64_t at = 0; at < S; at += machine::lanes) {
            const TopTwo top = sum_pack(w + at, rows + t * L, L, S, base + t * S + at, out + t * S + at);
            second = std::max({second, std::min(first, top.first), top.second});
            if (top.first > first) first = top.first, label = static_cast<std::int32_t>(at) + top.place;
        }
        best[t] = {label, first, first - second};
    }
}

void LabelState::open(const Observed& x, std::int64_t n) {
    x_ = x;
    from_ = x.examples.sentences[n];
    T_ = x.examples.sentences[n + 1] - from_;
    first_look_ = true;
    in_view_first_ = in_view_last_ = 0;
    const std::int64_t left = context_.left(), right = context_.right();
    codes_.resize(static_cast<std::size_t>(left + T_ + right));
    std::fill_n(codes_.begin(), left, context_.start());
    std::fill_n(codes_.begin() + left, T_, context_.undecided());
    std::fill_n(codes_.begin() + left + T_, right, context_.end());
    if (static_cast<std::int64_t>(rows_.size()) < T_ * context_.size())
        rows_.resize(static_cast<std::size_t>(T_ * context_.size())), keys_.resize(rows_.size());
    machine::room(features_, T_ * S_);
    machine::room(scores_, T_ * S_);
    if (static_cast<std::int64_t>(choices_.size()) < T_) choices_.resize(static_cast<std::size_t>(T_));
    if (legal_.constrained()) machine::room(masks_, T_ * S_);
    openings_.resize(static_cast<std::size_t>((left + 1) * (right + 1)));
    legal_.open(T_, x.barred ? x.barred + from_ * Y_ : nullptr);
    const std::int32_t* observations = x.observations + from_ * context_.columns();
    for (std::int64_t i = 0; i < T_ * context_.columns(); i += 16) __builtin_prefetch(observations + i);
}

void LabelState::gather(std::int64_t first, std::int64_t last, const float* w) {
    w_ = w;
    if (last < first) return;
    scorers::score_rows(x_.examples.ptr.subspan(static_cast<std::size_t>(from_ + first), static_cast<std::size_t>(last - first + 2)),
               x_.examples.ids, w, S_, features_.data() + first * S_, x_.examples.values);
    for (std::int64_t t = first; t <= last && Y_ < S_; ++t)
        std::fill(features_.data() + t * S_ + Y_, features_.data() + (t + 1) * S_, Agenda::never);
}

void LabelState::gather_undecided(const float* w) {
    w_ = w;
    for (std::int64_t t = in_view_first_; t < in_view_last_;) {
        std::int64_t end = t;
        while (end < in_view_last_ && undecided(end)) ++end;
        gather(t, end - 1, w);
        t = end + 1;
    }
}

const LabelState::Opening& LabelState::opening(std::int64_t t) {
    const std::int64_t left = context_.left(), right = context_.right();
    Opening& here = openings_[std::min(t, left) * (right + 1) + std::min(T_ - 1 - t, right)];
    if (here.rows == context_.rows()) return here;
    here.rows = context_.rows();
    here.keys.clear(), here.found.clear();
    for (std::int64_t l = 0; l < context_.size(); ++l) {
        here.keys.push_back(context_.key(l, 0, codes(t)));
        here.found.push_back(context_.row(l, here.keys.back()));
    }
    return here;
}

// The keys of the templates at t. At the first look the rows of templates that read labels only are known as well.
void LabelState::see(std::int64_t t) {
    std::uint64_t* keys = keys_.data() + t * context_.size();
    const std::int32_t* observations = x_.observations + (from_ + t) * context_.columns();
    const auto saw = [&](std::int64_t l, std::uint64_t labels) {
        keys[l] = context_.key_in_use(l, context_.observed(l, observations), labels);
    };
    if (!first_look_) {
        for (std::int64_t l = 0; l < context_.size(); ++l) saw(l, context_.key(l, 0, codes(t)));
        return;
    }
    const Opening& start = opening(t);
    std::copy_n(start.keys.data(), context_.size(), keys);
    std::copy_n(start.found.data(), context_.size(), rows_.data() + t * context_.size());
    for (const std::int32_t l : context_.observing()) {
        saw(l, keys[l]);
        context_.prefetch(l, keys[l]);
    }
}

// The rows of these keys.
void LabelState::find(std::int64_t t) {
    const std::uint64_t* keys = keys_.data() + t * context_.size();
    std::int32_t* rows = rows_.data() + t * context_.size();
    const auto found = [&](std::int64_t l) {
        rows[l] = context_.row(l, keys[l]);
        __builtin_prefetch(w_ + rows[l] * S_);
    };
    if (first_look_)
        for (const std::int32_t l : context_.observing()) found(l);
    else
        for (std::int64_t l = 0; l < context_.size(); ++l) found(l);
}

// Label y at t is new: finds the rows of all templates that read it before any branch depends on one of them.
void LabelState::find_again(std::int64_t t, std::int32_t y) {
    scored_.clear();
    const std::int64_t L = context_.size();
    const auto more = static_cast<std::uint64_t>(y - context_.undecided());
    for (const auto& [offset, readers] : context_.by_offset()) {
        const std::int64_t p = t - offset;
        if (!in_view(p) || !undecided(p)) continue;
        std::uint64_t* keys = keys_.data() + p * L;
        std::int32_t* rows = rows_.data() + p * L;
        std::int32_t moved = 0; // contexts not seen in training share one row
        for (const auto& [l, stride, plain] : readers) {
            std::uint64_t k = keys[l];
            if (k == LabelContext::blind) continue;
            keys[l] = k += more * stride;
            const std::int32_t row = plain ? plain[k] : context_.index(l).find(k);
            __builtin_prefetch(w_ + row * S_);
            moved |= row ^ rows[l];
            rows[l] = row;
        }
        if (moved) scored_.push_back(p);
    }
}

void LabelState::look(std::int64_t t) {
    see(t);
    find(t);
    score({&t, 1});
}

void LabelState::score(std::span<const std::int64_t> positions) {
    sum(positions);
    if (!legal_.constrained()) return;
    for (const std::int64_t t : positions) restrict(t);
}

// Sets their best choices, ignoring legality.
void LabelState::sum(std::span<const std::int64_t> positions) {
    sum_rows(positions, w_, rows_.data(), context_.size(), S_, features_.data(), scores_.data(), choices_.data());
}

// Recomputes the legal labels at t.
void LabelState::restrict(std::int64_t t) {
    legal_.mask(t, masks_.data() + t * S_);
    choices_[t] = best_with_cost(t, -1);
}

Choice LabelState::best_with_cost(std::int64_t t, std::int32_t gold) const {
    float row[machine::lanes];
    const auto some = [&](std::int64_t at) { // the scores of labels at .. at + 7
        machine::Pack<float> values, mask;
        machine::get(values, scores(t) + at);
        if (legal_.constrained()) machine::get(mask, masks_.data() + t * S_ + at), values += mask;
        machine::put(row, values);
        if (gold < 0) return;
        for (std::int64_t l = 0; l < machine::lanes; ++l) row[l] += gold == at + l ? 0.0f : 1.0f;
    };
    some(0);
    Top top = first_highest(row);
    for (std::int64_t at = machine::lanes; at < S_; at += machine::lanes) {
        some(at);
        if (const Top next = first_highest(row); next.value > top.value)
            top = {next.value, static_cast<std::int32_t>(at) + next.place};
    }
    float next = Agenda::never;
    for (std::int64_t at = 0; at < S_; at += machine::lanes) {
        if (S_ > machine::lanes) some(at);
        if (top.place >= at && top.place < at + machine::lanes) row[top.place - at] = Agenda::never;
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
    choices_[t] = {y, 0, -Agenda::never};
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

} // namespace chaffinch::search
