#include "crf_sdca.hpp"

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

constexpr float least = 1e-7f; // probabilities are not read below this

// A sentence whose K has more than doubled since its last visit takes smaller steps, down to a fourth.
constexpr double worse = 2;
constexpr float raised = 1.5f, lowered = 0.8f, most_raised = 4;

// Sentences with more than `loud` times the mean K, if they are fewer than one in `few`, are visited so many times more.
constexpr double loud = 4;
constexpr std::int64_t few = 16;
constexpr int more_visits = 4;

void prefetch(const float* from, std::int64_t n) {
    for (std::int64_t k = 0; k < n; k += 16) __builtin_prefetch(from + k, 1);
}

} // namespace

// fresh := d = fresh - m, zero rows where nothing moved by `still`; K and B of the nodes. T rows of S.
// squares [T]: |phi_t|^2; null: as many as the token has features.
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

// Sum over groups of tokens of |sum of d_t|^2 - sum of |d_t|^2, each d_t times its value.
template <bool valued>
CHAFFINCH_INLINE double sum_shared(std::span<const std::int64_t> ptr, const std::int32_t* tokens,
                                   [[maybe_unused]] const float* values, std::int64_t S, const float* d) {
    double total = 0;
    for (std::size_t k = 0; k + 1 < ptr.size(); ++k) {
        float product[machine::lanes] = {};
        for (std::int64_t y = 0; y < S; y += machine::lanes) {
            float sum[machine::lanes] = {};
            for (std::int64_t i = ptr[k]; i < ptr[k + 1]; ++i) {
                const float* __restrict row = d + tokens[i] * S + y;
                for (std::int64_t l = 0; l < machine::lanes; ++l) {
                    const float here = valued ? values[i] * row[l] : row[l];
                    product[l] += sum[l] * here;
                    sum[l] += here;
                }
            }
        }
        for (const float p : product) total += static_cast<double>(p);
    }
    return 2 * total;
}

// values: beside tokens; null: all are 1
CHAFFINCH_HOT double shared_rows(std::span<const std::int64_t> ptr, const std::int32_t* tokens, const float* values,
                                 std::int64_t S, const float* d) {
    return values ? sum_shared<true>(ptr, tokens, values, S, d) : sum_shared<false>(ptr, tokens, nullptr, S, d);
}

CrfSdca::CrfSdca(const CrfShape& shape, const CrfData& data, const SdcaSettings& settings,
                 const std::uint8_t* trainable)
    : shape_(shape), data_(data), settings_(settings), trainable_(trainable), oracle_(shape, data),
      nodes_(static_cast<std::size_t>(data.T() * shape.S())),
      pairs_(static_cast<std::size_t>(data.N() * shape.Y * shape.S())), memory_(static_cast<std::size_t>(data.N())),
      order_(static_cast<std::size_t>(data.N())), random_(settings.seed) {
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    start_at_gold();
    find_repeats();
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

// Tokens of a sentence that share a feature, feature by feature.
void CrfSdca::find_repeats() {
    std::vector<std::int64_t> sentence(static_cast<std::size_t>(shape_.F), -1); // that had the feature last
    std::vector<std::int32_t> uses(static_cast<std::size_t>(shape_.F)), place(static_cast<std::size_t>(shape_.F));
    groups_.assign(1, 0);
    shared_.assign(1, 0);
    for (std::int64_t n = 0; n < data_.N(); ++n) {
        const std::int64_t begin = data_.begin(n), from = data_.ptr[begin], to = data_.ptr[begin + data_.length(n)];
        for (std::int64_t k = from; k < to; ++k) {
            const auto f = static_cast<std::size_t>(data_.ids[k]);
            uses[f] = sentence[f] == n ? uses[f] + 1 : 1;
            sentence[f] = n;
        }
        for (std::int64_t t = 0; t < data_.length(n); ++t)
            for (std::int64_t k = data_.ptr[begin + t]; k < data_.ptr[begin + t + 1]; ++k) {
                const auto f = static_cast<std::size_t>(data_.ids[k]);
                if (uses[f] == 1) continue;
                if (uses[f] > 1) { // its first use: make room for all
                    place[f] = static_cast<std::int32_t>(tokens_.size());
                    tokens_.resize(tokens_.size() + static_cast<std::size_t>(uses[f]));
                    if (data_.values) values_.resize(tokens_.size());
                    shared_.push_back(static_cast<std::int64_t>(tokens_.size()));
                    uses[f] = -1;
                }
                if (data_.values) values_[static_cast<std::size_t>(place[f])] = data_.values[k];
                tokens_[static_cast<std::size_t>(place[f]++)] = static_cast<std::int32_t>(t);
            }
        groups_.push_back(static_cast<std::int64_t>(shared_.size()) - 1);
    }
}

// By how much |F_n(d)|^2 exceeds the sum of |d_t|^2 over tokens and features, because tokens share features.
double CrfSdca::shared_length(std::int64_t n, const float* d) const {
    return shared_rows(std::span(shared_).subspan(static_cast<std::size_t>(groups_[n]),
                                                  static_cast<std::size_t>(groups_[n + 1] - groups_[n] + 1)),
                       tokens_.data(), values_.empty() ? nullptr : values_.data(), shape_.S(), d);
}

std::int64_t CrfSdca::bytes_needed(const CrfShape& shape, const CrfData& data) {
    return static_cast<std::int64_t>(sizeof(float)) * shape.S() * (data.T() + data.N() * shape.Y);
}

CrfSdca::State CrfSdca::state() const {
    State s;
    s.nodes.assign(nodes_.begin(), nodes_.end());
    s.pairs.assign(pairs_.begin(), pairs_.end());
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

void CrfSdca::restore(const State& s) {
    std::ranges::copy(s.nodes, nodes_.begin());
    std::ranges::copy(s.pairs, pairs_.begin());
    order_ = s.order;
    for (std::size_t n = 0; n < memory_.size(); ++n)
        memory_[n] = {s.change[n], s.loss[n], s.smaller[n],
                      static_cast<std::int8_t>(std::max<std::int64_t>(s.counts[n], 0)), s.counts[n] >= 0};
    passes_ = s.counts[memory_.size()];
    random_ = machine::Random(std::bit_cast<std::uint64_t>(s.counts[memory_.size() + 1]));
    mean_change_ = s.mean_change;
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
        const bool quiet = choosing && memory.met && memory.skipped < 2 &&
                           static_cast<double>(memory.change) < 0.1 * mean_change_;
        memory.skipped = static_cast<std::int8_t>(quiet ? memory.skipped + 1 : 0);
        if (!quiet && data_.length(n) > 0) chosen.push_back(n);
    }
    SdcaPass record;
    const auto visit_chosen = [&] {
        for (const std::int64_t n : chosen) {
            machine::check_stop();
            prefetch(node_marginals(n), data_.length(n) * shape_.S());
            prefetch(pair_marginals(n), shape_.Y * shape_.S());
            oracle_.weigh(w);
            const float step = visit(n);
            if (step != 0) add_parts(shape_, data_, n, parts_, step, trainable_, w);
        }
        record.visited += static_cast<std::int64_t>(chosen.size());
    };
    const auto total_change = [&] {
        double sum = 0;
        for (const Memory& memory : memory_) sum += static_cast<double>(memory.change);
        return sum;
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
    for (const Memory& memory : memory_) record.loss += static_cast<double>(memory.loss);
    mean_change_ = change / N;
    record.moved = change / 2;
    record.penalty = settings_.c2 * squared_norm(shape_.size(), w);
    return record;
}

void CrfSdca::settle(std::span<const std::int64_t> sentences, int times, float* w) {
    for (int again = 0; again < times; ++again)
        for (const std::int64_t n : sentences) {
            if (data_.length(n) == 0) continue;
            machine::check_stop();
            oracle_.weigh(w);
            const float step = visit(n);
            if (step != 0) add_parts(shape_, data_, n, parts_, step, trainable_, w);
        }
}

void CrfSdca::add_weights(float* w) {
    const std::int64_t S = shape_.S();
    oracle_.weigh(w);
    for (std::int64_t n = 0; n < data_.N(); ++n) {
        const std::int64_t T = data_.length(n);
        if (T == 0) continue;
        oracle_.score(n);
        oracle_.gold(&parts_); // makes room for the parts, and leaves the gold ones there
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

// parts = d, m_n += g d; the step by which d moves w, 0 if nothing moves.
float CrfSdca::visit(std::int64_t n) {
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
    change.B += pair_change(shape_.Y * S, m_pairs, d_pairs) + shared_length(n, d);

    double g = std::min(0.5, settings_.first_rate * settings_.c2 / (k_n * std::max(1.0, mean_square(n))));
    if (memory.met) {
        const bool rose = change.K * k_n > worse * static_cast<double>(memory.change);
        memory.smaller = rose ? std::min(raised * memory.smaller, most_raised) : std::max(lowered * memory.smaller, 1.0f);
        const double factor = settings_.factor * static_cast<double>(memory.smaller);
        g = change.K / (change.K + factor * k_n * change.B / (2 * settings_.c2));
    }
    memory.met = true;
    memory.change = static_cast<float>(std::max(0.0, change.K * k_n));
    if (!(change.K > 0)) return 0;

    const auto part = static_cast<float>(g);
    move(T * S, d, part, m);
    move(shape_.Y * S, d_pairs, part, m_pairs);
    std::copy_n(d, S, d_pairs + (shape_.start() - shape_.pair()));
    std::copy_n(d + (T - 1) * S, S, d_pairs + (shape_.end() - shape_.pair()));
    return static_cast<float>(-g * k_n / (2 * settings_.c2));
}

} // namespace chaffinch::learners
