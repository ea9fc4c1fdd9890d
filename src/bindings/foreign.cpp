// For models of other tools: string features, and sums that round as theirs. Checked here, once.
#include "areas.hpp"
#include "arrays.hpp"
#include "checked_rows.hpp"
#include "converters.hpp"
#include "ordered_greedy.hpp"
#include "ordered_sums.hpp"
#include "ordered_viterbi.hpp"
#include "string_templates.hpp"
#include "wapiti_expressions.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

namespace chaffinch::bindings {

namespace {

using Bytes = In<std::uint8_t>;
using Bounds = In<std::int64_t>;
using Column = std::tuple<Bytes, Bounds, In<std::int32_t>>;

void check_bounds(const Bounds& bounds, std::size_t size, const char* what) {
    const auto b = span(bounds);
    expect(!b.empty() && b.front() == 0 && b.back() == static_cast<std::int64_t>(size) && std::ranges::is_sorted(b), what);
}

std::vector<char> characters(const Bytes& bytes) {
    std::vector<char> made(bytes.size());
    std::ranges::transform(span(bytes), made.begin(), [](std::uint8_t c) { return static_cast<char>(c); });
    return made;
}

template <class T> std::vector<T> all_of(const In<T>& a) { return std::vector<T>(a.data(), a.data() + a.size()); }

void make(features::StringTemplates* self, const Bytes& keys, const Bounds& key_bounds, const Bytes& literals,
          const Bounds& literal_bounds, const In<std::int32_t, 2>& pieces, const Bounds& bounds, const Bytes& kinds,
          std::int32_t edges) {
    using features::TemplatePiece;
    check_bounds(key_bounds, keys.size(), "StringTemplates: bounds of the keys");
    check_bounds(literal_bounds, literals.size(), "StringTemplates: bounds of the literals");
    check_bounds(bounds, pieces.shape(0), "StringTemplates: bounds of the templates");
    expect(pieces.shape(1) == 3, "StringTemplates: a piece has a place, an index and an offset");
    expect(kinds.size() + 1 == bounds.size(), "StringTemplates: one kind for each template");
    expect(std::ranges::all_of(span(kinds), [](auto k) { return k >= 1 && k <= 3; }), "StringTemplates: a kind is 1, 2 or 3");
    expect(edges >= 1 && edges <= 64, "StringTemplates: from 1 to 64 edges");
    expect(key_bounds.size() <= std::numeric_limits<std::int32_t>::max(), "StringTemplates: too many keys");
    std::vector<TemplatePiece> made;
    for (std::size_t p = 0; p < pieces.shape(0); ++p) {
        const TemplatePiece piece{pieces(p, 0), pieces(p, 1), pieces(p, 2)};
        expect(piece.place >= TemplatePiece::literal && piece.place <= TemplatePiece::from_end && piece.index >= 0,
               "StringTemplates: unknown place of a piece");
        expect(piece.place != TemplatePiece::literal || piece.index + 1 < static_cast<std::int64_t>(literal_bounds.size()),
               "StringTemplates: there is no such literal");
        made.push_back(piece);
    }
    new (self) features::StringTemplates(characters(keys), all_of(key_bounds), characters(literals), all_of(literal_bounds),
                                         std::move(made), all_of(bounds), all_of(kinds), edges);
}

auto rows(const features::StringTemplates& self, const Bounds& sentences, const std::vector<Column>& columns, std::size_t threads) {
    const std::size_t tokens = columns.empty() ? 0 : std::get<2>(columns[0]).size();
    check_bounds(sentences, tokens, "rows: bounds of the sentences");
    expect(self.columns() <= static_cast<std::int64_t>(columns.size()), "rows: a template reads a column that is not given");
    std::vector<features::StringColumn> given_columns(columns.size());
    for (std::size_t c = 0; c < columns.size(); ++c) {
        const auto& [bytes, bounds, ids] = columns[c];
        check_bounds(bounds, bytes.size(), "rows: bounds of the strings of a column");
        const std::int64_t types = static_cast<std::int64_t>(bounds.size()) - 1 - 2 * self.edges();
        expect(types >= 0, "rows: a column needs a string for each edge");
        expect(ids.size() == tokens, "rows: columns of one length");
        expect(scorers::all_below(span(ids), types), "rows: a token without a string");
        const char* text = reinterpret_cast<const char*>(bytes.data());
        for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
            const std::int64_t a = bounds.data()[i], b = bounds.data()[i + 1];
            given_columns[c].values.push_back(features::hashed({text + a, static_cast<std::size_t>(b - a)}));
        }
        given_columns[c].ids = span(ids);
    }
    features::StringRows made;
    {
        Unlocked released;
        made = self.rows(span(sentences), given_columns, threads);
    }
    return std::tuple(given(std::move(made.ptr)), given(std::move(made.ids)), given(std::move(made.pair_ptr)),
                      given(std::move(made.pair_ids)));
}

// The texts as a command of Wapiti changes them: x (themselves), t ("true" or "false"), m (what matches); and their bounds.
auto changed(char command, std::string_view expression, bool lower, const Bytes& texts, const Bounds& bounds) {
    check_bounds(bounds, texts.size(), "changed_by_wapiti: bounds of the texts");
    std::vector<std::uint8_t> made;
    std::vector<std::int64_t> made_bounds{0};
    {
        Unlocked released;
        for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
            const std::int64_t a = bounds.data()[i], b = bounds.data()[i + 1];
            std::string_view text(reinterpret_cast<const char*>(texts.data()) + a, static_cast<std::size_t>(b - a));
            bool past = false; // a match whose length is counted past the end has the NUL there
            if (command != 'x') {
                const text::WapitiMatch found = text::wapiti_match(expression, text);
                if (command == 't') {
                    text = found.at < 0 ? "false" : "true";
                } else if (found.at < 0) {
                    text = {};
                } else {
                    text = text.substr(static_cast<std::size_t>(found.at));
                    past = found.length > static_cast<std::int64_t>(text.size());
                    text = text.substr(0, static_cast<std::size_t>(found.length));
                }
            }
            for (const char c : text) made.push_back(static_cast<std::uint8_t>(lower && c >= 'A' && c <= 'Z' ? c + 32 : c));
            if (past) made.push_back(0);
            made_bounds.push_back(static_cast<std::int64_t>(made.size()));
        }
    }
    return std::tuple(given(std::move(made)), given(std::move(made_bounds)));
}

template <class Weight> void bind_sums(nb::module_& m, const char* name) {
    using Sums = scorers::OrderedSums<Weight>;
    nb::class_<Sums>(m, name, "Sparse rows of weights that are summed in order, in their own precision.")
        .def(
            "__init__",
            [](Sums* self, const Bounds& bounds, const In<std::int32_t>& columns, const In<Weight>& weights, std::int64_t C) {
                check_bounds(bounds, columns.size(), "OrderedSums: bounds of the rows");
                expect(columns.size() == weights.size(), "OrderedSums: one weight for each column");
                expect(C >= 1 && scorers::all_below(span(columns), C), "OrderedSums: a column is out of range");
                for (std::size_t f = 0; f + 1 < bounds.size(); ++f)
                    for (std::int64_t i = bounds.data()[f] + 1; i < bounds.data()[f + 1]; ++i)
                        expect(columns.data()[i - 1] < columns.data()[i], "OrderedSums: columns must rise within a row");
                new (self) Sums(all_of(bounds), all_of(columns), all_of(weights), C);
            },
            nb::arg("bounds").noconvert(), nb::arg("columns").noconvert(), nb::arg("weights").noconvert(), nb::arg("C"))
        .def(
            "sum",
            [](const Sums& self, const Bounds& ptr, const In<std::int32_t>& ids, const std::optional<In<double>>& values,
               Out<double, 2> out, std::size_t threads) {
                check_rows(ptr, ids, out.shape(0), self.rows());
                expect(static_cast<std::int64_t>(out.shape(1)) == self.C(), "OrderedSums: out has another width");
                expect(!values || values->size() == ids.size(), "OrderedSums: one value for each id");
                Unlocked released;
                self.sum(span(ptr), span(ids), values ? span(*values) : std::span<const double>{}, threads, out.data());
            },
            nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert().none(),
            nb::arg("out").noconvert(), nb::arg("threads") = 1, "out[t] = sum of value * w[f] over ids[ptr[t]:ptr[t+1]].")
        .def(
            "viterbi",
            [](const Sums& self, const Sums* pairs, const In<double, 2>& pair, int addition, const Bounds& sentences,
               const Bounds& ptr, const In<std::int32_t>& ids, const std::optional<In<double>>& values,
               const std::optional<Bounds>& pair_ptr, const std::optional<In<std::int32_t>>& pair_ids, std::size_t threads) {
                const auto Y = static_cast<std::size_t>(self.C());
                expect(ptr.size() >= 1, "viterbi: ptr is empty");
                const std::size_t T = ptr.size() - 1;
                check_bounds(sentences, T, "viterbi: bounds of the sentences");
                check_rows(ptr, ids, T, self.rows());
                expect(pair.shape(0) == Y && pair.shape(1) == Y, "viterbi: pair has other labels");
                expect(!values || values->size() == ids.size(), "viterbi: one value for each id");
                expect(addition >= 0 && addition <= 2, "viterbi: an addition is 0, 1 or 2");
                search::OrderedInput x{span(sentences), span(ptr), span(ids), {}, {}, {}};
                if (values) x.values = span(*values);
                
                if (pairs) {
                    expect(pair_ptr && pair_ids && pairs->C() == static_cast<std::int64_t>(Y * Y), "viterbi: pairs of other labels");
                    check_rows(*pair_ptr, *pair_ids, T, pairs->rows());
                    x.pair_ptr = span(*pair_ptr), x.pair_ids = span(*pair_ids);
                }
                std::vector<std::int32_t> labels(T);
                {
                    Unlocked released;
                    search::ordered_viterbi(self, pairs, std::span(pair.data(), pair.size()), static_cast<search::Addition>(addition), x,
                                            threads, labels.data());
                }
                return given(std::move(labels));
            },
            nb::arg("pairs").none(), nb::arg("pair").noconvert(), nb::arg("addition"), nb::arg("sentences").noconvert(),
            nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert().none(),
            nb::arg("pair_ptr").noconvert().none(), nb::arg("pair_ids").noconvert().none(), nb::arg("threads") = 1,
            "The best labels: int32 [tokens]. addition: 0 after, 1 each, 2 joined.");
}

bool within(const In<std::int32_t>& a, std::int64_t low, std::int64_t below) {
    return std::ranges::all_of(span(a), [=](std::int32_t v) { return v >= low && v < below; });
}

auto greedy(const scorers::OrderedSums<double>& weights, const In<std::int32_t>& places, const In<std::int32_t>& of_before,
            const In<std::int32_t>& of_before2, const In<std::int32_t>& of_both, const Bounds& word_ptr,
            const In<std::int32_t>& word_labels, const In<std::int32_t>& word_features, const Bytes& allowed,
            const Bounds& sentences, const In<std::int32_t, 2>& fixed, const In<std::int32_t>& words,
            const In<std::int32_t>& known, std::size_t threads, bool details) {
    const std::int64_t Y = weights.C(), F = weights.rows();
    const auto L = static_cast<std::size_t>(Y + 2);
    const std::size_t T = words.size();
    const auto S = static_cast<std::int64_t>(fixed.shape(1));
    check_bounds(sentences, T, "greedy: bounds of the sentences");
    expect(places.size() == 4 && within(places, 0, S), "greedy: four slots");
    expect(of_before.size() == L && of_before2.size() == L && of_both.size() == L * L && allowed.size() + 2 == L,
           "greedy: one feature for each label before");
    expect(within(of_before, -1, F) && within(of_before2, -1, F) && within(of_both, -1, F) && within(word_features, -1, F),
           "greedy: a feature is out of range");
    check_bounds(word_ptr, word_labels.size(), "greedy: bounds of the words");
    expect(word_features.size() == word_labels.size() && within(word_labels, 0, Y + 2), "greedy: labels before words");
    expect(fixed.shape(0) == T && known.size() == T && within(known, -1, Y) &&
               within(words, -1, static_cast<std::int64_t>(word_ptr.size()) - 1),
           "greedy: one row for each token");
    expect(std::ranges::all_of(std::span(fixed.data(), fixed.size()), [F](std::int32_t f) { return f >= -1 && f < F; }),
           "greedy: a feature is out of range");
    expect(std::ranges::any_of(span(allowed), [](std::uint8_t a) { return a != 0; }), "greedy: no label is allowed");
    const search::GreedyContext context{S, places.data()[0], places.data()[1], places.data()[2], places.data()[3],
                                        span(of_before), span(of_before2), span(of_both), span(word_ptr), span(word_labels),
                                        span(word_features), span(allowed)};
    const search::GreedyInput x{span(sentences), std::span(fixed.data(), fixed.size()), span(words), span(known)};
    std::vector<std::int32_t> labels(T);
    std::vector<double> scores(details ? T * static_cast<std::size_t>(Y) : 0);
    {
        Unlocked released;
        search::ordered_greedy(weights, context, x, threads, labels.data(), details ? scores.data() : nullptr);
    }
    return std::tuple(given(std::move(labels)), given(std::move(scores)));
}

} // namespace

void bind_foreign(nb::module_& m) {
    nb::class_<features::StringTemplates>(m, "StringTemplates", "Templates that expand to strings, and their dictionary.")
        .def("__init__", &make, nb::arg("keys").noconvert(), nb::arg("key_bounds").noconvert(),
             nb::arg("literals").noconvert(), nb::arg("literal_bounds").noconvert(), nb::arg("pieces").noconvert(),
             nb::arg("bounds").noconvert(), nb::arg("kinds").noconvert(), nb::arg("edges"))
        .def("rows", &rows, nb::arg("sentences").noconvert(), nb::arg("columns"),
             nb::arg("threads") = 0, "ptr, ids of the features of labels; ptr, ids of those of pairs of labels.");
    m.def(
        "changed_by_wapiti",
        [](std::string_view command, nb::bytes expression, bool lower, Bytes texts, Bounds bounds) {
            expect(command == "x" || command == "t" || command == "m", "changed_by_wapiti: a command is x, t or m");
            return changed(command[0], {expression.c_str(), expression.size()}, lower, texts, bounds);
        },
        nb::arg("command"), nb::arg("expression"), nb::arg("lower"), nb::arg("texts").noconvert(),
        nb::arg("bounds").noconvert(), "The texts as a command of Wapiti's patterns changes them, and their bounds.");
    bind_sums<float>(m, "OrderedSums32");
    bind_sums<double>(m, "OrderedSums64");
    m.def("ordered_greedy", &greedy, nb::arg("weights"), nb::arg("places").noconvert(), nb::arg("of_before").noconvert(),
          nb::arg("of_before2").noconvert(), nb::arg("of_both").noconvert(), nb::arg("word_ptr").noconvert(),
          nb::arg("word_labels").noconvert(), nb::arg("word_features").noconvert(), nb::arg("allowed").noconvert(),
          nb::arg("sentences").noconvert(), nb::arg("fixed").noconvert(), nb::arg("words").noconvert(),
          nb::arg("known").noconvert(), nb::arg("threads") = 1, nb::arg("details") = false,
          "Labels int32 [T], and float64 [T Y] scores if details are asked for.");
}

} // namespace chaffinch::bindings
