// Texts that stay in the core between reading and encoding, and strings that cells are chosen from.
#pragma once

#include "converters.hpp"

#include <nanobind/nanobind.h>

#include <string_view>
#include <vector>

namespace chaffinch::bindings {

// owner: holds the bytes; ascii: whether all texts are ASCII
struct HeldTexts {
    std::vector<std::string_view> texts;
    bool ascii;
    nanobind::object owner;
};

} // namespace chaffinch::bindings
