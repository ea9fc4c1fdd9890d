// The methods of trained chains of every kind: the k best labellings of sentences, and marginals. Sizes and ids are
// checked
// here, once.
#pragma once

#include "arrays.hpp"
#include "converters.hpp"
#include "feature_values.hpp"
#include "linear_chain.hpp"
#include "score.hpp"

#include <algorithm>
#include <tuple>

namespace chaffinch::bindings {

inline bool rises(std::span<const std::int64_t> bounds, std::size_t to) {
    return !bounds.empty() && bounds.front() == 0 && bounds.back() == static_cast<std::int64_t>(to) &&
           std::ranges::is_sorted(bounds);
}

template <class Chain>
scorers::SentenceRows checked(const Chain& chain, const In<std::int64_t>& sentences, const In<std::int64_t>& ptr,
                 const In<std::int32_t>& ids, const Values& values) {
    expect(ptr.size() > 0 && rises(span(ptr), ids.size()), "a chain: ptr must rise from 0 to len(ids)");
    expect(rises(span(sentences), ptr.size() - 1), "a chain: sentences must rise from 0 to the number of tokens");
    expect(scorers::all_below(span(ids), chain.features()), "a chain: a feature id is out of range");
    return {span(sentences), span(ptr), span(ids), checked_values(values, ids.size())};
}

// The methods kbest and marginals of a chain's class.
template <class Chain> void bind_readings(nb::class_<Chain>& bound) {
    bound
        .def(
            "kbest",
            [](const Chain& self, In<std::int64_t> sentences, In<std::int64_t> ptr, In<std::int32_t> ids, std::int64_t k,
               std::size_t threads, const Values& values) {
                expect(k >= 1, "a chain: k must be >= 1");
                const scorers::SentenceRows x = checked(self, sentences, ptr, ids, values);
                std::vector<std::int32_t> labels((ptr.size() - 1) * static_cast<std::size_t>(k));
                std::vector<double> scores(x.size() * static_cast<std::size_t>(k));
                std::vector<std::int64_t> found(x.size());
                {
                    Unlocked unlocked;
                    self.kbest(x, k, threads, labels, scores, found);
                }
                return std::tuple(given(std::move(labels)), given(std::move(scores)), given(std::move(found)));
            },
            nb::arg("sentences").noconvert(), nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("k"),
            nb::arg("threads") = 0, nb::arg("values").noconvert() = nb::none(),
            "Labels [k * tokens] (k rows per sentence), scores [N * k] and how many each sentence has [N].")
        .def(
            "marginals",
            [](const Chain& self, In<std::int64_t> sentences, In<std::int64_t> ptr, In<std::int32_t> ids,
               std::size_t threads, const Values& values) {
                const scorers::SentenceRows x = checked(self, sentences, ptr, ids, values);
                std::vector<float> out((ptr.size() - 1) * static_cast<std::size_t>(self.labels()));
                std::vector<double> log_z(x.size());
                {
                    Unlocked unlocked;
                    self.marginals(x, threads, out, log_z);
                }
                return std::tuple(given(std::move(out)), given(std::move(log_z)));
            },
            nb::arg("sentences").noconvert(), nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(),
            nb::arg("threads") = 0, nb::arg("values").noconvert() = nb::none(), "p(y_t|x), flat [tokens * Y], and log Z of each sentence.");
}

} // namespace chaffinch::bindings
