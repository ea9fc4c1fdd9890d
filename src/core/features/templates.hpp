// Templates: which columns at which offsets make one feature, and the exact 64-bit key of their values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::features {

// The value of a column, some tokens away.
struct Atom {
    std::int32_t column;
    std::int32_t offset;
};

// "w[-1]|w[0]" is two atoms; "bias" is none. A window ("any(w,-8..-1)") has one atom per offset and yields
// one feature per distinct value met. The decoder handles label offsets ("y[-1]|stem[0]"); the atoms make the
// observation.
struct Template {
    std::vector<Atom> atoms;
    bool window = false;
    std::vector<std::int32_t> label_offsets;
};

// A key is a mixed-radix number: the sum over the atoms of value * stride, so that different values have
// different keys and a key can be read back. If the product of the radices would exceed 2^62, the first atoms form a
// key of their own (a join), and its id is the first digit of the rest.
struct Stage {
    struct Digit {
        std::int32_t column;
        std::int32_t offset;
        std::uint64_t stride;
    };
    std::vector<Digit> digits;      // the last has stride 1
    std::uint64_t carry_stride = 0; // of the id of the stage before, if any
    std::uint64_t span = 1;         // all keys are smaller
};

// The stages of a template, given how many values each column has (marks beyond the sentence included).
std::vector<Stage> stages(const Template &pattern, std::span<const std::uint64_t> radix);

} // namespace chaffinch::features
