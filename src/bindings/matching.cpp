// Matchings and translation tables.
#include "areas.hpp"
#include "arrays.hpp"
#include "assignment.hpp"
#include "code_points.hpp"
#include "score.hpp"
#include "similarity.hpp"
#include "translation.hpp"

#include <algorithm>
#include <cmath>

namespace chaffinch::bindings {

namespace {

structures::MatchingScores scores(const In<double, 2>& edge, const In<double>& source, const In<double>& target) {
    expect(edge.shape(0) == source.size(), "edge must have one row per source");
    expect(edge.shape(1) == target.size(), "edge must have one column per target");
    for (const auto part : {span(edge), span(source), span(target)})
        expect(std::ranges::none_of(part, [](double s) { return std::isnan(s) || s == HUGE_VAL; }),
               "scores must be finite or -inf");
    return {static_cast<std::int64_t>(source.size()), static_cast<std::int64_t>(target.size()), span(edge), span(source),
            span(target)};
}

bool bounds(const In<std::int64_t>& ptr, std::size_t last) {
    const auto b = span(ptr);
    return !b.empty() && b.front() == 0 && std::ranges::is_sorted(b) && b.back() == static_cast<std::int64_t>(last);
}

std::vector<text::Letters> code_points(const nb::list& words) {
    std::vector<text::Letters> found;
    found.reserve(words.size());
    for (nb::handle word : words) {
        const std::string_view text = utf8(word);
        text::Letters& points = found.emplace_back();
        for (std::size_t at = 0; at < text.size();) {
            const auto [point, size] = text::code_point(text, at);
            points.push_back(point);
            at += size;
        }
    }
    return found;
}

} // namespace

void bind_matching(nb::module_& m) {
    m.def(
        "best_matchings",
        [](In<double, 2> edge, In<double> source, In<double> target, std::int64_t k) {
            const structures::MatchingScores x = scores(edge, source, target);
            std::vector<std::int32_t> links;
            std::vector<double> found;
            {
                Unlocked released;
                if (k == 1) {
                    links.resize(source.size());
                    if (!structures::best_matching(x, links)) links.clear();
                    else found.push_back(0);
                } else {
                    structures::best_matchings(x, k, links, found);
                }
            }
            return nb::make_tuple(given(std::move(links)), given(std::move(found)));
        },
        nb::arg("edge").noconvert(), nb::arg("source").noconvert(), nb::arg("target").noconvert(), nb::arg("k"),
        "The k best matchings: targets of sources (-1: none) end to end, and scores (a zero alone for k = 1).");
    nb::class_<text::TranslationTable>(m, "TranslationTable", "IBM model 1 and co-occurrence, from sentence pairs.")
        .def(
            "__init__",
            [](text::TranslationTable* self, In<std::int64_t> e_ptr, In<std::int32_t> e, std::int64_t E,
               In<std::int64_t> f_ptr, In<std::int32_t> f, std::int64_t F, std::size_t threads) {
                expect(e_ptr.size() == f_ptr.size(), "both sides must have the same number of sentences");
                expect(bounds(e_ptr, e.size()) && bounds(f_ptr, f.size()), "bounds must rise from 0 to the last token");
                expect(scorers::all_below(span(e), E) && scorers::all_below(span(f), F), "a word id is out of range");
                new (self) text::TranslationTable({span(e_ptr), span(e), span(f_ptr), span(f), E, F}, threads);
            },
            nb::arg("e_ptr").noconvert(), nb::arg("e").noconvert(), nb::arg("E"), nb::arg("f_ptr").noconvert(),
            nb::arg("f").noconvert(), nb::arg("F"), nb::arg("threads") = 0)
        .def("train", &text::TranslationTable::train, nb::arg("rounds"), nb::arg("threads") = 0,
             nb::call_guard<Unlocked>(), "Runs rounds of EM; returns the log-likelihood of the last one.")
        .def("rows", [](const text::TranslationTable& x) { return given(std::vector(x.rows().begin(), x.rows().end())); })
        .def("columns", [](const text::TranslationTable& x) { return given(std::vector(x.columns().begin(), x.columns().end())); })
        .def("t", [](const text::TranslationTable& x) { return given(std::vector(x.t().begin(), x.t().end())); })
        .def("together", [](const text::TranslationTable& x) { return given(x.together()); });
    m.def(
        "look_up",
        [](In<std::int64_t> rows, In<std::int32_t> columns, In<float> table, In<std::int32_t> e, In<std::int32_t> f,
           float missing, Out<float, 2> out) {
            expect(bounds(rows, columns.size()) && table.size() == columns.size(), "rows must end at the last column");
            const auto last = static_cast<std::int64_t>(rows.size()) - 1;
            expect(std::ranges::all_of(span(e), [last](std::int32_t i) { return i < last; }), "a word id is out of range");
            expect(out.shape(0) == e.size() && out.shape(1) == f.size(), "out must be [e][f]");
            Unlocked released;
            text::look_up(span(rows), span(columns), span(table), span(e), span(f), missing, span(out));
        },
        nb::arg("rows").noconvert(), nb::arg("columns").noconvert(), nb::arg("table").noconvert(),
        nb::arg("e").noconvert(), nb::arg("f").noconvert(), nb::arg("missing"), nb::arg("out").noconvert(),
        "out[i][j] = the table's value for words e_i and f_j (-1: an unknown word).");
    m.def(
        "similarities",
        [](nb::list a, nb::list b, Out<float, 2> out) {
            expect(out.shape(0) == a.size() && out.shape(1) == b.size(), "out must be [a][b]");
            const auto first = code_points(a), second = code_points(b);
            Unlocked released;
            text::similarities(first, second, span(out));
        },
        nb::arg("a"), nb::arg("b"), nb::arg("out").noconvert(),
        "out[i][j] = the longest common subsequence of two words over the length of the longer.");
}

} // namespace chaffinch::bindings
