// Shuffles and seeds.
#include "areas.hpp"
#include "arrays.hpp"
#include "random.hpp"

namespace chaffinch::bindings {

void bind_random(nb::module_& m) {
    m.def(
        "permutation",
        [](std::int64_t n, std::uint64_t seed) {
            if (n < 0) throw nb::value_error("permutation: n must be >= 0");
            std::vector<std::int64_t> order(static_cast<std::size_t>(n));
            std::iota(order.begin(), order.end(), std::int64_t{0});
            machine::Random random(seed);
            machine::shuffle(std::span(order), random);
            return given(std::move(order));
        },
        nb::arg("n"), nb::arg("seed"), "The numbers 0 .. n-1 in an order that depends on the seed alone.");
}

} // namespace chaffinch::bindings
