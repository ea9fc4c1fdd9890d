#include "crf_sgd.hpp"

#include "clones.hpp"
#include "crf_update.hpp"
#include "stop.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace chaffinch::learners {

namespace {

constexpr std::int64_t blocks_in_a_run = 64;

} // namespace

// a -= b
CHAFFINCH_HOT void subtract(std::int64_t n, const float* b, float* a) {
    for (std::int64_t k = 0; k < n; ++k) a[k] -= b[k];
}

// w *= s for trained weights
CHAFFINCH_HOT void rescale(std::int64_t n, float s, const std::uint8_t* trainable, float* w) {
    if (trainable)
        for (std::int64_t k = 0; k < n; ++k) w[k] = trainable[k] ? s * w[k] : w[k];
    else
        for (std::int64_t k = 0; k < n; ++k) w[k] *= s;
}

CrfSgd::CrfSgd(const CrfShape& shape, const CrfData& data, const CrfSgdSettings& settings, const std::uint8_t* trainable)
    : shape_(shape), data_(data), settings_(settings), trainable_(trainable),
      workers_{Worker(shape, data, 0), Worker(shape, data, 1)}, order_(static_cast<std::size_t>(data.N())),
      random_(settings.seed) {
    if (settings_.sentences == 0) settings_.sentences = data.N();
    settings_.block = data.block(settings.block, settings_.sentences);
    parts_.resize(static_cast<std::size_t>(settings_.block));
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
}

std::vector<std::int64_t> CrfSgd::state() const {
    std::vector<std::int64_t> s(order_);
    s.push_back(met_);
    s.push_back(std::bit_cast<std::int64_t>(random_.state()));
    return s;
}

void CrfSgd::restore(std::span<const std::int64_t> s) {
    std::copy_n(s.begin(), order_.size(), order_.begin());
    met_ = s[order_.size()];
    random_ = machine::Random(std::bit_cast<std::uint64_t>(s[order_.size() + 1]));
}

double CrfSgd::epoch(float* w, std::size_t threads) {
    machine::shuffle(std::span(order_), random_);
    double scale = 1;
    const double loss = part(order_, met_, scale, w, threads);
    met_ += data_.N();
    rescale(shape_.size(), static_cast<float>(scale), trainable_, w);
    return loss;
}

double CrfSgd::part(std::span<const std::int64_t> order, std::int64_t met, double& scale, float* w, std::size_t threads) {
    const auto n = static_cast<std::int64_t>(order.size());
    DecayingSteps steps(settings_.rate, settings_.c2, settings_.sentences, settings_.epochs, scale);
    next_ = 0;
    steps_.resize(order.size());
    scales_.resize(order.size());
    losses_.assign(order.size(), 0.0);
    for (std::int64_t from = 0; from < n;) {
        if (steps.worn()) {
            rescale(shape_.size(), static_cast<float>(steps.scale()), trainable_, w);
            steps.renew();
        }
        const std::int64_t planned = plan(order, from, met, steps);
        while (from < planned) {
            const std::int64_t to = std::min(planned, from + blocks_in_a_run * settings_.block);
            std::array<std::int64_t, 2> reached{};
            partners_.run(
                threads, [&](int k) { reached[k] = descend_half(order, from, to, k, w); },
                [&] { reached[0] = descend(order, from, to, w); });
            from = reached[0];
        }
    }
    scale = steps.scale();
    return std::accumulate(losses_.begin(), losses_.end(), 0.0);
}

// Plans steps and scales of the sentences from `from` to the end, or to the point where w has to be rescaled.
std::int64_t CrfSgd::plan(std::span<const std::int64_t> order, std::int64_t from, std::int64_t& met, DecayingSteps& steps) {
    const auto n = static_cast<std::int64_t>(order.size());
    std::int64_t i = from;
    for (; i < n; ++i, ++met) {
        if ((i - from) % settings_.block == 0 && steps.worn()) break;
        scales_[i] = static_cast<float>(steps.scale());
        if (data_.length(order[i]) == 0) continue;
        steps_[i] = steps.step(met, static_cast<double>(data_.importance(order[i])));
    }
    return i;
}

// Descends on the sentences of order [from, to), block by block; returns how far it came.
std::int64_t CrfSgd::descend(std::span<const std::int64_t> order, std::int64_t from, std::int64_t to, float* w) {
    Worker& mine = workers_[0];
    for (; from < to; from = std::min(to, from + settings_.block)) {
        machine::check_stop();
        const auto size = static_cast<std::size_t>(std::min(to - from, settings_.block));
        const auto block = order.subspan(static_cast<std::size_t>(from), size);
        mine.oracle.weigh(w, scales_[from]);
        for (std::size_t i = 0; i < size; ++i) {
            if (data_.length(block[i]) == 0) continue;
            mine.oracle.score_by_halves(block[i]);
            losses_[from + static_cast<std::int64_t>(i)] = loss(block[i], i, mine);
        }
        for (std::size_t i = 0; i < size; ++i)
            if (data_.length(block[i]) > 0)
                add_parts(shape_, data_, block[i], parts_[i], steps_[from + static_cast<std::int64_t>(i)], trainable_, w);
    }
    return from;
}

// The same with half h of the features; the other thread has the other half, and both share the sentences until
// Partners ends the run.
std::int64_t CrfSgd::descend_half(std::span<const std::int64_t> order, std::int64_t from, std::int64_t to, int h, float* w) {
    Worker& mine = workers_[h];
    for (bool together = true; from < to && together; from = std::min(to, from + settings_.block)) {
        machine::check_stop();
        const auto size = static_cast<std::size_t>(std::min(to - from, settings_.block));
        const auto block = order.subspan(static_cast<std::size_t>(from), size);
        mine.half.take(data_, block);
        mine.half.score(w, shape_.S());
        partners_.wait();
        mine.oracle.weigh(w, scales_[from]);
        for (std::size_t i = next_++; i < size; i = next_++) {
            if (data_.length(block[i]) == 0) continue;
            mine.oracle.score(block[i], workers_[0].half.scores(i), workers_[1].half.scores(i));
            losses_[from + static_cast<std::int64_t>(i)] = loss(block[i], i, mine);
        }
        together = partners_.wait();
        if (h == 0) next_ = 0;
        for (std::size_t i = 0; i < size; ++i) {
            if (data_.length(block[i]) == 0) continue;
            const float step = steps_[from + static_cast<std::int64_t>(i)];
            mine.half.add(i, parts_[i].nodes.data(), step, trainable_, w);
            if (h == 0) add_chain(shape_, data_, block[i], parts_[i], step, trainable_, w);
        }
    }
    return from;
}

// parts = expected - gold of sentence n, the i-th of its block, which the oracle has scored; its loss.
double CrfSgd::loss(std::int64_t n, std::size_t i, Worker& mine) {
    const std::int64_t T = data_.length(n);
    CrfOracle<float>& oracle = mine.oracle;
    const CrfParts<float>& gold = mine.gold;
    CrfParts<float>& parts = parts_[i];
    const double loss = oracle.log_z(&parts) - oracle.gold(&mine.gold);
    subtract(T * shape_.S(), gold.nodes.data(), parts.nodes.data());
    subtract(shape_.chain_size(), gold.chain.data(), parts.chain.data());
    if (!shape_.observations.empty())
        subtract((T - 1) * shape_.Y * shape_.Y, gold.bigrams.data(), parts.bigrams.data());
    return static_cast<double>(data_.importance(n)) * loss;
}

} // namespace chaffinch::learners
