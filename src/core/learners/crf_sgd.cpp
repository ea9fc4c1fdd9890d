#include "crf_sgd.hpp"

#include "clones.hpp"
#include "crf_update.hpp"

#include <algorithm>
#include <bit>

namespace chaffinch {

// a -= b
CHAFFINCH_HOT void subtract(std::int64_t n, const float* b, float* a) {
    for (std::int64_t k = 0; k < n; ++k) a[k] -= b[k];
}

// w *= s, where trained
CHAFFINCH_HOT void rescale(std::int64_t n, float s, const std::uint8_t* trainable, float* w) {
    if (trainable)
        for (std::int64_t k = 0; k < n; ++k) w[k] = trainable[k] ? s * w[k] : w[k];
    else
        for (std::int64_t k = 0; k < n; ++k) w[k] *= s;
}

CrfSgd::CrfSgd(const CrfShape& shape, const CrfData& data, const SgdSettings& settings, const std::uint8_t* trainable)
    : shape_(shape), data_(data), settings_(settings), trainable_(trainable), oracle_(shape, data),
      parts_(static_cast<std::size_t>(settings.block)),
      order_(static_cast<std::size_t>(data.N())), random_(settings.seed) {
    settings_.block = data.block(settings.block);
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
    random_ = Random(std::bit_cast<std::uint64_t>(s[order_.size() + 1]));
}

double CrfSgd::epoch(float* w) {
    shuffle(std::span(order_), random_);
    const auto N = static_cast<double>(data_.N());
    const double lambda = 2 * settings_.c2 / N, steps = N * static_cast<double>(settings_.epochs);
    double scale = 1, loss = 0;
    for (std::int64_t from = 0; from < data_.N(); from += settings_.block) {
        const std::int64_t to = std::min(data_.N(), from + settings_.block);
        oracle_.weigh(w, static_cast<float>(scale));
        for (std::int64_t i = from; i < to; ++i)
            if (data_.length(order_[i]) > 0) loss += score(order_[i], parts_[i - from]);
        for (std::int64_t i = from; i < to; ++i, ++met_) {
            const std::int64_t n = order_[i];
            if (data_.length(n) == 0) continue;
            const double eta = settings_.rate * std::max(0.0, 1 - static_cast<double>(met_) / steps);
            scale *= 1 - eta * lambda;
            const double step = -eta * static_cast<double>(data_.importance(n)) / scale;
            add_parts(shape_, data_, n, parts_[i - from], static_cast<float>(step), trainable_, w);
        }
        if (scale < 1e-4) rescale(shape_.size(), static_cast<float>(scale), trainable_, w), scale = 1;
    }
    rescale(shape_.size(), static_cast<float>(scale), trainable_, w);
    return loss;
}

// parts = expected - gold of sentence n; its loss.
double CrfSgd::score(std::int64_t n, CrfParts<float>& parts) {
    const std::int64_t T = data_.length(n);
    oracle_.score(n);
    const double loss = oracle_.log_z(&parts) - oracle_.gold(&gold_);
    subtract(T * shape_.S(), gold_.nodes.data(), parts.nodes.data());
    subtract(shape_.chain_size(), gold_.chain.data(), parts.chain.data());
    if (!shape_.observations.empty())
        subtract((T - 1) * shape_.Y * shape_.Y, gold_.bigrams.data(), parts.bigrams.data());
    return static_cast<double>(data_.importance(n)) * loss;
}

} // namespace chaffinch
