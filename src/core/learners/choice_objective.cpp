#include "choice_objective.hpp"

#include "clones.hpp"
#include "may_throw.hpp"
#include "parallel.hpp"
#include "transpose.hpp"

#include <algorithm>

namespace chaffinch::learners {

namespace {

constexpr std::int64_t rows_block = 256, columns_block = 4096;

std::size_t blocks_of(std::int64_t n, std::int64_t size) { return static_cast<std::size_t>((n + size - 1) / size); }

} // namespace

ChoiceObjective::ChoiceObjective(const features::Examples& x, std::span<const float> q, std::span<const float> c, std::int64_t Y,
                                 ChoiceLoss loss, double l2, std::size_t threads)
    : x_(x), q_(q), c_(c), Y_(Y), S_(machine::padded(Y)), loss_(loss), l2_(l2), threads_(threads),
      documents_(x.ids.size()), column_values_(x.ids.size()), directions_(static_cast<std::size_t>(x.N() * machine::padded(Y))) {
    column_ptr_ = machine::transpose(x.ptr, x.ids, x.F, [&](std::int64_t at, std::int64_t n, std::int64_t k) {
        documents_[at] = static_cast<std::int32_t>(n);
        column_values_[at] = x.value(n, k);
    });
    for (std::int64_t n = 0; x.bias != 0 && n < x.N(); ++n) {
        documents_.push_back(static_cast<std::int32_t>(n));
        column_values_.push_back(x.bias);
    }
    column_ptr_.push_back(static_cast<std::int64_t>(documents_.size()));
}

CHAFFINCH_HOT static double directions(const features::Examples& x, std::int64_t begin, std::int64_t end, ChoiceLoss loss,
                                       std::int64_t Y, const float* q, const float* c, const float* w, float* d) {
    const std::int64_t S = machine::padded(Y);
    machine::AlignedVector<float> s(static_cast<std::size_t>(S));
    double sum = 0;
    for (std::int64_t n = begin; n < end; ++n) {
        features::gather(x, n, w, S, s.data());
        sum += static_cast<double>(c[n]) * choice_loss(loss, Y, S, s.data(), q + n * Y, d + n * S);
        for (std::int64_t y = 0; y < S; ++y) d[n * S + y] *= -c[n];
    }
    return sum;
}

CHAFFINCH_HOT static double column_gradients(const std::int64_t* ptr, const std::int32_t* documents,
                                             const float* values, std::int64_t begin, std::int64_t end, std::int64_t S,
                                             const float* d, float l2, const float* w, float* g) {
    double squares = 0;
    for (std::int64_t f = begin; f < end; ++f) {
        float* __restrict row = g + f * S;
        const float* __restrict weight = w + f * S;
        for (std::int64_t y = 0; y < S; ++y) {
            row[y] = l2 * weight[y];
            squares += static_cast<double>(weight[y]) * static_cast<double>(weight[y]);
        }
        for (std::int64_t k = ptr[f]; k < ptr[f + 1]; ++k) {
            const float* __restrict from = d + documents[k] * S;
            for (std::int64_t y = 0; y < S; ++y) row[y] += values[k] * from[y];
        }
    }
    return squares;
}

double ChoiceObjective::operator()(const float* w, float* g) {
    const std::int64_t N = x_.N(), columns = x_.F + 1;
    std::vector<double> losses(blocks_of(N, rows_block)), squares(blocks_of(columns, columns_block));
    machine::parallel_blocks(losses.size(), threads_, [&](std::size_t b) {
        const std::int64_t begin = static_cast<std::int64_t>(b) * rows_block;
        losses[b] = machine::may_throw([&] {
            return directions(x_, begin, std::min(N, begin + rows_block), loss_, Y_, q_.data(), c_.data(), w,
                              directions_.data());
        });
    });
    machine::parallel_blocks(squares.size(), threads_, [&](std::size_t b) {
        const std::int64_t begin = static_cast<std::int64_t>(b) * columns_block;
        squares[b] = column_gradients(column_ptr_.data(), documents_.data(), column_values_.data(), begin,
                                      std::min(columns, begin + columns_block), S_, directions_.data(),
                                      static_cast<float>(l2_), w, g);
    });
    double value = 0;
    for (const double part : losses) value += part;
    for (const double part : squares) value += 0.5 * l2_ * part;
    return value;
}

} // namespace chaffinch::learners
