#include "fertile.hpp"

#include <algorithm>
#include <limits>

namespace chaffinch::structures {

void FertilePlaces::set(std::int64_t n, std::int64_t m, std::span<const double> parts) {
    n_ = n, m_ = m;
    edge_.assign(static_cast<std::size_t>(4 * n * m), -std::numeric_limits<double>::infinity());
    source_.assign(static_cast<std::size_t>(2 * n), 0.0);
    target_.assign(static_cast<std::size_t>(2 * m), 0.0);
    const double *first = parts.data(), *more_source = first + n * m, *more_target = more_source + n * m;
    for (std::int64_t i = 0; i < n; ++i) {
        double* row = edge_.data() + i * 2 * m;
        std::copy_n(first + i * m, m, row);
        std::copy_n(more_target + i * m, m, row + m);
        std::copy_n(more_source + i * m, m, row + n * 2 * m);
    }
    std::copy_n(more_target + n * m, n, source_.data());
    std::copy_n(more_target + n * m + n, m, target_.data());
}

} // namespace chaffinch::structures
