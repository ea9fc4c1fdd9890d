#include "templates.hpp"

namespace chaffinch::features {

namespace {

constexpr std::uint64_t largest_span = std::uint64_t{1} << 62;
constexpr std::uint64_t join_radix = std::uint64_t{1} << 31; // ids are int32

} // namespace

std::vector<Stage> stages(const Template &pattern, std::span<const std::uint64_t> radix) {
    std::vector<Stage> out(1);
    const std::size_t used = pattern.window ? 1 : pattern.atoms.size();
    for (std::size_t i = 0; i < used; ++i) {
        const Atom &atom = pattern.atoms[i];
        const std::uint64_t r = radix[atom.column];
        if (out.back().span > largest_span / r) {
            out.emplace_back();
            out.back().span = join_radix;
            out.back().carry_stride = 1;
        }
        Stage &stage = out.back();
        for (Stage::Digit &digit : stage.digits) digit.stride *= r;
        stage.carry_stride *= r;
        stage.span *= r;
        stage.digits.push_back({atom.column, atom.offset, 1});
    }
    return out;
}

} // namespace chaffinch::features
