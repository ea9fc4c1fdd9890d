#include "label_automaton.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace chaffinch::search {

namespace {

constexpr std::int64_t bits = 64;

using Word = LabelAutomaton::Word;

void put(Word* set, std::int64_t q) { set[q / bits] |= Word{1} << (q % bits); }
bool has(const Word* set, std::int64_t q) { return (set[q / bits] >> (q % bits)) & 1; }

// Calls visit(q) for every state of the set.
template <class Visit> void each(const Word* set, std::int64_t W, Visit&& visit) {
    for (std::int64_t i = 0; i < W; ++i)
        for (Word w = set[i]; w != 0; w &= w - 1) visit(i * bits + std::countr_zero(w));
}

} // namespace

// State 0 is the start with no need met; 1 + (y << needs) + met is label y with these needs met.
LabelAutomaton::LabelAutomaton(std::int64_t Y, const std::uint8_t* transitions, const std::uint8_t* start,
                               const std::uint8_t* end, std::span<const Need> needs)
    : Y_(Y), Q_(1 + (Y << needs.size())), W_((Q_ + bits - 1) / bits), next_(static_cast<std::size_t>(Q_ * Y), none),
      successors_(static_cast<std::size_t>(Q_ * W_)), final_(static_cast<std::size_t>(W_)) {
    const auto width = static_cast<std::int64_t>(needs.size());
    for (std::int64_t y = 0; y < Y; ++y) after_.push_back(static_cast<std::int32_t>((y + 1) << width));
    for (std::int64_t q = 0; q < Q_; ++q) {
        const std::int64_t last = q == 0 ? none : (q - 1) >> width;
        const std::int64_t met = q == 0 ? 0 : (q - 1) & ((std::int64_t{1} << width) - 1);
        label_.push_back(static_cast<std::int32_t>(last));
        if (q == 0 || end[last]) put(final_.data(), q);
        for (std::int64_t y = 0; y < Y; ++y) {
            bool legal = q == 0 ? start[y] != 0 : transitions[last * Y + y] != 0;
            std::int64_t then = met;
            for (std::size_t r = 0; r < needs.size(); ++r) {
                const std::int64_t bit = std::int64_t{1} << r;
                if (needs[r].label == y && !(met & bit)) legal = false;
                if (needs[r].since == y) then &= ~bit;
                if (needs[r].needs == y) then |= bit;
            }
            if (!legal) continue;
            const std::int64_t to = 1 + (y << width) + then;
            next_[q * Y + y] = static_cast<std::int32_t>(to);
            put(successors_.data() + q * W_, to);
        }
    }
}

LabelAutomaton::LabelAutomaton(std::int64_t Y, std::span<const std::int32_t> label, std::span<const std::int32_t> next,
                               std::span<const std::uint8_t> final)
    : Y_(Y), Q_(static_cast<std::int64_t>(label.size())), W_((Q_ + bits - 1) / bits), next_(next.begin(), next.end()),
      label_(label.begin(), label.end()), after_(static_cast<std::size_t>(Y)),
      successors_(static_cast<std::size_t>(Q_ * W_)), final_(static_cast<std::size_t>(W_)) {
    for (std::int64_t q = Q_; q-- > 1;) after_[label_[q]] = static_cast<std::int32_t>(q);
    for (std::int64_t q = 0; q < Q_; ++q) {
        if (final[q]) put(final_.data(), q);
        for (std::int64_t y = 0; y < Y; ++y)
            if (const std::int32_t to = next_[q * Y + y]; to != none) put(successors_.data() + q * W_, to);
    }
}

// While nothing is decided F[t] depends on t alone and B[t] on T - t alone: both are computed once and copied.
void LegalLabels::open(std::int64_t T, const std::uint8_t* barred) {
    if (!a_) return;
    if (barred) return bar(T, barred);
    allowed_.clear();
    const auto W = static_cast<std::size_t>(a_->words());
    const std::size_t size = static_cast<std::size_t>(T + 1) * W;
    if (open_forward_.size() < size) find_open(T);
    T_ = T;
    fixed_.assign(static_cast<std::size_t>(T), LabelAutomaton::none);
    forward_.assign(open_forward_.begin(), open_forward_.begin() + static_cast<std::ptrdiff_t>(size));
    backward_.assign(open_backward_.end() - static_cast<std::ptrdiff_t>(size), open_backward_.end());
}

void LegalLabels::find_open(std::int64_t T) {
    sweep(T);
    open_forward_ = forward_;
    open_backward_ = backward_;
}

void LegalLabels::bar(std::int64_t T, const std::uint8_t* barred) {
    allowed_.assign(static_cast<std::size_t>(T * a_->words()), 0);
    for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t q = 1; q < a_->states(); ++q)
            if (!barred[t * a_->labels() + a_->label(q)]) put(allowed_.data() + t * a_->words(), q);
    sweep(T);
}

// F and B while nothing is decided.
void LegalLabels::sweep(std::int64_t T) {
    T_ = T;
    const auto size = static_cast<std::size_t>((T + 1) * a_->words());
    fixed_.assign(static_cast<std::size_t>(T), LabelAutomaton::none);
    forward_.assign(size, 0);
    backward_.assign(size, 0);
    made_.resize(static_cast<std::size_t>(a_->words()));
    put(forward(0), 0);
    std::copy_n(a_->final(), a_->words(), backward(T));
    for (std::int64_t t = 0; t < T; ++t) step_forward(t);
    for (std::int64_t t = T; t-- > 0;) step_backward(t);
}

LegalLabels::Range LegalLabels::decide(std::int64_t t, std::int32_t y, bool forward_only) {
    if (!a_) return {t + 1, t};
    fixed_[t] = y;
    if (forward_only) {
        step_forward(t);
        return {t + 1, t + 1};
    }
    Range changed{t, t};
    for (std::int64_t p = t; p < T_ && step_forward(p); ++p) changed.last = p + 1;
    for (std::int64_t p = t; p >= 0 && step_backward(p); --p) changed.first = p - 1;
    return {std::max<std::int64_t>(changed.first, 0), std::min(changed.last, T_ - 1)};
}

void LegalLabels::mask(std::int64_t t, float* mask) const {
    const std::int64_t Y = a_->labels(), W = a_->words();
    std::fill_n(mask, Y, -std::numeric_limits<float>::infinity());
    bool any = false;
    for (std::int64_t i = 0; i < W; ++i) {
        Word to = 0; // the states, of these 64, that a label at t can lead to, and from where an end is in reach
        each(forward(t), W, [&](std::int64_t q) { to |= a_->successors(q)[i]; });
        to &= backward(t + 1)[i];
        if (const Word* here = allowed(t)) to &= here[i];
        each(&to, 1, [&](std::int64_t bit) { mask[a_->label(i * bits + bit)] = 0; });
        any |= to != 0;
    }
    if (!any) std::fill_n(mask, Y, 0.0f);
}

// A decided label that no legal labelling reaches (a gold label may be one) counts as reached.
bool LegalLabels::step_forward(std::int64_t t) {
    const std::int64_t W = a_->words();
    std::ranges::fill(made_, 0);
    if (const std::int32_t y = fixed_[t]; y != LabelAutomaton::none) {
        bool any = false;
        each(forward(t), W, [&](std::int64_t q) {
            if (const std::int32_t to = a_->next(q, y); to != LabelAutomaton::none) put(made_.data(), to), any = true;
        });
        if (!any) put(made_.data(), a_->after(y));
    } else {
        each(forward(t), W, [&](std::int64_t q) {
            for (std::int64_t i = 0; i < W; ++i) made_[i] |= a_->successors(q)[i];
        });
        if (const Word* here = allowed(t))
            for (std::int64_t i = 0; i < W; ++i) made_[i] &= here[i];
    }
    if (std::equal(made_.begin(), made_.end(), forward(t + 1))) return false;
    std::ranges::copy(made_, forward(t + 1));
    return true;
}

bool LegalLabels::step_backward(std::int64_t t) {
    const std::int64_t W = a_->words();
    const Word *later = backward(t + 1), *here = allowed(t);
    std::ranges::fill(made_, 0);
    bool any = false;
    const std::int32_t y = fixed_[t];
    for (std::int64_t q = 0; q < a_->states(); ++q) {
        bool can = false;
        if (y != LabelAutomaton::none) {
            const std::int32_t to = a_->next(q, y);
            can = to != LabelAutomaton::none && has(later, to);
        } else {
            for (std::int64_t i = 0; i < W; ++i)
                can |= (a_->successors(q)[i] & later[i] & (here ? here[i] : ~Word{0})) != 0;
        }
        if (can) put(made_.data(), q), any = true;
    }
    if (!any)
        for (std::int64_t q = 0; q < a_->states(); ++q) put(made_.data(), q);
    if (std::equal(made_.begin(), made_.end(), backward(t))) return false;
    std::ranges::copy(made_, backward(t));
    return true;
}

} // namespace chaffinch::search
