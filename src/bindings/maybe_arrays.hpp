// Arrays that need not be given.
#pragma once

#include "arrays.hpp"
#include "converters.hpp"

#include <optional>
#include <string>

namespace chaffinch::bindings {

template <class T, std::size_t Dims> using Maybe = std::optional<In<T, Dims>>;

// The array's first element, its shape as expected; null if it was not given.
template <class Array>
auto checked(const std::optional<Array>& array, std::initializer_list<std::int64_t> shape, const char* name) {
    if (!array) return static_cast<decltype(array->data())>(nullptr);
    std::size_t d = 0;
    for (const std::int64_t n : shape)
        if (static_cast<std::int64_t>(array->shape(d++)) != n)
            throw nb::value_error((std::string(name) + " has the wrong shape").c_str());
    return array->data();
}

} // namespace chaffinch::bindings
