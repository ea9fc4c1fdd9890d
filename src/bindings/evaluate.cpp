// Scores: spans in tag sequences, and sums of counts over resampled sentences.
#include "areas.hpp"
#include "arrays.hpp"
#include "converters.hpp"
#include "sentence_counts.hpp"
#include "span_scores.hpp"

#include <algorithm>
#include <tuple>

namespace chaffinch::bindings {

namespace {

void check_bounds(std::span<const std::int64_t> ptr, std::size_t size) {
    if (ptr.empty() || ptr.front() != 0 || ptr.back() != static_cast<std::int64_t>(size) || !std::ranges::is_sorted(ptr))
        throw nb::value_error("sentence bounds must rise from 0 to the number of tokens");
}

void check_ids(std::span<const std::int32_t> ids, std::size_t size) {
    for (const std::int32_t id : ids)
        if (id < 0 || static_cast<std::size_t>(id) >= size) throw nb::value_error("label id out of range");
}

// A convention applied to a label list: it counts and lists spans in sequences of those labels' ids.
class SpanCounter {
  public:
    SpanCounter(std::size_t labels, In<std::uint8_t> prefixes, In<std::int32_t> types, std::int32_t n_types,
                In<std::uint8_t> cells, bool loose, bool streamed, std::int32_t boundary_type, std::int32_t first_type)
        : labels_(labels), n_types_(n_types), cells_(span(cells).begin(), span(cells).end()),
          rules_{cells_, loose, streamed, boundary_type, first_type} {
        if (cells_.size() != 2 * evaluate::tag_prefixes * evaluate::tag_prefixes) throw nb::value_error("the rule table has another size");
        if (prefixes.size() != types.size() || (types.size() != 0 && types.size() != labels))
            throw nb::value_error("expected one prefix and one type for each label");
        if (n_types < 0 || boundary_type < 0 || (types.size() != 0 && boundary_type >= n_types))
            throw nb::value_error("type id out of range");
        check_ids(span(types), static_cast<std::size_t>(n_types));
        for (std::size_t i = 0; i < types.size(); ++i) {
            if (prefixes.data()[i] >= evaluate::tag_prefixes) throw nb::value_error("unknown tag prefix");
            tags_.push_back({prefixes.data()[i], types.data()[i]});
        }
    }
    SpanCounter(const SpanCounter&) = delete; // rules_ looks into cells_

    auto totals(In<std::int32_t> y, In<std::int32_t> y_hat, In<std::int64_t> ptr) const {
        check(y, y_hat, ptr);
        std::vector<std::int64_t> sums;
        {
            Unlocked released;
            sums = evaluate::tag_totals(span(y), span(y_hat), span(ptr), tags_, n_types_, rules_);
        }
        return given(std::move(sums));
    }

    auto rows(In<std::int32_t> y, In<std::int32_t> y_hat, In<std::int64_t> ptr) const {
        check(y, y_hat, ptr);
        evaluate::SentenceCounts counts;
        {
            Unlocked released;
            counts = evaluate::tag_counts(span(y), span(y_hat), span(ptr), tags_, n_types_, rules_);
        }
        return std::tuple(given(std::move(counts.ptr)), given(std::move(counts.columns)),
                          given(std::move(counts.values)));
    }

    auto spans(In<std::int32_t> y, In<std::int64_t> ptr) const {
        if (tags_.empty()) throw nb::value_error("this counter knows no spans");
        check_bounds(span(ptr), y.size());
        check_ids(span(y), labels_);
        evaluate::SpanTable table;
        {
            Unlocked released;
            table = evaluate::spans_of(span(y), span(ptr), tags_, rules_);
        }
        return std::tuple(given(std::move(table.sentence)), given(std::move(table.begin)),
                          given(std::move(table.end)), given(std::move(table.type)));
    }

  private:
    void check(const In<std::int32_t>& y, const In<std::int32_t>& y_hat, const In<std::int64_t>& ptr) const {
        if (y.size() != y_hat.size()) throw nb::value_error("gold and prediction have different numbers of tokens");
        check_bounds(span(ptr), y.size());
        check_ids(span(y), labels_);
        check_ids(span(y_hat), labels_);
    }

    std::size_t labels_;
    std::int32_t n_types_;
    std::vector<std::uint8_t> cells_;
    std::vector<evaluate::Tag> tags_;
    evaluate::SpanRules rules_;
};

auto resampled(In<std::int64_t> ptr, In<std::int32_t> columns, In<std::int32_t> values, std::int64_t K,
               std::int64_t resamples, std::uint64_t seed, bool coin, std::size_t threads) {
    if (columns.size() != values.size()) throw nb::value_error("expected one value for each column index");
    if (K < 1 || resamples < 0) throw nb::value_error("expected at least one column and no negative sizes");
    check_bounds(span(ptr), columns.size());
    check_ids(span(columns), static_cast<std::size_t>(K));
    std::vector<std::int64_t> sums(static_cast<std::size_t>(K * resamples));
    {
        Unlocked released;
        evaluate::resampled_sums({span(ptr), span(columns), span(values)}, K, coin ? evaluate::Draw::coin : evaluate::Draw::bootstrap, seed, threads,
                       sums);
    }
    return given(std::move(sums));
}

} // namespace

void bind_evaluate(nb::module_& m) {
    nb::class_<SpanCounter>(m, "SpanCounter", "A span convention applied to a label list.")
        .def(nb::init<std::size_t, In<std::uint8_t>, In<std::int32_t>, std::int32_t, In<std::uint8_t>, bool, bool,
                      std::int32_t, std::int32_t>(),
             nb::arg("labels"), nb::arg("prefixes").noconvert(), nb::arg("types").noconvert(), nb::arg("n_types"),
             nb::arg("cells").noconvert(), nb::arg("loose"), nb::arg("streamed"), nb::arg("boundary_type"),
             nb::arg("first_type"))
        .def("totals", &SpanCounter::totals, nb::arg("y").noconvert(), nb::arg("y_hat").noconvert(),
             nb::arg("ptr").noconvert(), "Counts summed over all sentences: int64 [7 + 3 * types].")
        .def("rows", &SpanCounter::rows, nb::arg("y").noconvert(), nb::arg("y_hat").noconvert(),
             nb::arg("ptr").noconvert(), "The same counts for each sentence, as sparse rows (ptr, columns, values).")
        .def("spans", &SpanCounter::spans, nb::arg("y").noconvert(), nb::arg("ptr").noconvert(),
             "The spans of one sequence: sentence, begin, end (token indices, end exclusive), type.");
    m.def("resampled_sums", &resampled, nb::arg("ptr").noconvert(), nb::arg("columns").noconvert(),
          nb::arg("values").noconvert(), nb::arg("K"), nb::arg("resamples"), nb::arg("seed"), nb::arg("coin") = false,
          nb::arg("threads") = 0,
          "Sums [resamples * K] of sparse rows drawn with replacement, or each with probability 1/2.");
}

} // namespace chaffinch::bindings
