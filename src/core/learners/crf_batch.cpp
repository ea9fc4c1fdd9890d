#include "crf_batch.hpp"

#include <algorithm>
#include <cmath>

namespace chaffinch::learners {

CrfBatch::CrfBatch(const CrfShape& shape, const CrfData& data, double c2, const std::uint8_t* trainable,
                   const float* w, bool fisher, const LbfgsSettings& settings)
    : shape_(shape), data_(data), c2_(c2), trainable_(trainable), fisher_(fisher), settings_(settings),
      objective_(shape, data, c2, trainable, settings.threads), w_(w, w + shape.size()),
      gradient_(static_cast<std::size_t>(shape.size())) {
    if (settings_.c1 > 0)
        widen(settings.c1);
    else {
        each_weight([&](std::int64_t k) { places_.push_back(k); });
        begin();
    }
}

bool CrfBatch::iterate(float* w) {
    const bool moved = lbfgs_->iterate();
    unpack(lbfgs_->x().data(), w);
    return moved;
}

std::int64_t CrfBatch::widen(double penalty) {
    settings_.c1 = penalty;
    if (lbfgs_) {
        unpack(lbfgs_->x().data(), w_.data());
        evaluations_ += lbfgs_->evaluations();
    }
    objective_(w_.data(), gradient_.data());
    ++evaluations_;
    const auto c1 = static_cast<float>(settings_.c1);
    std::int64_t outside = 0;
    auto known = places_.begin(); // in rising order, as weights are met
    each_weight([&](std::int64_t k) {
        while (known != places_.end() && *known < k) ++known;
        const bool active = known != places_.end() && *known == k;
        outside += !active && std::abs(gradient_[k]) > c1;
    });
    choose_active();
    begin();
    return outside;
}

// Calls use with the index in w of each trained weight, in ascending order, without padding.
template <class Use> void CrfBatch::each_weight(Use&& use) const {
    const auto rows = [&](std::int64_t from, std::int64_t to, std::int64_t width, std::int64_t used) {
        for (std::int64_t row = from; row < to; row += width)
            for (std::int64_t k = row; k < row + used; ++k)
                if (!trainable_ || trainable_[k]) use(k);
    };
    const std::int64_t Y = shape_.Y;
    rows(0, shape_.triple(), shape_.S(), Y);
    if (shape_.order == 2) rows(shape_.triple(), shape_.triple() + 1, 1, Y * Y * Y + 2 * Y * Y);
    rows(shape_.chain_end(), shape_.size(), shape_.bigram_stride(), Y * Y);
}

// By w and its gradient. Rows after the unary rows are always included, but may be inactive.
void CrfBatch::choose_active() {
    const std::int64_t S = shape_.S();
    const auto c1 = static_cast<float>(settings_.c1);
    places_.clear();
    each_weight([&](std::int64_t k) {
        if (w_[k] != 0 || std::abs(gradient_[k]) > c1) places_.push_back(k);
    });
    std::vector<std::int32_t> row_of(static_cast<std::size_t>(shape_.F), -1);
    for (const std::int64_t k : places_)
        if (k < shape_.pair()) row_of[k / S] = 0;
    std::int32_t rows = 0;
    for (std::int32_t& row : row_of)
        if (row == 0) row = rows++;
    make_part(row_of);
    inside_.clear();
    const std::int64_t moved = active_problem_->shape.pair() - shape_.pair();
    for (const std::int64_t k : places_)
        inside_.push_back(k < shape_.pair() ? row_of[k / S] * S + k % S : k + moved);
}

// row_of [F]: the row of each feature in the part, -1 if it is not in the part.
void CrfBatch::make_part(const std::vector<std::int32_t>& row_of) {
    active_problem_ = std::make_unique<ActiveProblem>();
    ActiveProblem& part = *active_problem_;
    part.shape = shape_;
    part.shape.F = std::ranges::count_if(row_of, [](std::int32_t row) { return row >= 0; });
    part.ptr.assign(1, 0);
    part.ptr.reserve(data_.ptr.size());
    for (std::int64_t t = 0; t < data_.T(); ++t) {
        for (std::int64_t k = data_.ptr[t]; k < data_.ptr[t + 1]; ++k)
            if (row_of[data_.ids[k]] >= 0) {
                part.ids.push_back(row_of[data_.ids[k]]);
                if (data_.values) part.values.push_back(data_.values[k]);
            }
        part.ptr.push_back(std::ssize(part.ids));
    }
    part.data = data_;
    part.data.ptr = part.ptr;
    part.data.ids = part.ids;
    if (data_.values) part.data.values = part.values.data();
    const std::int64_t S = shape_.S(), moved = part.shape.pair() - shape_.pair();
    const auto pack = [&](const auto* from, auto& to) {
        to.resize(static_cast<std::size_t>(part.shape.size()));
        for (std::int64_t f = 0; f < shape_.F; ++f)
            if (row_of[f] >= 0) std::copy_n(from + f * S, S, to.data() + row_of[f] * S);
        std::copy(from + shape_.pair(), from + shape_.size(), to.data() + shape_.pair() + moved);
    };
    pack(w_.data(), part.w);
    if (trainable_) pack(trainable_, part.trainable);
    part.gradient.resize(part.w.size());
    part.objective = std::make_unique<CrfObjective<float>>(part.shape, part.data, c2_,
                                                           trainable_ ? part.trainable.data() : nullptr, settings_.threads);
}

// L-BFGS from w, on the weights of places_.
void CrfBatch::begin() {
    const std::vector<std::int64_t>& at = active_problem_ ? inside_ : places_;
    CrfObjective<float>& objective = active_problem_ ? *active_problem_->objective : objective_;
    float* w = active_problem_ ? active_problem_->w.data() : w_.data();
    float* gradient = active_problem_ ? active_problem_->gradient.data() : gradient_.data();
    machine::AlignedVector<float> x(at.size()), diagonal;
    for (std::size_t k = 0; k < at.size(); ++k) x[k] = w[at[k]];
    if (fisher_) {
        objective.fisher(w, gradient);
        diagonal.resize(at.size());
        const auto floor = static_cast<float>(std::max(2 * c2_ + settings_.c1, 1e-3));
        for (std::size_t k = 0; k < at.size(); ++k) diagonal[k] = 1.0f / (floor + gradient[at[k]]);
    }
    const auto value = [&at, &objective, w, gradient](const float* packed, float* g) {
        for (std::size_t k = 0; k < at.size(); ++k) w[at[k]] = packed[k];
        const double f = objective(w, gradient);
        for (std::size_t k = 0; k < at.size(); ++k) g[k] = gradient[at[k]];
        return f;
    };
    lbfgs_ = std::make_unique<Lbfgs>(value, x, std::move(diagonal), settings_);
}

void CrfBatch::unpack(const float* x, float* w) const {
    for (std::size_t k = 0; k < places_.size(); ++k) w[places_[k]] = x[k];
}

} // namespace chaffinch::learners
