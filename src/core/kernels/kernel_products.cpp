#include "kernel_products.hpp"

#include "clones.hpp"

#include <algorithm>

namespace chaffinch::kernels {

Panels::Panels(std::int64_t n, std::int64_t d)
    : n_(n), d_(d), values_(static_cast<std::size_t>((n + width - 1) / width * width * d)) {}

Panels Panels::of_rows(const float* rows, std::int64_t n, std::int64_t d) {
    Panels made(n, d);
    for (std::int64_t j = 0; j < n; ++j) {
        float* to = made.values_.data() + j / width * d * width + j % width;
        for (std::int64_t k = 0; k < d; ++k) to[k * width] = rows[j * d + k];
    }
    return made;
}

Panels Panels::of_columns(const float* table, std::int64_t d, std::int64_t n) {
    Panels made(n, d);
    for (std::int64_t p = 0; p < made.count(); ++p) {
        float* to = made.values_.data() + p * d * width;
        const std::int64_t columns = std::min(width, n - p * width);
        for (std::int64_t k = 0; k < d; ++k) std::copy_n(table + k * n + p * width, columns, to + k * width);
    }
    return made;
}

namespace {

// R rows of a times one panel, the sums in registers.
template <int R>
CHAFFINCH_INLINE void multiply_tile(const float* a, std::int64_t stride, const float* panel, std::int64_t d, bool add,
                                    std::int64_t columns, float* out, std::int64_t out_stride) {
    machine::Pack<float> sum[R][2] = {};
    for (std::int64_t k = 0; k < d; ++k) {
        machine::Pack<float> low, high;
        machine::get(low, panel + k * Panels::width);
        machine::get(high, panel + k * Panels::width + machine::lanes);
        for (int r = 0; r < R; ++r) {
            const float v = a[r * stride + k];
            sum[r][0] += v * low;
            sum[r][1] += v * high;
        }
    }
    for (int r = 0; r < R; ++r) {
        float* row = out + r * out_stride;
        alignas(64) float held[Panels::width];
        machine::put(held, sum[r][0]);
        machine::put(held + machine::lanes, sum[r][1]);
        if (add)
            for (std::int64_t j = 0; j < columns; ++j) row[j] += held[j];
        else
            for (std::int64_t j = 0; j < columns; ++j) row[j] = held[j];
    }
}

} // namespace

CHAFFINCH_HOT void multiply(const float* a, std::int64_t stride, std::int64_t rows, const Panels& B, bool add, float* out,
                            std::int64_t out_stride) {
    for (std::int64_t p = 0; p < B.count(); ++p) {
        const std::int64_t first = p * Panels::width, columns = std::min(Panels::width, B.n() - first);
        std::int64_t i = 0;
        for (; i + 6 <= rows; i += 6)
            multiply_tile<6>(a + i * stride, stride, B.panel(p), B.d(), add, columns, out + i * out_stride + first,
                             out_stride);
        for (; i < rows; ++i)
            multiply_tile<1>(a + i * stride, stride, B.panel(p), B.d(), add, columns, out + i * out_stride + first,
                             out_stride);
    }
}

} // namespace chaffinch::kernels
