#include "exp.hpp"

#include "clones.hpp"

namespace chaffinch::machine {

CHAFFINCH_HOT void exp_rows(const float* x, std::int64_t n, float* out) {
    std::int64_t k = 0;
    Pack<float> pack;
    for (; k + lanes <= n; k += lanes) {
        get<float>(pack, x + k);
        exp_in_place(pack);
        put<float>(out + k, pack);
    }
    if (k == n) return;
    pack = Pack<float>{};
    std::memcpy(&pack, x + k, sizeof(float) * static_cast<std::size_t>(n - k));
    exp_in_place(pack);
    std::memcpy(out + k, &pack, sizeof(float) * static_cast<std::size_t>(n - k));
}

} // namespace chaffinch::machine
