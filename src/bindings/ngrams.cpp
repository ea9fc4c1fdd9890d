// Text to rows of n-gram features: symbols, counting, the frozen index, picking and weighting.
#include "converters.hpp"
#include "ngram_index.hpp"

#include "areas.hpp"
#include "arrays.hpp"
#include "give_back.hpp"
#include "held_texts.hpp"
#include "random.hpp"
#include "selection.hpp"
#include "word_functions.hpp"

#include <memory>
#include <string>

namespace chaffinch::bindings {

namespace {

using Strings = std::vector<std::string_view>;

// Positions in a block are counted in 32 bits, and a word of one letter is three of them with its pads.
constexpr std::size_t longest_text = std::size_t{1} << 29;

Strings views(nb::list texts) {
    Strings out;
    out.reserve(nb::len(texts));
    for (nb::handle text : texts) {
        Py_ssize_t n = 0;
        const char* p = PyUnicode_AsUTF8AndSize(text.ptr(), &n);
        if (p == nullptr) throw nb::python_error();
        if (static_cast<std::size_t>(n) > longest_text) throw nb::value_error("a document is longer than 512 MB");
        out.emplace_back(p, static_cast<std::size_t>(n));
    }
    return out;
}

template <class Names> nb::list strings(const Names& names, std::size_t size) {
    nb::list out;
    for (std::size_t i = 0; i < size; ++i) {
        const std::string_view s = names[static_cast<std::int32_t>(i)];
        out.append(nb::str(s.data(), s.size()));
    }
    return out;
}

text::TokenRule token_rule(const Strings& texts, In<std::uint8_t> kinds, int shortest, bool marks, bool lower) {
    if (kinds.size() != text::ascii_points && kinds.size() != text::code_points)
        throw nb::value_error("kinds must have 128 or 1114112 entries");
    if (kinds.size() == text::ascii_points)
        for (const std::string_view text : texts)
            if (!text::is_ascii(text))
                throw nb::value_error("kinds of all code points are needed for text beyond ASCII");
    return {span(kinds), shortest, marks, lower};
}

nb::tuple arrays(features::NGramRows&& rows) {
    return nb::make_tuple(given(std::move(rows.ptr)), given(std::move(rows.ids)), given(std::move(rows.values)));
}

features::NGramRule ngram_rule(const text::Symbols& symbols, int low, int high, std::int64_t least, std::int64_t most,
                     In<std::uint8_t> stops, bool pads, bool presence) {
    if (low < 1 || high < low) throw nb::value_error("n-grams need 1 <= low <= high");
    if (stops.size() != 0 && stops.size() != static_cast<std::size_t>(symbols.types.size()))
        throw nb::value_error("stops must have one entry per type, or none");
    return {low, high, least, most, span(stops), pads ? symbols.types.find(" ") : -1, presence};
}

void check_rows(In<std::int64_t> ptr, std::size_t nnz) {
    const auto p = span(ptr);
    if (p.empty() || p[0] != 0 || static_cast<std::size_t>(p.back()) != nnz)
        throw nb::value_error("ptr must run from 0 to the number of ids");
    for (std::size_t n = 0; n + 1 < p.size(); ++n)
        if (p[n] > p[n + 1]) throw nb::value_error("ptr must not fall");
}

void check_ids(std::span<const std::int32_t> ids, std::int64_t F) {
    for (const std::int32_t id : ids)
        if (id < 0 || id >= F) throw nb::value_error("an id is out of range");
}

} // namespace

void bind_ngrams(nb::module_& m) {
    nb::enum_<text::Cut>(m, "Cut", "What the symbols of an n-gram are.")
        .value("words", text::Cut::words)
        .value("chars", text::Cut::chars)
        .value("chars_in_words", text::Cut::chars_in_words);

    nb::class_<text::Symbols>(m, "Symbols", "Documents as sequences of words or characters, each distinct one kept once.")
        .def(
            "__init__",
            [](text::Symbols* self, nb::list texts, text::Cut cut, In<std::uint8_t> kinds, int shortest, bool marks, bool lower,
               std::size_t threads) {
                const Strings documents = views(texts);
                const text::TokenRule rule = token_rule(documents, kinds, shortest, marks, lower);
                Unlocked released;
                new (self) text::Symbols(text::symbols_of(documents, cut, rule, threads));
            },
            nb::arg("texts"), nb::arg("cut"), nb::arg("kinds").noconvert(), nb::arg("shortest"), nb::arg("marks"),
            nb::arg("lower"), nb::arg("threads"))
        .def(
            "types", [](const text::Symbols& self) { return strings(self.types, static_cast<std::size_t>(self.types.size())); },
            "The distinct symbols, in order of first sight.")
        .def(
            "rename",
            [](text::Symbols& self, nb::list names, std::size_t threads) {
                if (nb::len(names) != static_cast<std::size_t>(self.types.size()))
                    throw nb::value_error("rename needs one name per type");
                const Strings renamed = views(names);
                Unlocked released;
                text::rename_types(self, renamed, threads);
            },
            nb::arg("names"), nb::arg("threads"), "Give each type a new name; several may share one, such as a stem.");

    nb::class_<features::NGramIndex>(m, "NGramIndex", "The frozen index of n-grams: a trie over symbols.")
        .def(
            "__init__",
            [](features::NGramIndex* self, nb::list symbols, In<std::int32_t> parents, In<std::int32_t> lasts,
               In<std::int32_t> features, std::int64_t feature_count) {
                text::Interner interner;
                for (const std::string_view s : views(symbols)) interner.intern(s);
                if (static_cast<std::size_t>(interner.size()) != nb::len(symbols))
                    throw nb::value_error("an n-gram index has a symbol twice");
                const auto copy = [](const In<std::int32_t>& a) {
                    return std::vector<std::int32_t>(a.data(), a.data() + a.size());
                };
                new (self) features::NGramIndex(std::move(interner), copy(parents), copy(lasts), copy(features), feature_count);
            },
            nb::arg("symbols"), nb::arg("parents").noconvert(), nb::arg("lasts").noconvert(),
            nb::arg("features").noconvert(), nb::arg("feature_count"))
        .def("__len__", &features::NGramIndex::feature_count)
        .def(
            "arrays",
            [](const features::NGramIndex& self) {
                const auto copy = [](std::span<const std::int32_t> a) {
                    return given(std::vector<std::int32_t>(a.begin(), a.end()));
                };
                return nb::make_tuple(copy(self.parents()), copy(self.lasts()), copy(self.features()));
            },
            "Parents int32 [K], lasts int32 [K] and features int32 [S+K]: see the trie.")
        .def(
            "symbols",
            [](const features::NGramIndex& self) { return strings(self.symbols(), static_cast<std::size_t>(self.symbols().size())); },
            "The strings of nodes 0 .. S-1.")
        .def(
            "names",
            [](const features::NGramIndex& self, std::string_view joint) {
                const std::vector<std::string> names = self.names(joint);
                nb::list out;
                for (const std::string& name : names) out.append(nb::str(name.data(), name.size()));
                return out;
            },
            nb::arg("joint"), "The n-gram of each feature, its symbols joined.")
        .def(
            "buckets",
            [](const features::NGramIndex& self, std::uint64_t bucket_count) {
                if (bucket_count == 0) throw nb::value_error("bucket_count must be positive");
                return given(self.buckets(bucket_count));
            },
            nb::arg("bucket_count"), "The hashed feature of each feature's n-gram.")
        .def(
            "renumbered",
            [](const features::NGramIndex& self, In<std::int32_t> to, std::int64_t feature_count) {
                if (static_cast<std::int64_t>(to.size()) != self.feature_count())
                    throw nb::value_error("renumbered needs one entry per feature");
                return self.renumbered(span(to), feature_count);
            },
            nb::arg("to").noconvert(), nb::arg("feature_count"),
            "The index with feature f renumbered to to[f], or dropped if that is -1.")
        .def(
            "rows",
            [](const features::NGramIndex& self, const text::Symbols& symbols, bool presence, std::size_t threads) {
                features::NGramRows rows;
                {
                    Unlocked released;
                    rows = self.rows(symbols, presence, threads);
                }
                return arrays(std::move(rows));
            },
            nb::arg("symbols"), nb::arg("presence"), nb::arg("threads"),
            "Rows (ptr, ids, counts) of the n-grams that the index knows; no counts if presence is enough.")
        .def(
            "rows_of_held_texts",
            [](const features::NGramIndex& self, const HeldTexts& texts, text::Cut cut, In<std::uint8_t> kinds, int shortest,
               bool marks, bool lower, std::size_t threads, bool presence) {
                if (!texts.ascii && kinds.size() != text::code_points)
                    throw nb::value_error("kinds of all code points are needed for text beyond ASCII");
                const text::TokenRule rule = token_rule({}, kinds, shortest, marks, lower);
                features::NGramRows rows;
                {
                    Unlocked released;
                    rows = self.rows(texts.texts, cut, rule, presence, threads);
                }
                return arrays(std::move(rows));
            },
            nb::arg("texts"), nb::arg("cut"), nb::arg("kinds").noconvert(), nb::arg("shortest"), nb::arg("marks"),
            nb::arg("lower"), nb::arg("threads"), nb::arg("presence"), "The same for texts that are in the core.")
        .def(
            "rows_of_texts",
            [](const features::NGramIndex& self, nb::list texts, text::Cut cut, In<std::uint8_t> kinds, int shortest, bool marks,
               bool lower, std::size_t threads, bool presence) {
                const Strings documents = views(texts);
                const text::TokenRule rule = token_rule(documents, kinds, shortest, marks, lower);
                features::NGramRows rows;
                {
                    Unlocked released;
                    rows = self.rows(documents, cut, rule, presence, threads);
                }
                return arrays(std::move(rows));
            },
            nb::arg("texts"), nb::arg("cut"), nb::arg("kinds").noconvert(), nb::arg("shortest"), nb::arg("marks"),
            nb::arg("lower"), nb::arg("threads"), nb::arg("presence"), "The same for texts; nothing else of them is kept.");

    m.def(
        "count_ngrams",
        [](text::Symbols& symbols, int low, int high, std::int64_t least, std::int64_t most, In<std::uint8_t> stops,
           bool pads, bool presence, std::size_t threads) {
            const features::NGramRule rule = ngram_rule(symbols, low, high, least, most, stops, pads, presence);
            features::CountedNGrams counted;
            std::unique_ptr<features::NGramIndex> index;
            {
                Unlocked released;
                counted = features::count_ngrams(symbols, rule, threads);
                index = std::make_unique<features::NGramIndex>(features::index_of(std::move(counted), symbols));
            }
            return nb::make_tuple(nb::cast(std::move(*index)), arrays(std::move(counted.rows)),
                                  given(std::move(counted.totals)), given(std::move(counted.documents)));
        },
        nb::arg("symbols"), nb::arg("low"), nb::arg("high"), nb::arg("least"), nb::arg("most"),
        nb::arg("stops").noconvert(), nb::arg("pads"), nb::arg("presence"), nb::arg("threads"),
        "The index of the n-grams, the rows (ptr, ids, counts), and each feature's occurrences and documents; the symbols "
        "are used up.");

    m.def(
        "hashed_ngrams",
        [](const text::Symbols& symbols, int low, int high, In<std::uint8_t> stops, bool pads, std::uint64_t bucket_count,
           std::size_t threads) {
            if (bucket_count == 0 || bucket_count > INT32_MAX) throw nb::value_error("bucket_count is out of range");
            const features::NGramRule rule = ngram_rule(symbols, low, high, 1, INT64_MAX, stops, pads, false);
            features::NGramRows rows;
            {
                Unlocked released;
                rows = features::hashed_rows(symbols, rule, bucket_count, threads);
            }
            return arrays(std::move(rows));
        },
        nb::arg("symbols"), nb::arg("low"), nb::arg("high"), nb::arg("stops").noconvert(), nb::arg("pads"),
        nb::arg("bucket_count"), nb::arg("threads"), "Rows (ptr, ids, counts) whose ids are hashes of n-grams.");

    m.def(
        "word_offsets",
        [](nb::list texts, In<std::uint8_t> kinds, int shortest, bool marks, bool lower) {
            const Strings documents = views(texts);
            const text::TokenRule rule = token_rule(documents, kinds, shortest, marks, lower);
            std::vector<std::int64_t> ptr{0}, starts, ends;
            {
                Unlocked released;
                for (const std::string_view text : documents) {
                    text::word_offsets(text, rule, starts, ends);
                    ptr.push_back(static_cast<std::int64_t>(starts.size()));
                }
            }
            return nb::make_tuple(given(std::move(ptr)), given(std::move(starts)), given(std::move(ends)));
        },
        nb::arg("texts"), nb::arg("kinds").noconvert(), nb::arg("shortest"), nb::arg("marks"), nb::arg("lower"),
        "Bounds int64 [N+1], starts and ends int64 [tokens] of the words, in code points.");

    m.def(
        "count_by_label",
        [](In<std::int64_t> ptr, In<std::int32_t> ids, In<float> values, In<std::int64_t> label_ptr,
           In<std::int32_t> labels, Out<double, 2> out) {
            check_rows(ptr, ids.size());
            check_rows(label_ptr, labels.size());
            if (values.size() != ids.size() && values.size() != 0) throw nb::value_error("values must match ids");
            if (label_ptr.size() != ptr.size()) throw nb::value_error("labels must match the rows");
            check_ids(span(ids), static_cast<std::int64_t>(out.shape(0)));
            check_ids(span(labels), static_cast<std::int64_t>(out.shape(1)));
            Unlocked released;
            features::count_by_label(span(ptr), span(ids), span(values), span(label_ptr), span(labels),
                           static_cast<std::int64_t>(out.shape(1)), span(out));
        },
        nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(),
        nb::arg("label_ptr").noconvert(), nb::arg("labels").noconvert(), nb::arg("out").noconvert(),
        "Add each feature's values to its documents' labels: out float64 [F][Y].");

    m.def(
        "keep_columns",
        [](Out<std::int64_t> ptr, Out<std::int32_t> ids, Out<float> values, In<std::int32_t> to, std::size_t threads) {
            check_rows(In<std::int64_t>(ptr), ids.size());
            if (values.size() != ids.size()) throw nb::value_error("values must match ids");
            check_ids(span(ids), static_cast<std::int64_t>(to.size()));
            Unlocked released;
            features::keep_columns(span(ptr), span(ids), span(values), span(to), threads);
        },
        nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(),
        nb::arg("to").noconvert(), nb::arg("threads"),
        "Keep the columns with to[f] >= 0 under those numbers, in place; ptr[N] says how much is left.");

    m.def(
        "thin_rows",
        [](In<std::int64_t> ptr, In<std::int32_t> ids, In<float> values, In<std::uint8_t> keep, In<std::int32_t> ends,
           In<std::int32_t> norms, Out<std::int64_t> new_ptr, Out<std::int32_t> new_ids, Out<float> new_values) {
            check_rows(ptr, ids.size());
            check_ids(span(ids), static_cast<std::int64_t>(keep.size()));
            if (values.size() != ids.size() || new_ids.size() != ids.size() || new_values.size() != ids.size())
                throw nb::value_error("values, new_ids and new_values must match ids");
            if (new_ptr.size() != ptr.size()) throw nb::value_error("new_ptr must match ptr");
            if (norms.size() != ends.size()) throw nb::value_error("expected a norm for each block");
            Unlocked released;
            return features::thin_rows(span(ptr), span(ids), span(values), span(keep), span(ends), span(norms), span(new_ptr),
                                       span(new_ids), span(new_values));
        },
        nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(), nb::arg("keep").noconvert(),
        nb::arg("ends").noconvert(), nb::arg("norms").noconvert(), nb::arg("new_ptr").noconvert(),
        nb::arg("new_ids").noconvert(), nb::arg("new_values").noconvert(),
        "Drop columns; a block of columns with a norm (1 or 2) keeps it. The number of cells that are left.");

    m.def(
        "weigh",
        [](In<std::int64_t> ptr, In<std::int32_t> ids, In<double> scale, bool binary, bool sublinear, int norm,
           Out<float> values, std::size_t threads) {
            check_rows(ptr, ids.size());
            if (values.size() != ids.size()) throw nb::value_error("values must match ids");
            if (scale.size() != 0) check_ids(span(ids), static_cast<std::int64_t>(scale.size()));
            Unlocked released;
            features::weigh(span(ptr), span(ids), span(scale), {binary, sublinear, norm}, threads, span(values));
        },
        nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("scale").noconvert(), nb::arg("binary"),
        nb::arg("sublinear"), nb::arg("norm"), nb::arg("values").noconvert(), nb::arg("threads"),
        "Counts to weights, in place: binary or sublinear, times scale[id], each row divided by its norm (0, 1, 2).");

    m.def(
        "inverse_norms",
        [](In<std::int64_t> ptr, In<std::int32_t> ids, In<float> scale, int norm, Out<float> out, std::size_t threads) {
            check_rows(ptr, ids.size());
            check_ids(span(ids), static_cast<std::int64_t>(scale.size()));
            if (out.size() + 1 != ptr.size()) throw nb::value_error("out must have one entry per row");
            Unlocked released;
            features::inverse_norms(span(ptr), span(ids), span(scale), norm, threads, span(out));
        },
        nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("scale").noconvert(), nb::arg("norm"),
        nb::arg("out").noconvert(), nb::arg("threads"),
        "1 / norm (0: no norm, 1, 2) of rows that hold every feature once with the value scale[id]: out float32 [N].");

    m.def("give_back_memory", &machine::give_back_memory, "Return freed memory to the system, if possible.");

    m.def(
        "uniforms",
        [](std::int64_t n, std::uint64_t seed) {
            if (n < 0) throw nb::value_error("uniforms: n must be >= 0");
            std::vector<double> out;
            out.reserve(static_cast<std::size_t>(n));
            machine::Random random(seed);
            for (std::int64_t i = 0; i < n; ++i) out.push_back(random.uniform());
            return given(std::move(out));
        },
        nb::arg("n"), nb::arg("seed"), "n numbers in [0, 1) that depend on the seed alone.");
}

} // namespace chaffinch::bindings
