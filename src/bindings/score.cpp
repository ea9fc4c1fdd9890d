// Gather and scatter of weight rows.
#include "areas.hpp"
#include "arrays.hpp"
#include "score.hpp"

#include <limits>

namespace chaffinch::bindings {

namespace {

// Everything a kernel trusts of a CSR example: T rows, bounds within ids, ids below F.
void check(const In<std::int64_t>& ptr, const In<std::int32_t>& ids, std::size_t T, std::int64_t F) {
    if (ptr.size() != T + 1) throw nb::value_error("ptr must have one bound more than there are rows");
    std::int64_t last = ptr.data()[0];
    if (last < 0) throw nb::value_error("ptr must not be negative");
    for (const std::int64_t p : span(ptr)) {
        if (p < last) throw nb::value_error("ptr must not decrease");
        last = p;
    }
    if (last > static_cast<std::int64_t>(ids.size())) throw nb::value_error("ptr runs past ids");
    if (!all_below(span(ids).subspan(ptr.data()[0], last - ptr.data()[0]), F))
        throw nb::index_error("feature id out of range");
}

std::int64_t stride(const auto& rows, const auto& w) {
    if (rows.shape(1) != w.shape(1)) throw nb::value_error("rows and w must have the same stride");
    return static_cast<std::int64_t>(w.shape(1));
}

std::int64_t features(const auto& w) { return static_cast<std::int64_t>(w.shape(0)); }

} // namespace

void bind_score(nb::module_& m) {
    m.def(
        "score_rows",
        [](In<std::int64_t> ptr, In<std::int32_t> ids, In<float, 2> w, Out<float, 2> out) {
            check(ptr, ids, out.shape(0), features(w));
            const std::int64_t S = stride(out, w);
            nb::gil_scoped_release released;
            score_rows(span(ptr), span(ids), w.data(), S, out.data());
        },
        nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("w").noconvert(), nb::arg("out").noconvert(),
        "out[t] = sum of w[f] over the features f = ids[ptr[t]:ptr[t+1]]; w [F][S], out [T][S].");
    m.def(
        "add_rows",
        [](In<std::int64_t> ptr, In<std::int32_t> ids, In<float, 2> delta, float step, Out<float, 2> w) {
            check(ptr, ids, delta.shape(0), features(w));
            const std::int64_t S = stride(delta, w);
            nb::gil_scoped_release released;
            add_rows(span(ptr), span(ids), delta.data(), step, S, w.data());
        },
        nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("delta").noconvert(), nb::arg("step"),
        nb::arg("w").noconvert(), "w[f] += step * delta[t] for every feature f at every position t.");
    m.def(
        "squared_length",
        [](In<std::int64_t> ptr, In<std::int32_t> ids, In<float, 2> delta) {
            check(ptr, ids, delta.shape(0), std::numeric_limits<std::int32_t>::max());
            const auto S = static_cast<std::int64_t>(delta.shape(1));
            nb::gil_scoped_release released;
            return squared_length(span(ptr), span(ids), delta.data(), S, S);
        },
        nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("delta").noconvert(),
        "The squared length of the change that add_rows(ptr, ids, delta, 1, w) would make to w.");
    m.def("padded", &padded, nb::arg("n"), "The stride of a row of n values: n rounded up to whole vectors.");
}

} // namespace chaffinch::bindings
