#include "crf_batch.hpp"

#include <algorithm>

namespace chaffinch::learners {

namespace {

// Where w holds weights, padding left out.
std::vector<std::int64_t> weights_of(const CrfShape& shape, const std::uint8_t* trainable) {
    const std::int64_t S = shape.S(), Y = shape.Y, stride = shape.bigram_stride();
    std::vector<std::int64_t> places;
    const auto rows = [&](std::int64_t from, std::int64_t to, std::int64_t width, std::int64_t used) {
        for (std::int64_t row = from; row < to; row += width)
            for (std::int64_t k = row; k < row + used; ++k)
                if (!trainable || trainable[k]) places.push_back(k);
    };
    rows(0, shape.triple(), S, Y);
    if (shape.order == 2) rows(shape.triple(), shape.triple() + 1, 1, Y * Y * Y + 2 * Y * Y);
    rows(shape.chain_end(), shape.size(), stride, Y * Y);
    return places;
}

} // namespace

CrfBatch::CrfBatch(const CrfShape& shape, const CrfData& data, double c2, const std::uint8_t* trainable,
                   const float* w, bool fisher, const LbfgsSettings& settings)
    : objective_(shape, data, c2, trainable, settings.threads), places_(weights_of(shape, trainable)),
      w_(w, w + shape.size()), gradient_(static_cast<std::size_t>(shape.size())) {
    machine::AlignedVector<float> x(places_.size()), diagonal;
    for (std::size_t k = 0; k < places_.size(); ++k) x[k] = w[places_[k]];
    if (fisher) {
        objective_.fisher(w, gradient_.data());
        diagonal.resize(places_.size());
        const auto floor = static_cast<float>(std::max(2 * c2 + settings.c1, 1e-3));
        for (std::size_t k = 0; k < places_.size(); ++k) diagonal[k] = 1.0f / (floor + gradient_[places_[k]]);
    }
    const auto value = [this](const float* at, float* g) {
        unpack(at, w_.data());
        const double f = objective_(w_.data(), gradient_.data());
        for (std::size_t k = 0; k < places_.size(); ++k) g[k] = gradient_[places_[k]];
        return f;
    };
    lbfgs_ = std::make_unique<Lbfgs>(value, x, std::move(diagonal), settings);
}

bool CrfBatch::iterate(float* w) {
    const bool moved = lbfgs_->iterate();
    unpack(lbfgs_->x().data(), w);
    return moved;
}

void CrfBatch::unpack(const float* x, float* w) const {
    for (std::size_t k = 0; k < places_.size(); ++k) w[places_[k]] = x[k];
}

} // namespace chaffinch::learners
