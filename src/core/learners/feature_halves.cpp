#include "feature_halves.hpp"

#include "crf_update.hpp"
#include "score.hpp"

#include <algorithm>

namespace chaffinch::learners {

void FeatureHalf::take(const CrfData& data, std::span<const std::int64_t> sentences) {
    first_.assign(1, 0);
    ptr_.assign(1, 0);
    std::size_t n = 0;
    valued_ = data.values != nullptr;
    for (const std::int64_t s : sentences) {
        const std::int64_t begin = data.begin(s), end = begin + data.length(s);
        ids_.resize(std::max(ids_.size(), n + static_cast<std::size_t>(data.ptr[end] - data.ptr[begin])));
        if (valued_) values_.resize(ids_.size());
        for (std::int64_t t = begin; t < end; ++t) {
            for (std::int64_t k = data.ptr[t]; k < data.ptr[t + 1]; ++k) {
                ids_[n] = data.ids[k]; // kept if it is ours, else overwritten by the next
                if (valued_) values_[n] = data.values[k];
                n += scorers::half_of(data.ids[k]) == half_;
            }
            ptr_.push_back(static_cast<std::int64_t>(n));
        }
        first_.push_back(static_cast<std::int64_t>(ptr_.size()) - 1);
    }
}

void FeatureHalf::score(const float* w, std::int64_t S) {
    S_ = S;
    scorers::score_rows(ptr_, ids_, w, S, machine::room(scores_, first_.back() * S), values());
}

void FeatureHalf::add(std::size_t i, const float* delta, float step, const std::uint8_t* trainable, float* w) const {
    add_rows(ptr(i), ids_, delta, step, S_, trainable, w, values());
}

std::span<const std::int64_t> FeatureHalf::ptr(std::size_t i) const {
    return std::span(ptr_).subspan(static_cast<std::size_t>(first_[i]), static_cast<std::size_t>(first_[i + 1] - first_[i] + 1));
}

} // namespace chaffinch::learners
