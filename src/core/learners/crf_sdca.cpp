#include "crf_sdca.hpp"

#include "bounds.hpp"
#include "clones.hpp"
#include "crf_update.hpp"
#include "log.hpp"
#include "stop.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace chaffinch::learners {

namespace {

struct Change {
    double K = 0, B = 0;
};

constexpr float least = 1e-7f; // lower bound of probabilities

// With an L1 penalty a weight counts as active from |u| > nearly * shrink on: in one step it may leave zero.
constexpr float nearly = 0.5f;

// The two parts of the gap decide how tightly to hold w. If the sentences' part is the larger one and is at least
// `slow` times its value a pass ago, the steps were too long: hold is multiplied by `tighter`. If their part is less
// than `idle` times the other, w is held too tightly.
constexpr double slow = 0.9, idle = 0.02, tighter = 1.5;

// A sentence whose K has more than doubled since its last visit takes smaller steps, down to a fourth.
constexpr double worse = 2;
constexpr float raised = 1.5f, lowered = 0.8f, most_raised = 4;

// Sentences with more than `loud` times the mean K, if fewer than one in `few`, are visited several times more.
constexpr double loud = 4;
constexpr std::int64_t few = 16;
constexpr int more_visits = 4;

void prefetch(const float* from, std::int64_t n) {
    for (std::int64_t k = 0; k < n; k += 16) __builtin_prefetch(from + k, 1);
}

} // namespace

// fresh := d = fresh - m, with rows zeroed that changed by less than `still`; returns K and B of the nodes. T rows of
// S.
// squares [T]: |phi_t|^2; null: the token's number of features.
CHAFFINCH_HOT Change node_change(std::int64_t T, std::int64_t S, const std::int64_t* ptr, const double* squares,
                                 const float* m, float still, float* fresh) {
    Change change;
    for (std::int64_t t = 0; t < T; ++t) {
        const float* __restrict stored = m + t * S;
        float* __restrict row = fresh + t * S;
        float most[machine::lanes] = {}, k[machine::lanes] = {}, square[machine::lanes] = {};
        for (std::int64_t y = 0; y < S; y += machine::lanes)
            for (std::int64_t l = 0; l < machine::lanes; ++l) {
                const float p = row[y + l], q = stored[y + l];
                const float d = p - q, size = d < 0 ? -d : d;
                most[l] = size > most[l] ? size : most[l];
                k[l] += d * machine::row_log((p > least ? p : least) / (q > least ? q : least));
                square[l] += d * d;
                row[y + l] = d;
            }
        float top = 0, K = 0, B = 0;
        for (std::int64_t l = 0; l < machine::lanes; ++l) {
            top = most[l] > top ? most[l] : top;
            K += k[l], B += square[l];
        }
        if (top < still) {
            for (std::int64_t y = 0; y < S; ++y) row[y] = 0;
            continue;
        }
        const double features = (squares ? squares[t] : static_cast<double>(ptr[t + 1] - ptr[t])) +
                                static_cast<double>((t == 0) + (t == T - 1));
        change.K += static_cast<double>(K);
        change.B += features * static_cast<double>(B);
    }
    return change;
}

// fresh := fresh - m; the sum of its squares.
CHAFFINCH_HOT double pair_change(std::int64_t n, const float* m, float* fresh) {
    float square[machine::lanes] = {};
    for (std::int64_t k = 0; k < n; k += machine::lanes)
        for (std::int64_t l = 0; l < machine::lanes; ++l) {
            const float d = fresh[k + l] - m[k + l];
            square[l] += d * d;
            fresh[k + l] = d;
        }
    double sum = 0;
    for (const float s : square) sum += static_cast<double>(s);
    return sum;
}

// sum of active d^2
CHAFFINCH_HOT double active_square(std::int64_t n, const float* active, const float* d) {
    float square[machine::lanes] = {};
    for (std::int64_t k = 0; k < n; k += machine::lanes)
        for (std::int64_t l = 0; l < machine::lanes; ++l) square[l] += active[k + l] * d[k + l] * d[k + l];
    double sum = 0;
    for (const float s : square) sum += static_cast<double>(s);
    return sum;
}

// Sum over groups of tokens of |sum of d_t|^2 - sum of |d_t|^2, each d_t times its value; of the cells with |u| > from, if
// there is a u.
template <bool valued, bool shrunk>
CHAFFINCH_INLINE double sum_shared(std::span<const std::int64_t> ptr, const std::int32_t* tokens,
                                   [[maybe_unused]] const float* values,
                                   [[maybe_unused]] const std::int32_t* features, [[maybe_unused]] const float* u,
                                   [[maybe_unused]] float from, std::int64_t S, const float* d) {
    double total = 0;
    for (std::size_t k = 0; k + 1 < ptr.size(); ++k) {
        machine::Pack<float> product = {};
        for (std::int64_t y = 0; y < S; y += machine::lanes) {
            machine::Pack<float> sum = {}, block = {}, here;
            for (std::int64_t i = ptr[k]; i < ptr[k + 1]; ++i) {
                machine::get(here, d + tokens[i] * S + y);
                if constexpr (valued) here *= values[i];
                if constexpr (shrunk)
                    block += sum * here;
                else
                    product += sum * here;
                sum += here;
            }
            if constexpr (shrunk) {
                machine::Pack<float> own;
                machine::get(own, u + features[k] * S + y);
                product += machine::select(machine::beyond(own, machine::Pack<float>{} + from), block, machine::Pack<float>{});
            }
        }
        for (std::int64_t l = 0; l < machine::lanes; ++l) total += static_cast<double>(product[l]);
    }
    return 2 * total;
}

// values: beside tokens; null: all are 1. features [groups]; u: null if all cells count
CHAFFINCH_HOT double shared_rows(std::span<const std::int64_t> ptr, const std::int32_t* tokens, const float* values,
                                 const std::int32_t* features, const float* u, float from, std::int64_t S,
                                 const float* d) {
    if (u)
        return values ? sum_shared<true, true>(ptr, tokens, values, features, u, from, S, d)
                      : sum_shared<false, true>(ptr, tokens, nullptr, features, u, from, S, d);
    return values ? sum_shared<true, false>(ptr, tokens, values, nullptr, nullptr, 0, S, d)
                  : sum_shared<false, false>(ptr, tokens, nullptr, nullptr, nullptr, 0, S, d);
}

// After a pass: w := soft(u, shrink), and u is recomputed for z = w and the next pass's hold. Gives the penalty of w,
// and R(w) + R*(g) - g.w for the penalty R and the marginals' g = 2 c u - 2 hold z, which is zero if w minimises R(w) -
// g.w.
struct Recentred {
    double penalty = 0, held = 0;
};
CHAFFINCH_HOT Recentred recentre(std::int64_t n, float c1, float c2, float hold, float next_hold, float* u, float* w) {
    constexpr std::int64_t run = 4096; // short sums in float, added up in double
    using Floats = machine::Pack<float>;
    const float c = c2 + hold, next = 1 / (2 * (c2 + next_hold));
    const Floats none = {}, shrink = none + c1 / (2 * c), most = none + c1;
    Recentred found;
    for (std::int64_t from = 0; from < n; from += run) {
        Floats penalty = {}, held = {};
        const std::int64_t to = std::min(n, from + run);
        for (std::int64_t k = from; k < to; k += machine::lanes) {
            Floats v, z;
            machine::get(v, u + k), machine::get(z, w + k);
            if (!machine::any(machine::read_as<std::int32_t>(v) | machine::read_as<std::int32_t>(z))) continue;
            const Floats x = v - machine::within(v, shrink), g = 2 * c * v - 2 * hold * z, rest = machine::within(g, most);
            machine::put(u + k, next * (g + 2 * next_hold * x));
            if (!machine::any(machine::read_as<std::int32_t>(z) | (x != none) | (g != rest))) continue; // they add zero
            const Floats size = machine::select(x < none, -x, x), off = 2 * c2 * x - (g - rest);
            penalty += c1 * size + c2 * x * x;
            held += c1 * size - rest * x + off * off / (4 * c2);
            machine::put(w + k, x);
        }
        for (std::int64_t l = 0; l < machine::lanes; ++l) {
            found.penalty += static_cast<double>(penalty[l]);
            found.held += static_cast<double>(held[l]);
        }
    }
    return found;
}

CrfSdca::CrfSdca(const CrfShape& shape, const CrfData& data, const SdcaSettings& settings,
                 const std::uint8_t* trainable, float* nodes, float* pairs)
    : shape_(shape), data_(data), settings_(settings), trainable_(trainable), oracle_(shape, data), nodes_(nodes),
      pairs_(pairs), memory_(static_cast<std::size_t>(data.N())), repeats_(static_cast<std::size_t>(data.N())),
      order_(static_cast<std::size_t>(data.N())), random_(settings.seed) {
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    if (!nodes) {
        own_nodes_.resize(static_cast<std::size_t>(data.T() * shape.S()));
        own_pairs_.resize(static_cast<std::size_t>(data.N() * shape.Y * shape.S()));
        nodes_ = own_nodes_.data(), pairs_ = own_pairs_.data();
        start_at_gold();
    }
    hold_by(settings.hold);
    if (settings.c1 > 0 || settings.hold > 0) sums_.resize(static_cast<std::size_t>(shape.size()));
    if (!data.values) return;
    squares_.resize(static_cast<std::size_t>(data.T()));
    for (std::int64_t t = 0; t < data.T(); ++t)
        for (std::int64_t k = data.ptr[t]; k < data.ptr[t + 1]; ++k)
            squares_[t] += static_cast<double>(data.values[k]) * static_cast<double>(data.values[k]);
}

// The mean of v^2 over the features of a sentence; 1 without values.
double CrfSdca::mean_square(std::int64_t n) const {
    const std::int64_t begin = data_.begin(n), end = begin + data_.length(n), cells = data_.ptr[end] - data_.ptr[begin];
    if (squares_.empty() || cells == 0) return 1;
    return std::accumulate(squares_.begin() + begin, squares_.begin() + end, 0.0) / static_cast<double>(cells);
}

// Tokens of a sentence that share a feature, feature by feature; found at the first visit.
const CrfSdca::Repeats& CrfSdca::repeats(std::int64_t n) {
    Repeats& found = repeats_[static_cast<std::size_t>(n)];
    if (found.from >= 0) return found;
    if (uses_.empty()) uses_.resize(static_cast<std::size_t>(shape_.F));
    found.from = static_cast<std::int64_t>(shared_.size());
    shared_.push_back(static_cast<std::int64_t>(tokens_.size()));
    const std::int64_t begin = data_.begin(n), from = data_.ptr[begin], to = data_.ptr[begin + data_.length(n)];
    for (std::int64_t k = from; k < to; ++k) {
        Use& use = uses_[static_cast<std::size_t>(data_.ids[k])];
        use.uses = use.sentence == n ? use.uses + 1 : 1;
        use.sentence = n;
    }
    for (std::int64_t t = 0; t < data_.length(n); ++t)
        for (std::int64_t k = data_.ptr[begin + t]; k < data_.ptr[begin + t + 1]; ++k) {
            Use& use = uses_[static_cast<std::size_t>(data_.ids[k])];
            if (use.uses == 1) continue;
            if (use.uses > 1) { // the first: make room for all
                use.place = static_cast<std::int32_t>(tokens_.size());
                tokens_.resize(tokens_.size() + static_cast<std::size_t>(use.uses));
                if (data_.values) values_.resize(tokens_.size());
                shared_.push_back(static_cast<std::int64_t>(tokens_.size()));
                repeated_.push_back(data_.ids[k]);
                use.uses = -1;
            }
            if (data_.values) values_[static_cast<std::size_t>(use.place)] = data_.values[k];
            tokens_[static_cast<std::size_t>(use.place++)] = static_cast<std::int32_t>(t);
        }
    found.groups = static_cast<std::int64_t>(shared_.size()) - 1 - found.from;
    repeated_.push_back(-1); // as many as bounds
    return found;
}

// The excess of |F_n(d)|^2 over the sum of |d_t|^2 over tokens and features, which comes from shared features.
double CrfSdca::shared_length(std::int64_t n, const float* u, const float* d) {
    const auto [from, groups] = repeats(n);
    return shared_rows(std::span(shared_).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(groups + 1)),
                       tokens_.data(), values_.empty() ? nullptr : values_.data(), repeated_.data() + from,
                       shrink_ > 0 ? u : nullptr, nearly * shrink_, shape_.S(), d);
}

std::int64_t CrfSdca::bytes_needed(const CrfShape& shape, const CrfData& data) {
    return static_cast<std::int64_t>(sizeof(float)) * shape.S() * (data.T() + data.N() * shape.Y);
}

CrfSdca::State CrfSdca::state() const {
    State s;
    s.nodes.assign(nodes_, nodes_ + data_.T() * shape_.S());
    s.pairs.assign(pairs_, pairs_ + data_.N() * shape_.Y * shape_.S());
    s.order = order_;
    for (const Memory& m : memory_) {
        s.change.push_back(m.change);
        s.loss.push_back(m.loss);
        s.smaller.push_back(m.smaller);
        s.counts.push_back(m.met ? m.skipped : -1);
    }
    s.counts.push_back(passes_);
    s.counts.push_back(std::bit_cast<std::int64_t>(random_.state()));
    s.mean_change = mean_change_;
    return s;
}

void CrfSdca::restore(const StateView& s) {
    std::ranges::copy(s.nodes, nodes_);
    std::ranges::copy(s.pairs, pairs_);
    order_.assign(s.order.begin(), s.order.end());
    for (std::size_t n = 0; n < memory_.size(); ++n)
        memory_[n] = {s.change[n], s.loss[n], s.smaller[n],
                      static_cast<std::int8_t>(std::max<std::int64_t>(s.counts[n], 0)), s.counts[n] >= 0};
    passes_ = s.counts[memory_.size()];
    random_ = machine::Random(std::bit_cast<std::uint64_t>(s.counts[memory_.size() + 1]));
    mean_change_ = s.mean_change;
}

CrfSdca::Visits CrfSdca::visits() const {
    Visits v;
    for (const Memory& m : memory_) {
        v.change.push_back(m.change);
        v.loss.push_back(m.loss);
        v.smaller.push_back(m.smaller);
        v.met.push_back(m.met);
    }
    return v;
}

void CrfSdca::resume(const VisitsView& v) {
    for (std::size_t n = 0; n < memory_.size(); ++n)
        memory_[n] = {.change = v.change[n], .loss = v.loss[n], .smaller = v.smaller[n], .met = v.met[n] != 0};
}

void CrfSdca::hold_by(double hold) {
    settings_.hold = hold;
    strength_ = settings_.c2 + hold;
    shrink_ = static_cast<float>(settings_.c1 / (2 * strength_));
}

void CrfSdca::restore(const Held& held) {
    std::ranges::copy(held.sums, sums_.begin());
    hold_by(held.hold);
    moved_ = held.moved, held_ = held.held;
}

void CrfSdca::start_at_gold() {
    const std::int64_t S = shape_.S(), Y = shape_.Y;
    for (std::int64_t n = 0; n < data_.N(); ++n) {
        const std::int64_t begin = data_.begin(n), T = data_.length(n);
        float* nodes = node_marginals(n);
        float* pairs = pair_marginals(n);
        for (std::int64_t t = 0; t < T; ++t) {
            if (!data_.soft) {
                nodes[t * S + data_.y[begin + t]] = 1;
                if (t > 0) pairs[data_.y[begin + t - 1] * S + data_.y[begin + t]] += 1;
                continue;
            }
            const float* q = data_.soft + (begin + t) * Y;
            const float* before = q - Y;
            std::copy_n(q, Y, nodes + t * S);
            for (std::int64_t a = 0; t > 0 && a < Y; ++a)
                for (std::int64_t b = 0; b < Y; ++b) pairs[a * S + b] += before[a] * q[b];
        }
    }
}

SdcaPass CrfSdca::pass(float* w) {
    machine::shuffle(std::span(order_), random_);
    const bool choosing = settings_.skip_quiet && passes_ >= 2;
    std::vector<std::int64_t> chosen;
    for (const std::int64_t n : order_) {
        Memory& memory = memory_[n];
        const bool skipped = choosing && memory.met && memory.skipped < 2 &&
                           static_cast<double>(memory.change) < 0.1 * mean_change_;
        memory.skipped = static_cast<std::int8_t>(skipped ? memory.skipped + 1 : 0);
        if (!skipped && data_.length(n) > 0) chosen.push_back(n);
    }
    SdcaPass record;
    float* u = sums_.empty() ? w : sums_.data();
    const auto visit_chosen = [&] {
        for (const std::int64_t n : chosen) {
            machine::check_stop();
            prefetch(node_marginals(n), data_.length(n) * shape_.S());
            prefetch(pair_marginals(n), shape_.Y * shape_.S());
            if (shrink_ > 0)
                oracle_.weigh_shrunk(u, shrink_, nearly * shrink_);
            else
                oracle_.weigh(u);
            const float step = visit(n, u);
            if (step != 0) add_parts(shape_, data_, n, parts_, step, trainable_, u);
        }
        record.visited += static_cast<std::int64_t>(chosen.size());
    };
    const auto N = static_cast<double>(std::max<std::int64_t>(data_.N(), 1));
    visit_chosen();
    if (choosing) {
        const double mean = total_change() / N;
        chosen.clear();
        for (const std::int64_t n : order_)
            if (static_cast<double>(memory_[n].change) > loud * mean) chosen.push_back(n);
        if (static_cast<std::int64_t>(chosen.size()) * few < data_.N())
            for (int again = 0; again < more_visits; ++again) visit_chosen();
    }
    ++passes_;
    const double change = total_change();
    record.loss = total_loss();
    mean_change_ = change / N;
    record.moved = change / 2;
    if (sums_.empty()) {
        record.penalty = settings_.c2 * squared_norm(shape_.size(), w);
        return record;
    }
    double hold = settings_.hold;
    if (passes_ > 2 && record.moved > slow * moved_ && record.moved > held_)
        hold = std::max(tighter * hold, settings_.c2);
    else if (record.moved < idle * held_)
        hold /= tighter;
    moved_ = record.moved;
    const Recentred found = recentre(shape_.size(), static_cast<float>(settings_.c1), static_cast<float>(settings_.c2),
                                     static_cast<float>(settings_.hold), static_cast<float>(hold), u, w);
    hold_by(hold);
    record.penalty = found.penalty;
    record.held = held_ = found.held;
    return record;
}

double CrfSdca::total_change() const {
    double sum = 0;
    for (const Memory& memory : memory_) sum += static_cast<double>(memory.change);
    return sum;
}

double CrfSdca::total_loss() const {
    double sum = 0;
    for (const Memory& memory : memory_) sum += static_cast<double>(memory.loss);
    return sum;
}

SdcaPass CrfSdca::settle_loudest(std::int64_t count, float* w) {
    std::vector<std::int64_t> loudest(memory_.size());
    std::iota(loudest.begin(), loudest.end(), std::int64_t{0});
    count = std::clamp(count, std::int64_t{0}, data_.N());
    std::ranges::partial_sort(loudest, loudest.begin() + count, [&](std::int64_t a, std::int64_t b) {
        return memory_[a].change != memory_[b].change ? memory_[a].change > memory_[b].change : a < b;
    });
    loudest.resize(static_cast<std::size_t>(count));
    settle(loudest, 1, w);
    return {.loss = total_loss(), .moved = total_change() / 2, .visited = count};
}

// Calls see(n, T, loss) for each sentence of T > 0 tokens, with its marginals under w in parts_.
template <typename See> void CrfSdca::each_under(const float* w, const See& see) {
    oracle_.weigh(w);
    for (std::int64_t n = 0; n < data_.N(); ++n) {
        const std::int64_t T = data_.length(n);
        if (T == 0) continue;
        machine::check_stop();
        oracle_.score(n);
        const double k_n = static_cast<double>(data_.importance(n));
        see(n, T, static_cast<float>(k_n * (oracle_.log_z(&parts_) - oracle_.gold(nullptr))));
    }
}

void CrfSdca::start_at(const float* w) {
    const std::int64_t S = shape_.S();
    each_under(w, [&](std::int64_t n, std::int64_t T, float loss) {
        std::copy_n(parts_.nodes.data(), T * S, node_marginals(n));
        std::copy_n(parts_.chain.data(), shape_.Y * S, pair_marginals(n));
        memory_[n] = {.loss = loss, .met = true};
    });
}

SdcaPass CrfSdca::measure(const float* w) {
    each_under(w, [&](std::int64_t n, std::int64_t T, float loss) {
        const Change change = node_change(T, shape_.S(), data_.ptr.data() + data_.begin(n), nullptr, node_marginals(n),
                                          static_cast<float>(settings_.still), parts_.nodes.data());
        memory_[n].loss = loss;
        memory_[n].change = static_cast<float>(std::max(0.0, change.K * static_cast<double>(data_.importance(n))));
    });
    return {.loss = total_loss(), .moved = total_change() / 2};
}

void CrfSdca::settle(std::span<const std::int64_t> sentences, int times, float* w) {
    for (int again = 0; again < times; ++again)
        for (const std::int64_t n : sentences) {
            if (data_.length(n) == 0) continue;
            machine::check_stop();
            oracle_.weigh(w);
            const float step = visit(n, w);
            if (step != 0) add_parts(shape_, data_, n, parts_, step, trainable_, w);
        }
}

void CrfSdca::add_weights(float* w) {
    const std::int64_t S = shape_.S();
    oracle_.weigh(w);
    for (std::int64_t n = 0; n < data_.N(); ++n) {
        const std::int64_t T = data_.length(n);
        if (T == 0) continue;
        oracle_.choose(n);
        oracle_.gold(&parts_); // sizes parts_ and fills in the gold parts
        float* d = parts_.nodes.data();
        float* d_pairs = parts_.chain.data();
        for (std::int64_t k = 0; k < T * S; ++k) d[k] -= node_marginals(n)[k];
        for (std::int64_t k = 0; k < shape_.Y * S; ++k) d_pairs[k] -= pair_marginals(n)[k];
        std::copy_n(d, S, d_pairs + (shape_.start() - shape_.pair()));
        std::copy_n(d + (T - 1) * S, S, d_pairs + (shape_.end() - shape_.pair()));
        const double k_n = static_cast<double>(data_.importance(n));
        add_parts(shape_, data_, n, parts_, static_cast<float>(k_n / (2 * settings_.c2)), trainable_, w);
    }
}

// parts = d, m_n += g d; returns the step by which d moves u, 0 if nothing moves.
float CrfSdca::visit(std::int64_t n, const float* u) {
    const std::int64_t S = shape_.S(), T = data_.length(n);
    const double k_n = static_cast<double>(data_.importance(n));
    Memory& memory = memory_[n];
    oracle_.score(n);
    memory.loss = static_cast<float>(k_n * (oracle_.log_z(&parts_) - oracle_.gold(nullptr)));

    float* m = node_marginals(n);
    float* m_pairs = pair_marginals(n);
    float* d = parts_.nodes.data();
    float* d_pairs = parts_.chain.data();
    Change change = node_change(T, S, data_.ptr.data() + data_.begin(n),
                                squares_.empty() ? nullptr : squares_.data() + data_.begin(n), m,
                                static_cast<float>(settings_.still), d);
    if (memory.met && change.K * k_n < settings_.quiet) {
        memory.change = static_cast<float>(std::max(0.0, change.K * k_n));
        return 0;
    }
    if (shrink_ > 0) change.B = active_square(T * S, oracle_.active(), d);
    change.B += pair_change(shape_.Y * S, m_pairs, d_pairs) + shared_length(n, u, d);

    double g = std::min(0.5, settings_.first_rate * strength_ / (k_n * std::max(1.0, mean_square(n))));
    if (memory.met) {
        const bool rose = change.K * k_n > worse * static_cast<double>(memory.change);
        memory.smaller = rose ? std::min(raised * memory.smaller, most_raised) : std::max(lowered * memory.smaller, 1.0f);
        const double factor = settings_.factor * static_cast<double>(memory.smaller);
        g = change.K / (change.K + factor * k_n * std::max(change.B, 0.0) / (2 * strength_));
    }
    memory.met = true;
    memory.change = static_cast<float>(std::max(0.0, change.K * k_n));
    if (!(change.K > 0)) return 0;

    const auto part = static_cast<float>(g);
    move(T * S, d, part, m);
    move(shape_.Y * S, d_pairs, part, m_pairs);
    std::copy_n(d, S, d_pairs + (shape_.start() - shape_.pair()));
    std::copy_n(d + (T - 1) * S, S, d_pairs + (shape_.end() - shape_.pair()));
    return static_cast<float>(-g * k_n / (2 * strength_));
}

} // namespace chaffinch::learners
