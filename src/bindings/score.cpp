// Gather and scatter of weight rows.
#include "areas.hpp"
#include "checked_rows.hpp"
#include "feature_values.hpp"

#include <limits>

namespace chaffinch::bindings {

namespace {

std::int64_t stride(const auto& rows, const auto& w) {
    if (rows.shape(1) != w.shape(1)) throw nb::value_error("rows and w must have the same stride");
    return static_cast<std::int64_t>(w.shape(1));
}

std::int64_t features(const auto& w) { return static_cast<std::int64_t>(w.shape(0)); }

} // namespace

void bind_score(nb::module_& m) {
    m.def(
        "score_rows",
        [](In<std::int64_t> ptr, In<std::int32_t> ids, In<float, 2> w, Out<float, 2> out, const Values& values) {
            check_rows(ptr, ids, out.shape(0), features(w));
            const std::int64_t S = stride(out, w);
            const float* v = checked_values(values, ids.size());
            Unlocked released;
            scorers::score_rows(span(ptr), span(ids), w.data(), S, out.data(), v);
        },
        nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("w").noconvert(), nb::arg("out").noconvert(),
        nb::arg("values").noconvert() = nb::none(),
        "out[t] = sum of value * w[f] over the features f = ids[ptr[t]:ptr[t+1]]; w [F][S], out [T][S].");
    m.def(
        "add_rows",
        [](In<std::int64_t> ptr, In<std::int32_t> ids, In<float, 2> delta, float step, Out<float, 2> w, const Values& values) {
            check_rows(ptr, ids, delta.shape(0), features(w));
            const std::int64_t S = stride(delta, w);
            const float* v = checked_values(values, ids.size());
            Unlocked released;
            scorers::add_rows(span(ptr), span(ids), delta.data(), step, S, w.data(), v);
        },
        nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("delta").noconvert(), nb::arg("step"),
        nb::arg("w").noconvert(), nb::arg("values").noconvert() = nb::none(),
        "w[f] += step * value * delta[t] for every feature f at every position t.");
    m.def(
        "squared_length",
        [](In<std::int64_t> ptr, In<std::int32_t> ids, In<float, 2> delta, const Values& values) {
            check_rows(ptr, ids, delta.shape(0), std::numeric_limits<std::int32_t>::max());
            const auto S = static_cast<std::int64_t>(delta.shape(1));
            const float* v = checked_values(values, ids.size());
            Unlocked released;
            return scorers::squared_length(span(ptr), span(ids), delta.data(), S, S, v);
        },
        nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("delta").noconvert(),
        nb::arg("values").noconvert() = nb::none(),
        "The squared length of the change that add_rows(ptr, ids, delta, 1, w, values) would make to w.");
    m.def("padded", &machine::padded, nb::arg("n"), "The stride of a row of n values: n rounded up to whole vectors.");
}

} // namespace chaffinch::bindings
