// The feature engine: from Python's strings to rows of feature ids.
#include "areas.hpp"
#include "arrays.hpp"
#include "feature_inputs.hpp"
#include "pair_converter.hpp"

#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>

namespace chaffinch::bindings {

namespace {

const std::map<std::string_view, text::WordFunction> word_functions{
    {"identity", text::WordFunction::identity},
    {"lower", text::WordFunction::lower},
    {"shape", text::WordFunction::shape},
    {"long_shape", text::WordFunction::long_shape},
    {"prefix", text::WordFunction::prefix},
    {"suffix", text::WordFunction::suffix},
    {"caps", text::WordFunction::caps},
    {"digit", text::WordFunction::digit},
    {"hyphen", text::WordFunction::hyphen},
    {"fold", text::WordFunction::fold},
    {"length", text::WordFunction::length},
    {"punctuation", text::WordFunction::punctuation},
    {"bit", text::WordFunction::bit},
    {"preposition", text::WordFunction::preposition},
    {"cluster", text::WordFunction::cluster},
    {"external", text::WordFunction::external},
};

const std::map<std::string_view, features::SentenceFunction> sentence_functions{
    {"bos", features::SentenceFunction::bos},
    {"eos", features::SentenceFunction::eos},
    {"brackets", features::SentenceFunction::brackets},
    {"commas", features::SentenceFunction::commas},
    {"numbers", features::SentenceFunction::numbers},
    {"position", features::SentenceFunction::position},
    {"remaining", features::SentenceFunction::remaining},
    {"sentence_length", features::SentenceFunction::sentence_length},
    {"mostly_capitals", features::SentenceFunction::mostly_capitals},
    {"first_word", features::SentenceFunction::first_word},
    {"last_word", features::SentenceFunction::last_word},
    {"last_punctuation", features::SentenceFunction::last_punctuation},
    {"last_preposition", features::SentenceFunction::last_preposition},
    {"seen", features::SentenceFunction::seen},
    {"run_length", features::SentenceFunction::run_length},
    {"run_place", features::SentenceFunction::run_place},
    {"run", features::SentenceFunction::run},
    {"quoted", features::SentenceFunction::quoted},
    {"elsewhere", features::SentenceFunction::elsewhere},
    {"elsewhere_before", features::SentenceFunction::elsewhere_before},
    {"elsewhere_after", features::SentenceFunction::elsewhere_after},
    {"elsewhere_run", features::SentenceFunction::elsewhere_run},
    {"elsewhere_first", features::SentenceFunction::elsewhere_first},
    {"phrases", features::SentenceFunction::phrases},
    {"phrases_list", features::SentenceFunction::phrases_list},
};

std::vector<std::string_view> views(const nb::list &strings) {
    std::vector<std::string_view> out;
    for (nb::handle s : strings) out.push_back(utf8(s));
    return out;
}

nb::list strings(const text::Interner &table) {
    nb::list out;
    for (std::int32_t id = 0; id < table.size(); ++id)
        out.append(nb::str(table[id].data(), table[id].size()));
    return out;
}

using RowArrays = std::tuple<nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>,
                             nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>,
                             nb::ndarray<nb::numpy, std::int32_t, nb::ndim<2>>>;

RowArrays handed_over(features::TokenRows &&rows, std::vector<std::int32_t> &&observations, std::size_t L) {
    const std::size_t T = rows.ptr.size() - 1;
    const auto nnz = static_cast<std::size_t>(rows.ptr.back());
    std::int32_t *ids = rows.ids.release();
    nb::capsule owner(ids, [](void *p) noexcept { std::free(p); });
    auto *kept = new std::vector<std::int32_t>(std::move(observations));
    nb::capsule keeper(kept, [](void *p) noexcept { delete static_cast<std::vector<std::int32_t> *>(p); });
    return {given(std::move(rows.ptr)), nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>(ids, {nnz}, owner),
            nb::ndarray<nb::numpy, std::int32_t, nb::ndim<2>>(kept->data(), {T, L}, keeper)};
}

features::Design design_of(std::int32_t sources,
                 const std::vector<std::tuple<std::int32_t, std::string, std::int32_t>> &words,
                 const std::vector<std::pair<std::string, std::int32_t>> &sentences,
                 std::vector<std::string> names,
                 const std::vector<std::tuple<std::vector<std::pair<std::int32_t, std::int32_t>>, bool,
                                              std::vector<std::int32_t>>> &templates,
                 bool marked) {
    const auto need = [](bool fine, const char *what) {
        if (!fine) throw nb::value_error(what);
    };
    features::Design out;
    out.sources = sources;
    out.names = std::move(names);
    out.marked = marked;
    for (const auto &[source, function, parameter] : words) {
        need(word_functions.contains(function), "no such function of a word");
        need(source >= 0 && source < sources && parameter >= 0, "word column out of range");
        out.words.push_back({source, word_functions.at(function), parameter});
    }
    for (const auto &[function, argument] : sentences) {
        need(sentence_functions.contains(function), "no such function of a sentence");
        need(sources > 0, "sentence columns need the words");
        out.sentences.push_back({sentence_functions.at(function), argument});
    }
    const std::size_t columns = out.words.size() + out.sentences.size();
    need(out.names.size() == columns, "one name per column");
    need(templates.size() < 0xFFFF, "at most 65,534 templates");
    for (const auto &[atoms, window, labels] : templates) {
        features::Template t{{}, window, labels};
        for (const auto &[column, offset] : atoms) {
            need(column >= 0 && static_cast<std::size_t>(column) < columns,
                 "template of a column that is not there");
            need(offset >= -1000 && offset <= 1000, "offset beyond 1000 tokens");
            t.atoms.push_back({column, offset});
        }
        need(!window || (!t.atoms.empty() && labels.empty()), "a window has one column and no labels");
        out.templates.push_back(std::move(t));
    }
    return out;
}

// Sentence columns name a word column or a list of phrases; both must exist.
void check_arguments(const features::Design &design) {
    for (const features::SentenceColumn &column : design.sentences) {
        const auto within = [&](std::size_t n) {
            if (column.argument < 0 || static_cast<std::size_t>(column.argument) >= n)
                throw nb::value_error("sentence column without its argument");
        };
        if (features::reads_column(column.function)) within(design.words.size());
        if (column.function == features::SentenceFunction::phrases_list) within(design.lists.size());
    }
    if (design.triggers.size() > 8) throw nb::value_error("at most 8 trigger words");
    if (design.lists.size() > static_cast<std::size_t>(features::Phrases::most_lists))
        throw nb::value_error("at most 64 lists of phrases");
}

std::pair<nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>, RowArrays>
find_lists(Engine &self, const nb::list &columns, const nb::callable &external, bool missing) {
    if (std::ranges::any_of(self.cache, [](const features::Words &w) { return w.texts.size() > (1 << 20); }))
        self.empty_cache();
    ListReader reader(self, columns, external, missing);
    const auto T = static_cast<std::size_t>(reader.ptr.back());
    const std::size_t L = self.core.n_labelled();
    features::TokenRows out;
    out.reserve(T * self.core.slots());
    out.ptr.assign(T + 1, 0);
    std::vector<std::int32_t> observations(T * L);
    std::size_t written = 0;
    features::Frame frame;
    for (std::size_t first = 0; first < reader.sentences();) {
        const std::size_t last = reader.stretch(first);
        reader.fill(first, last, frame);
        const auto base = static_cast<std::size_t>(reader.ptr[first]);
        Unlocked unlocked;
        written += self.core.find(frame, out.ptr.data() + base + 1, out.ids.get() + written,
                                  observations.data() + base * L);
        first = last;
    }
    for (std::size_t t = 0; t < T; ++t) out.ptr[t + 1] += out.ptr[t];
    out.shrink(written);
    return {given(std::move(reader.ptr)), handed_over(std::move(out), std::move(observations), L)};
}

} // namespace

void bind_features(nb::module_ &m) {
    nb::class_<Vocabulary>(m, "Vocabulary", "Words that a FeatureEngine has described, for blocks of ids.");
    nb::class_<Engine>(m, "FeatureEngine", "Columns and templates to rows of feature ids.")
        .def(
            "__init__",
            [](Engine *self, std::int32_t sources,
               const std::vector<std::tuple<std::int32_t, std::string, std::int32_t>> &words,
               const std::vector<std::pair<std::string, std::int32_t>> &sentences,
               std::vector<std::string> names,
               const std::vector<std::tuple<std::vector<std::pair<std::int32_t, std::int32_t>>, bool,
                                            std::vector<std::int32_t>>> &templates,
               bool marked, std::vector<std::string> prepositions, std::vector<std::string> triggers,
               const std::vector<std::pair<std::string, nb::list>> &lists, bool fold,
               const nb::list &cluster_words, In<std::int32_t> cluster_path, const nb::list &cluster_paths,
               nb::callable kinds) {
                features::Design design = design_of(sources, words, sentences, std::move(names), templates, marked);
                design.prepositions = std::move(prepositions);
                design.triggers = std::move(triggers);
                design.phrases = features::Phrases(fold);
                for (const auto &[name, phrases] : lists) {
                    for (nb::handle phrase : phrases)
                        design.phrases.add(views(nb::cast<nb::list>(phrase)),
                                           static_cast<std::int32_t>(design.lists.size()));
                    design.lists.push_back(name);
                }
                check_arguments(design);
                if (nb::len(cluster_words) != cluster_path.size()) throw nb::value_error("one path per word");
                for (const std::string_view path : views(cluster_paths)) design.clusters.paths.intern(path);
                for (const std::string_view word : views(cluster_words)) design.clusters.words.intern(word);
                for (const std::int32_t path : span(cluster_path)) {
                    if (path < 0 || path >= design.clusters.paths.size())
                        throw nb::value_error("a word's cluster is none of the paths");
                    design.clusters.path.push_back(path);
                }
                if (static_cast<std::size_t>(design.clusters.words.size()) != cluster_path.size())
                    throw nb::value_error("a word is in two clusters");
                new (self) Engine(std::move(design), std::move(kinds));
            },
            nb::arg("sources"), nb::arg("words"), nb::arg("sentences"), nb::arg("names"),
            nb::arg("templates"), nb::arg("marked"), nb::arg("prepositions"), nb::arg("triggers"),
            nb::arg("lists"), nb::arg("fold"), nb::arg("cluster_words"), nb::arg("cluster_path").noconvert(),
            nb::arg("cluster_paths"), nb::arg("kinds"))
        .def_prop_ro("n_features", [](const Engine &self) { return self.core.n_features(); })
        .def_prop_ro("n_observations",
                     [](const Engine &self) {
                         std::vector<std::int32_t> out;
                         for (std::size_t l = 0; l < self.core.n_labelled(); ++l)
                             out.push_back(self.core.n_observations(l));
                         return out;
                     })
        .def_prop_ro("index_bytes", [](const Engine &self) { return self.core.index_bytes(); })
        .def(
            "fit",
            [](Engine &self, In<std::int64_t> ptr, const nb::list &columns,
               std::optional<In<std::int32_t>> groups, const nb::callable &external, std::int32_t min_count,
               std::size_t threads) {
                if (min_count < 1) throw nb::value_error("min_count must be >= 1");
                const Table table = read_table(self, ptr, columns, groups, external, true);
                std::vector<std::int32_t> observations;
                features::TokenRows rows;
                {
                    Unlocked unlocked;
                    rows = self.core.fit(table.tokens, min_count, threads, observations);
                }
                self.empty_cache();
                return handed_over(std::move(rows), std::move(observations), self.core.n_labelled());
            },
            nb::arg("ptr").noconvert(), nb::arg("columns"), nb::arg("groups").noconvert().none(),
            nb::arg("external"), nb::arg("min_count"), nb::arg("threads"),
            "Builds the index from a token table: row bounds, feature ids, and observations [T, label "
            "templates].")
        .def(
            "described",
            [](Engine &self, const nb::list &types, const nb::callable &external, bool growing) {
                return described(self, types, external, growing);
            },
            nb::arg("types"), nb::arg("external"), nb::arg("growing"),
            "The words of each source's vocabulary, described once; `growing`: new values get ids.")
        .def(
            "describe_more",
            [](Engine &self, Vocabulary &words, const nb::list &types, const nb::callable &external) {
                describe_more(self, words, types, external, false);
            },
            nb::arg("words"), nb::arg("types"), nb::arg("external"), "Add further words to each source's vocabulary.")
        .def_prop_ro("slots", [](const Engine &self) { return self.core.slots(); }, "The most features of a token.")
        .def_prop_ro("reads_runs", [](const Engine &self) { return self.core.reads_runs(); })
        .def(
            "see_runs",
            [](Engine &self, const Vocabulary &words, In<std::int64_t> ptr, const nb::list &ids) {
                self.core.see_runs(read_block(words, ptr, ids, std::nullopt).tokens);
            },
            nb::arg("words"), nb::arg("ptr").noconvert(), nb::arg("ids"))
        .def("open", [](Engine &self) { self.core.open(); }, "Begin to count the features of blocks.")
        .def(
            "tally",
            [](Engine &self, const Vocabulary &words, In<std::int64_t> ptr, const nb::list &ids,
               std::optional<In<std::int32_t>> groups, std::size_t threads) {
                const Table table = read_block(words, ptr, ids, groups);
                Unlocked unlocked;
                self.core.tally(table.tokens, threads);
            },
            nb::arg("words"), nb::arg("ptr").noconvert(), nb::arg("ids"), nb::arg("groups").noconvert().none(),
            nb::arg("threads"), "Count the features of a block.")
        .def(
            "rare", [](const Engine &self, std::size_t most) { return given(self.core.rare(most)); }, nb::arg("most"),
            "How many features were counted c times, for c from 1 to `most`; at 0: more often.")
        .def(
            "close",
            [](Engine &self, std::int32_t min_count) {
                if (min_count < 1) throw nb::value_error("min_count must be >= 1");
                Unlocked unlocked;
                self.core.close(min_count);
            },
            nb::arg("min_count"), "Freeze the index of what was counted.")
        .def(
            "find_block",
            [](const Engine &self, const Vocabulary &words, In<std::int64_t> ptr, const nb::list &ids,
               std::optional<In<std::int32_t>> groups, std::size_t threads) {
                const Table table = read_block(words, ptr, ids, groups);
                std::vector<std::int32_t> observations;
                features::TokenRows rows;
                {
                    Unlocked unlocked;
                    rows = self.core.find(table.tokens, threads, observations);
                }
                return handed_over(std::move(rows), std::move(observations), self.core.n_labelled());
            },
            nb::arg("words"), nb::arg("ptr").noconvert(), nb::arg("ids"), nb::arg("groups").noconvert().none(),
            nb::arg("threads"), "The rows of a block, by the frozen index.")
        .def(
            "grown",
            [](const Engine &self, In<std::int64_t> ptr, const nb::list &columns,
               std::optional<In<std::int32_t>> groups, const nb::callable &external, std::size_t threads) {
                auto grown = std::make_unique<Engine>(self);
                const Table table = read_table(*grown, ptr, columns, groups, external, true);
                std::vector<std::int32_t> observations;
                features::TokenRows rows;
                {
                    nb::gil_scoped_release unlocked;
                    rows = grown->core.grow(table.tokens, threads, observations);
                }
                grown->empty_cache();
                const std::size_t L = grown->core.n_labelled();
                return std::pair(std::move(grown), handed_over(std::move(rows), std::move(observations), L));
            },
            nb::arg("ptr").noconvert(), nb::arg("columns"), nb::arg("groups").noconvert().none(),
            nb::arg("external"), nb::arg("threads"),
            "Another engine with this one's features under the same ids, followed by those that the table adds; "
            "with the rows of the table.")
        .def(
            "pruned",
            [](const Engine &self, In<std::uint8_t> keep) {
                if (static_cast<std::int64_t>(keep.size()) != self.core.n_features()) throw nb::value_error("keep: one flag per feature");
                auto pruned = std::make_unique<Engine>(self.core.without_features());
                nb::gil_scoped_release unlocked;
                pruned->core.take(self.core, span(keep));
                return pruned;
            },
            nb::arg("keep").noconvert(), "Another engine with the features whose flag is not 0, in the same order.")
        .def(
            "find_table",
            [](Engine &self, In<std::int64_t> ptr, const nb::list &columns,
               std::optional<In<std::int32_t>> groups, const nb::callable &external, std::size_t threads) {
                const Table table = read_table(self, ptr, columns, groups, external, false);
                std::vector<std::int32_t> observations;
                features::TokenRows rows;
                {
                    Unlocked unlocked;
                    rows = self.core.find(table.tokens, threads, observations);
                }
                return handed_over(std::move(rows), std::move(observations), self.core.n_labelled());
            },
            nb::arg("ptr").noconvert(), nb::arg("columns"), nb::arg("groups").noconvert().none(),
            nb::arg("external"), nb::arg("threads"),
            "The same with the frozen index: unknown features are dropped.")
        .def("find_lists", &find_lists, nb::arg("columns"), nb::arg("external"), nb::arg("missing"),
             "The same from lists of lists of strings; the values of each word are cached for the next call.")
        .def(
            "feature_names",
            [](const Engine &self, In<std::int32_t> ids) {
                std::vector<std::string> out;
                for (const std::int32_t id : span(ids)) {
                    if (id < 0 || id >= self.core.n_features()) throw nb::index_error("no such feature");
                    out.push_back(self.core.feature_name(id));
                }
                return out;
            },
            nb::arg("ids").noconvert(), "Names of features, rebuilt from their keys.")
        .def(
            "observation_name",
            [](const Engine &self, std::size_t l, std::int32_t id) {
                if (l >= self.core.n_labelled() || id < 0 || id >= self.core.n_observations(l))
                    throw nb::index_error("no such observation");
                return self.core.observation_name(l, id);
            },
            nb::arg("template"), nb::arg("id"))
        .def(
            "counts",
            [](const Engine &self) {
                return given(std::vector<std::int32_t>(self.core.counts().begin(), self.core.counts().end()));
            },
            "How often each feature occurred in training; empty after a restore.")
        .def(
            "values",
            [](const Engine &self, std::size_t column) {
                if (column >= self.core.design().words.size()) throw nb::index_error("no such word column");
                return strings(self.core.values(column));
            },
            nb::arg("column"), "The values of a word column, by id.")
        .def("runs", [](const Engine &self) { return strings(self.core.runs()); })
        .def("state",
             [](const Engine &self) {
                 const features::IndexState &s = self.core.state();
                 return std::tuple(given(std::vector(s.feature_template)), given(std::vector(s.feature_key)),
                                   given(std::vector(s.observation_ptr)),
                                   given(std::vector(s.observation_key)), given(std::vector(s.join_ptr)),
                                   given(std::vector(s.join_key)));
             })
        .def(
            "restore",
            [](Engine &self, std::vector<std::vector<std::string>> values,
               const std::vector<std::string> &runs, In<std::uint16_t> feature_template,
               In<std::uint64_t> feature_key, In<std::int64_t> observation_ptr,
               In<std::uint64_t> observation_key, In<std::int64_t> join_ptr, In<std::uint64_t> join_key) {
                const auto copy = [](const auto &a) { return std::vector(a.data(), a.data() + a.size()); };
                features::IndexState state{copy(feature_template), copy(feature_key), copy(observation_ptr),
                                 copy(observation_key),  copy(join_ptr),    copy(join_key)};
                self.core.restore(std::move(values), runs, std::move(state));
                self.empty_cache();
            },
            nb::arg("values"), nb::arg("runs"), nb::arg("feature_template").noconvert(),
            nb::arg("feature_key").noconvert(), nb::arg("observation_ptr").noconvert(),
            nb::arg("observation_key").noconvert(), nb::arg("join_ptr").noconvert(),
            nb::arg("join_key").noconvert(), "Takes over a saved index, every key checked.");
}

} // namespace chaffinch::bindings
