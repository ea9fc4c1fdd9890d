#include "crf_sdca.hpp"

#include "clones.hpp"
#include "crf_update.hpp"
#include "log.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace chaffinch {

namespace {

constexpr std::size_t sentences_in_a_run = 512;
constexpr float least = 1e-7f; // probabilities are not read below this

void prefetch(const float* from, std::int64_t n) {
    for (std::int64_t k = 0; k < n; k += 16) __builtin_prefetch(from + k, 1);
}

} // namespace

// fresh := d = fresh - m, zero rows where nothing moved by `still`; K and B of the nodes. T rows of S.
CHAFFINCH_HOT SdcaChange node_change(std::int64_t T, std::int64_t S, const std::int64_t* ptr, const float* m,
                                     float still, float* fresh) {
    SdcaChange change;
    for (std::int64_t t = 0; t < T; ++t) {
        const float* __restrict stored = m + t * S;
        float* __restrict row = fresh + t * S;
        float most[lanes] = {}, k[lanes] = {}, square[lanes] = {};
        for (std::int64_t y = 0; y < S; y += lanes)
            for (std::int64_t l = 0; l < lanes; ++l) {
                const float p = row[y + l], q = stored[y + l];
                const float d = p - q, size = d < 0 ? -d : d;
                most[l] = size > most[l] ? size : most[l];
                k[l] += d * row_log((p > least ? p : least) / (q > least ? q : least));
                square[l] += d * d;
                row[y + l] = d;
            }
        float top = 0, K = 0, B = 0;
        for (std::int64_t l = 0; l < lanes; ++l) {
            top = most[l] > top ? most[l] : top;
            K += k[l], B += square[l];
        }
        if (top < still) {
            for (std::int64_t y = 0; y < S; ++y) row[y] = 0;
            continue;
        }
        const auto features = static_cast<double>(ptr[t + 1] - ptr[t] + (t == 0) + (t == T - 1));
        change.K += static_cast<double>(K);
        change.B += features * static_cast<double>(B);
    }
    return change;
}

// fresh := fresh - m; the sum of its squares.
CHAFFINCH_HOT double pair_change(std::int64_t n, const float* m, float* fresh) {
    float square[lanes] = {};
    for (std::int64_t k = 0; k < n; k += lanes)
        for (std::int64_t l = 0; l < lanes; ++l) {
            const float d = fresh[k + l] - m[k + l];
            square[l] += d * d;
            fresh[k + l] = d;
        }
    double sum = 0;
    for (const float s : square) sum += static_cast<double>(s);
    return sum;
}

CrfSdca::CrfSdca(const CrfShape& shape, const CrfData& data, const SdcaSettings& settings,
                 const std::uint8_t* trainable)
    : shape_(shape), data_(data), settings_(settings), trainable_(trainable), oracle_(shape, data),
      nodes_(static_cast<std::size_t>(data.T() * shape.S())),
      pairs_(static_cast<std::size_t>(data.N() * shape.Y * shape.S())), memory_(static_cast<std::size_t>(data.N())),
      order_(static_cast<std::size_t>(data.N())), random_(settings.seed) {
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    start_at_gold();
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
        memory_[n] = {s.change[n], s.loss[n], static_cast<std::int8_t>(std::max<std::int64_t>(s.counts[n], 0)), s.counts[n] >= 0};
    passes_ = s.counts[memory_.size()];
    random_ = Random(std::bit_cast<std::uint64_t>(s.counts[memory_.size() + 1]));
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

SdcaPass CrfSdca::pass(float* w, std::size_t threads) {
    shuffle(std::span(order_), random_);
    const bool skipping = settings_.skip_quiet && passes_ >= 2;
    std::vector<std::int64_t> visited;
    for (const std::int64_t n : order_) {
        Memory& memory = memory_[n];
        const bool quiet = skipping && static_cast<double>(memory.change) < 0.1 * mean_change_ && memory.skipped < 2;
        memory.skipped = static_cast<std::int8_t>(quiet ? memory.skipped + 1 : 0);
        if (!quiet && data_.length(n) > 0) visited.push_back(n);
    }
    for (std::size_t from = 0; from < visited.size(); from += sentences_in_a_run) {
        const auto some = std::span(visited).subspan(from, std::min(sentences_in_a_run, visited.size() - from));
        partners_.run(
            threads, [&](int k) { ascend(some, k, k + 1, w); }, [&] { ascend(some, 0, 2, w); });
    }
    ++passes_;
    SdcaPass record;
    double change = 0;
    for (const Memory& memory : memory_) {
        change += static_cast<double>(memory.change);
        record.loss += static_cast<double>(memory.loss);
    }
    record.visited = static_cast<std::int64_t>(visited.size());
    mean_change_ = change / static_cast<double>(std::max<std::int64_t>(data_.N(), 1));
    record.moved = change / 2;
    record.penalty = settings_.c2 * squared_norm(shape_.size(), w);
    return record;
}

// Visits the sentences. Of two threads one has [first, last) = [0, 1): the first half of the features, the chain and its
// marginals; the other has [1, 2): the second half and the marginals of the tokens. One alone has [0, 2), all of it.
void CrfSdca::ascend(std::span<const std::int64_t> sentences, int first, int last, float* w) {
    const bool has_chain = first == 0, has_nodes = last == 2;
    const auto still = static_cast<float>(settings_.still);
    const std::int64_t S = shape_.S();
    const auto meet = [&] {
        if (!(has_chain && has_nodes)) partners_.wait();
    };
    for (std::size_t v = 0; v < sentences.size(); ++v) {
        const std::int64_t n = sentences[v], T = data_.length(n);
        if (has_nodes) prefetch(node_marginals(n), T * S);
        if (has_chain) prefetch(pair_marginals(n), shape_.Y * S);
        for (int h = first; h < last; ++h) {
            halves_[h].take(data_, sentences.subspan(v, 1));
            halves_[h].score(w, S);
        }
        if (has_chain) oracle_.weigh(w);
        meet();
        if (has_chain) expect(n);
        meet();
        const auto k_n = static_cast<double>(data_.importance(n));
        float* d = parts_.nodes.data();
        if (has_nodes)
            change_ = node_change(T, S, data_.ptr.data() + data_.begin(n), node_marginals(n), still, d);
        if (has_chain) pair_square_ = pair_change(shape_.Y * S, pair_marginals(n), parts_.chain.data());
        meet();
        if (has_chain) memory_[n].change = static_cast<float>(std::max(0.0, change_.K * k_n));
        if (!(change_.K > 0)) continue;
        const double g = share(k_n);
        const auto part = static_cast<float>(g), step = static_cast<float>(-g * k_n / (2 * settings_.c2));
        if (has_nodes) move(T * S, d, part, node_marginals(n));
        if (has_chain) {
            move(shape_.Y * S, parts_.chain.data(), part, pair_marginals(n));
            std::copy_n(d, S, parts_.chain.data() + (shape_.start() - shape_.pair()));
            std::copy_n(d + (T - 1) * S, S, parts_.chain.data() + (shape_.end() - shape_.pair()));
            add_chain(shape_, data_, n, parts_, step, trainable_, w);
        }
        for (int h = first; h < last; ++h) halves_[h].add(0, d, step, trainable_, w);
    }
}

// parts = p, and the loss.
void CrfSdca::expect(std::int64_t n) {
    oracle_.score(n, halves_[0].scores(0), halves_[1].scores(0));
    const double loss = oracle_.log_z(&parts_) - oracle_.gold(nullptr);
    memory_[n].loss = static_cast<float>(static_cast<double>(data_.importance(n)) * loss);
    first_visit_ = !std::exchange(memory_[n].met, true);
}

// g, the share of the way from m to p.
double CrfSdca::share(double k_n) const {
    if (first_visit_) return std::min(0.5, settings_.first_rate * settings_.c2 / k_n);
    const double B = change_.B + pair_square_;
    return change_.K / (change_.K + settings_.factor * k_n * B / (2 * settings_.c2));
}

} // namespace chaffinch
