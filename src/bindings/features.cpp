// The feature engine: from Python's strings to rows of feature ids.
#include "areas.hpp"
#include "arrays.hpp"
#include "feature_engine.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace chaffinch::bindings {

namespace {

const std::map<std::string_view, WordFunction> word_functions{
    {"identity", WordFunction::identity},
    {"lower", WordFunction::lower},
    {"shape", WordFunction::shape},
    {"long_shape", WordFunction::long_shape},
    {"prefix", WordFunction::prefix},
    {"suffix", WordFunction::suffix},
    {"caps", WordFunction::caps},
    {"digit", WordFunction::digit},
    {"hyphen", WordFunction::hyphen},
    {"fold", WordFunction::fold},
    {"length", WordFunction::length},
    {"punctuation", WordFunction::punctuation},
    {"preposition", WordFunction::preposition},
    {"cluster", WordFunction::cluster},
    {"external", WordFunction::external},
};

const std::map<std::string_view, SentenceFunction> sentence_functions{
    {"bos", SentenceFunction::bos},
    {"eos", SentenceFunction::eos},
    {"brackets", SentenceFunction::brackets},
    {"commas", SentenceFunction::commas},
    {"numbers", SentenceFunction::numbers},
    {"position", SentenceFunction::position},
    {"remaining", SentenceFunction::remaining},
    {"sentence_length", SentenceFunction::sentence_length},
    {"mostly_capitals", SentenceFunction::mostly_capitals},
    {"first_word", SentenceFunction::first_word},
    {"last_word", SentenceFunction::last_word},
    {"last_punctuation", SentenceFunction::last_punctuation},
    {"last_preposition", SentenceFunction::last_preposition},
    {"seen", SentenceFunction::seen},
    {"run_length", SentenceFunction::run_length},
    {"run_place", SentenceFunction::run_place},
    {"run", SentenceFunction::run},
    {"elsewhere", SentenceFunction::elsewhere},
    {"phrases", SentenceFunction::phrases},
    {"phrases_list", SentenceFunction::phrases_list},
};

// An element of a list, borrowed: the list is not changed meanwhile.
nb::handle item(const nb::list& list, std::size_t i) {
    return PyList_GetItem(list.ptr(), static_cast<Py_ssize_t>(i));
}

std::vector<std::string_view> views(const nb::list& strings) {
    std::vector<std::string_view> out;
    for (nb::handle s : strings) out.push_back(utf8(s));
    return out;
}

nb::list strings(const Interner& table) {
    nb::list out;
    for (std::int32_t id = 0; id < table.size(); ++id) out.append(nb::str(table[id].data(), table[id].size()));
    return out;
}

using RowArrays = std::tuple<nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>,
                             nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>,
                             nb::ndarray<nb::numpy, std::int32_t, nb::ndim<2>>>;

RowArrays handed_over(Rows&& rows, std::vector<std::int32_t>&& observations, std::size_t L) {
    const std::size_t T = rows.ptr.size() - 1;
    const auto nnz = static_cast<std::size_t>(rows.ptr.back());
    std::int32_t* ids = rows.ids.release();
    nb::capsule owner(ids, [](void* p) noexcept { std::free(p); });
    auto* kept = new std::vector<std::int32_t>(std::move(observations));
    nb::capsule keeper(kept, [](void* p) noexcept { delete static_cast<std::vector<std::int32_t>*>(p); });
    return {given(std::move(rows.ptr)),
            nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>(ids, {nnz}, owner),
            nb::ndarray<nb::numpy, std::int32_t, nb::ndim<2>>(kept->data(), {T, L}, keeper)};
}

// The engine and the words it has met since it was frozen. The cache is touched with the interpreter locked,
// and never across a call into Python.
class Engine {
  public:
    Engine(Design design, nb::callable kinds) : core(std::move(design)) {
        core.code_points().set_source([kinds](std::uint32_t page) {
            const auto made = nb::cast<nb::bytes>(kinds(page));
            CodePoints::Page out{};
            for (std::size_t i = 0; i < std::min(out.size(), made.size()); ++i)
                out[i] = static_cast<Kind>(static_cast<const char*>(made.data())[i]);
            return out;
        });
        empty_cache();
    }

    void empty_cache() {
        ++emptied;
        cache.clear();
        for (std::int32_t s = 0; s < core.design().sources; ++s) cache.push_back(core.words());
    }

    // Adds words that are not there yet. Everything that Python must be asked is asked first.
    void add(std::int32_t source, const nb::list& fresh, const nb::callable& external, bool growing, Words& words) {
        std::vector<std::pair<std::size_t, nb::list>> columns;
        for (std::size_t c = 0; c < core.design().words.size(); ++c)
            if (core.design().words[c].source == source &&
                core.design().words[c].function == WordFunction::external) {
                columns.emplace_back(c, nb::cast<nb::list>(external(c, fresh)));
                if (nb::len(columns.back().second) != nb::len(fresh))
                    throw nb::value_error("a column function must give one value per word");
            }
        const std::size_t n = nb::len(fresh);
        std::vector<nb::object> lowered(n);
        for (std::size_t i = 0; i < n; ++i) {
            const nb::handle word = item(fresh, i);
            const std::string_view text = utf8(word);
            if (is_ascii(text)) continue;
            lowered[i] = word.attr("lower")();
            for (std::size_t at = 0; at < text.size();) {
                const auto [c, bytes] = code_point(text, at);
                (void)core.code_points().kind(c);
                at += bytes;
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            const std::string_view text = utf8(item(fresh, i));
            const std::string_view lower = lowered[i].is_valid() ? utf8(lowered[i]) : text;
            const std::int32_t id = core.describe(source, text, lower, growing, words);
            for (const auto& [c, values] : columns) {
                const nb::handle value = item(values, i);
                if (value.is_none()) {
                    core.set_external(c, id, nullptr, growing, words);
                } else {
                    const std::string_view v = utf8(value);
                    core.set_external(c, id, &v, growing, words);
                }
            }
        }
    }

    FeatureEngine core;
    std::vector<Words> cache;  // [sources]
    std::int64_t emptied = 0;  // how often: ids into the cache are good for as long as this stays the same
};

Design design_of(std::int32_t sources, const std::vector<std::tuple<std::int32_t, std::string, std::int32_t>>& words,
                 const std::vector<std::pair<std::string, std::int32_t>>& sentences, std::vector<std::string> names,
                 const std::vector<std::tuple<std::vector<std::pair<std::int32_t, std::int32_t>>, bool,
                                              std::vector<std::int32_t>>>& templates,
                 bool marked) {
    const auto need = [](bool fine, const char* what) {
        if (!fine) throw nb::value_error(what);
    };
    Design out;
    out.sources = sources;
    out.names = std::move(names);
    out.marked = marked;
    for (const auto& [source, function, parameter] : words) {
        need(word_functions.contains(function), "no such function of a word");
        need(source >= 0 && source < sources && parameter >= 0, "word column out of range");
        out.words.push_back({source, word_functions.at(function), parameter});
    }
    for (const auto& [function, argument] : sentences) {
        need(sentence_functions.contains(function), "no such function of a sentence");
        need(sources > 0, "sentence columns need the words");
        out.sentences.push_back({sentence_functions.at(function), argument});
    }
    const std::size_t columns = out.words.size() + out.sentences.size();
    need(out.names.size() == columns, "one name per column");
    need(templates.size() < 0xFFFF, "at most 65,534 templates");
    for (const auto& [atoms, window, labels] : templates) {
        Template t{{}, window, labels};
        for (const auto& [column, offset] : atoms) {
            need(column >= 0 && static_cast<std::size_t>(column) < columns, "template of a column that is not there");
            need(offset >= -1000 && offset <= 1000, "offset beyond 1000 tokens");
            t.atoms.push_back({column, offset});
        }
        need(!window || (!t.atoms.empty() && labels.empty()), "a window has one column and no labels");
        out.templates.push_back(std::move(t));
    }
    return out;
}

// Sentence columns name a word column or a list of phrases; both must exist.
void check_arguments(const Design& design) {
    for (const SentenceColumn& column : design.sentences) {
        const auto within = [&](std::size_t n) {
            if (column.argument < 0 || static_cast<std::size_t>(column.argument) >= n)
                throw nb::value_error("sentence column without its argument");
        };
        switch (column.function) {
        case SentenceFunction::first_word:
        case SentenceFunction::last_word:
        case SentenceFunction::last_punctuation:
        case SentenceFunction::last_preposition: within(design.words.size()); break;
        case SentenceFunction::phrases_list: within(design.lists.size()); break;
        default: break;
        }
    }
    if (design.triggers.size() > 8) throw nb::value_error("at most 8 trigger words");
    if (design.lists.size() > static_cast<std::size_t>(Phrases::most_lists))
        throw nb::value_error("at most 64 lists of phrases");
}

// A token table as the engine reads it, with words of its own that no other call can touch.
struct Table {
    std::vector<Words> words;
    std::vector<std::vector<std::int32_t>> ids;
    Tokens tokens;
};

Table read_table(Engine& self, const In<std::int64_t>& ptr, const nb::list& columns,
                 const std::optional<In<std::int32_t>>& groups, const nb::callable& external, bool growing) {
    const auto S = static_cast<std::size_t>(self.core.design().sources);
    if (nb::len(columns) != S) throw nb::value_error("one column per source");
    if (ptr.size() == 0 || ptr.data()[0] != 0) throw nb::value_error("sentence bounds must start at 0");
    for (std::size_t i = 1; i < ptr.size(); ++i)
        if (ptr.data()[i] < ptr.data()[i - 1]) throw nb::value_error("sentence bounds must not fall");
    const auto T = static_cast<std::size_t>(ptr.data()[ptr.size() - 1]);
    Table out;
    out.words.reserve(S);
    for (std::size_t s = 0; s < S; ++s) {
        const auto [types, ids] = nb::cast<std::pair<nb::list, In<std::int32_t>>>(columns[s]);
        if (ids.size() != T) throw nb::value_error("one id per token");
        out.words.push_back(self.core.words());
        Words& words = out.words.back();
        self.add(static_cast<std::int32_t>(s), types, external, growing, words);
        std::vector<std::int32_t> id_of; // of each type; types should be distinct, but need not be
        for (nb::handle type : types) id_of.push_back(words.texts.find(utf8(type)));
        out.ids.emplace_back(T);
        for (std::size_t t = 0; t < T; ++t) {
            const std::int32_t id = ids.data()[t];
            if (id < -1 || id >= static_cast<std::int64_t>(id_of.size()))
                throw nb::value_error("a token's id is none of its column's types");
            out.ids.back()[t] = id < 0 ? -1 : id_of[id];
        }
    }
    out.tokens.ptr = span(ptr);
    for (std::size_t s = 0; s < S; ++s) {
        out.tokens.ids.emplace_back(out.ids[s]);
        out.tokens.words.push_back(&out.words[s]);
    }
    if (groups) {
        if (groups->size() + 1 != ptr.size()) throw nb::value_error("one group per sentence");
        out.tokens.groups = span(*groups);
    }
    return out;
}

// One sentence of one column: a list or tuple of strings, None where a token has nothing there.
class Sentence {
  public:
    Sentence(const nb::list& rows, std::size_t n) : row_(item(rows, n)), is_list_(PyList_Check(row_.ptr())) {
        if (!is_list_ && !PyTuple_Check(row_.ptr()))
            throw nb::type_error(("sentence " + std::to_string(n + 1) + ": expected a list of strings, found " +
                                  nb::cast<std::string>(nb::str(row_.type())))
                                     .c_str());
    }

    std::size_t size() const {
        return static_cast<std::size_t>(is_list_ ? PyList_Size(row_.ptr()) : PyTuple_Size(row_.ptr()));
    }

    nb::handle operator[](std::size_t i) const {
        const auto at = static_cast<Py_ssize_t>(i);
        return is_list_ ? PyList_GetItem(row_.ptr(), at) : PyTuple_GetItem(row_.ptr(), at);
    }

  private:
    nb::handle row_;
    bool is_list_;
};

// Sentences as lists of strings, one list of lists per source, through the cache.
class ListReader {
  public:
    static constexpr std::int64_t most = 1 << 13; // tokens gathered before the interpreter is let go

    ListReader(Engine& engine, const nb::list& columns, const nb::callable& external)
        : engine_(engine), external_(external) {
        const auto S = static_cast<std::size_t>(engine.core.design().sources);
        if (nb::len(columns) != S || S == 0) throw nb::value_error("one column per source");
        for (std::size_t s = 0; s < S; ++s) rows_.push_back(nb::cast<nb::list>(columns[s]));
        ids_.resize(S);
        ptr.reserve(nb::len(rows_[0]) + 1);
        ptr.push_back(0);
        for (std::size_t n = 0; n < nb::len(rows_[0]); ++n)
            ptr.push_back(ptr.back() + static_cast<std::int64_t>(Sentence(rows_[0], n).size()));
        for (std::size_t s = 1; s < S; ++s) check_shape(s);
    }

    std::size_t sentences() const { return ptr.size() - 1; }

    // The sentence after `first` up to which there are about `most` tokens.
    std::size_t stretch(std::size_t first) const {
        std::size_t last = first + 1;
        while (last < sentences() && ptr[last + 1] - ptr[first] <= most) ++last;
        return last;
    }

    void fill(std::size_t first, std::size_t last, Frame& frame) {
        for (bool complete = false; !complete;) {
            complete = true;
            for (std::size_t s = 0; s < rows_.size(); ++s) complete = resolve(s, first, last) && complete;
        }
        std::vector<std::int64_t> bounds(last - first + 1);
        for (std::size_t n = first; n <= last; ++n) bounds[n - first] = ptr[n] - ptr[first];
        Tokens tokens;
        tokens.ptr = bounds;
        for (std::size_t s = 0; s < rows_.size(); ++s) {
            tokens.ids.emplace_back(ids_[s]);
            tokens.words.push_back(&engine_.cache[s]);
        }
        engine_.core.fill(tokens, 0, last - first, frame);
    }

    std::vector<std::int64_t> ptr; // [N+1]

  private:
    // The ids of the words of one source, those that are new described; false if the cache was emptied while
    // Python ran for them, so that all ids must be asked for again.
    bool resolve(std::size_t s, std::size_t first, std::size_t last) {
        struct Unknown {
            std::size_t at;
            std::int32_t word;
        };
        const Words& words = engine_.cache[s];
        std::vector<std::int32_t>& ids = ids_[s];
        std::vector<Unknown> unknown;
        std::optional<Interner> texts; // of the words that are new, and the words themselves
        nb::list fresh;
        ids.clear();
        for (std::size_t n = first; n < last; ++n) {
            const Sentence sentence(rows_[s], n);
            const auto T = static_cast<std::size_t>(ptr[n + 1] - ptr[n]);
            if (sentence.size() != T) throw nb::value_error("a sentence changed while it was read");
            for (std::size_t t = 0; t < T; ++t) {
                const nb::handle word = sentence[t];
                std::int32_t id = -1;
                if (!word.is_none()) {
                    const std::string_view text = utf8(word);
                    id = words.texts.find(text);
                    if (id < 0) {
                        if (!texts) texts.emplace();
                        const std::int32_t known = texts->size();
                        unknown.push_back({ids.size(), texts->intern(text)});
                        if (texts->size() > known) fresh.append(word);
                    }
                }
                ids.push_back(id);
            }
        }
        if (unknown.empty()) return true;
        const std::int64_t before = engine_.emptied;
        engine_.add(static_cast<std::int32_t>(s), fresh, external_, false, engine_.cache[s]);
        if (engine_.emptied != before) return false;
        for (const Unknown& u : unknown) ids[u.at] = engine_.cache[s].texts.find((*texts)[u.word]);
        return true;
    }

    void check_shape(std::size_t s) const {
        const auto differ = [&](const std::string& what, std::size_t a, std::size_t b) {
            throw nb::value_error((what + "column 1 has " + std::to_string(a) + ", column " + std::to_string(s + 1) +
                                   " has " + std::to_string(b))
                                      .c_str());
        };
        if (nb::len(rows_[s]) != sentences()) differ("sentences: ", sentences(), nb::len(rows_[s]));
        for (std::size_t n = 0; n < sentences(); ++n) {
            const auto length = static_cast<std::size_t>(ptr[n + 1] - ptr[n]);
            const std::size_t here = Sentence(rows_[s], n).size();
            if (here != length) differ("tokens of sentence " + std::to_string(n + 1) + ": ", length, here);
        }
    }

    Engine& engine_;
    const nb::callable& external_;
    std::vector<nb::list> rows_;                  // [sources]
    std::vector<std::vector<std::int32_t>> ids_; // [sources], of the stretch at hand
};

std::pair<nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>, RowArrays>
find_lists(Engine& self, const nb::list& columns, const nb::callable& external) {
    if (std::ranges::any_of(self.cache, [](const Words& w) { return w.texts.size() > (1 << 20); }))
        self.empty_cache();
    ListReader reader(self, columns, external);
    const auto T = static_cast<std::size_t>(reader.ptr.back());
    const std::size_t L = self.core.n_labelled();
    Rows out;
    out.reserve(T * self.core.slots());
    out.ptr.assign(T + 1, 0);
    std::vector<std::int32_t> observations(T * L);
    std::size_t written = 0;
    Frame frame;
    for (std::size_t first = 0; first < reader.sentences();) {
        const std::size_t last = reader.stretch(first);
        reader.fill(first, last, frame);
        const auto base = static_cast<std::size_t>(reader.ptr[first]);
        nb::gil_scoped_release unlocked;
        written += self.core.find(frame, out.ptr.data() + base + 1, out.ids.get() + written,
                                  observations.data() + base * L);
        first = last;
    }
    for (std::size_t t = 0; t < T; ++t) out.ptr[t + 1] += out.ptr[t];
    out.shrink(written);
    return {given(std::move(reader.ptr)), handed_over(std::move(out), std::move(observations), L)};
}

} // namespace

void bind_features(nb::module_& m) {
    nb::class_<Engine>(m, "FeatureEngine", "Columns and templates to rows of feature ids.")
        .def(
            "__init__",
            [](Engine* self, std::int32_t sources,
               const std::vector<std::tuple<std::int32_t, std::string, std::int32_t>>& words,
               const std::vector<std::pair<std::string, std::int32_t>>& sentences, std::vector<std::string> names,
               const std::vector<std::tuple<std::vector<std::pair<std::int32_t, std::int32_t>>, bool,
                                            std::vector<std::int32_t>>>& templates,
               bool marked, std::vector<std::string> prepositions, std::vector<std::string> triggers,
               const std::vector<std::pair<std::string, nb::list>>& lists, bool fold, const nb::list& cluster_words,
               In<std::int32_t> cluster_path, const nb::list& cluster_paths, nb::callable kinds) {
                Design design = design_of(sources, words, sentences, std::move(names), templates, marked);
                design.prepositions = std::move(prepositions);
                design.triggers = std::move(triggers);
                design.phrases = Phrases(fold);
                for (const auto& [name, phrases] : lists) {
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
            nb::arg("sources"), nb::arg("words"), nb::arg("sentences"), nb::arg("names"), nb::arg("templates"),
            nb::arg("marked"), nb::arg("prepositions"), nb::arg("triggers"), nb::arg("lists"), nb::arg("fold"),
            nb::arg("cluster_words"), nb::arg("cluster_path").noconvert(), nb::arg("cluster_paths"),
            nb::arg("kinds"))
        .def_prop_ro("n_features", [](const Engine& self) { return self.core.n_features(); })
        .def_prop_ro("n_observations",
                     [](const Engine& self) {
                         std::vector<std::int32_t> out;
                         for (std::size_t l = 0; l < self.core.n_labelled(); ++l)
                             out.push_back(self.core.n_observations(l));
                         return out;
                     })
        .def_prop_ro("index_bytes", [](const Engine& self) { return self.core.index_bytes(); })
        .def(
            "fit",
            [](Engine& self, In<std::int64_t> ptr, const nb::list& columns, std::optional<In<std::int32_t>> groups,
               const nb::callable& external, std::int32_t min_count, std::size_t threads) {
                if (min_count < 1) throw nb::value_error("min_count must be >= 1");
                const Table table = read_table(self, ptr, columns, groups, external, true);
                std::vector<std::int32_t> observations;
                Rows rows;
                {
                    nb::gil_scoped_release unlocked;
                    rows = self.core.fit(table.tokens, min_count, threads, observations);
                }
                self.empty_cache();
                return handed_over(std::move(rows), std::move(observations), self.core.n_labelled());
            },
            nb::arg("ptr").noconvert(), nb::arg("columns"), nb::arg("groups").noconvert().none(), nb::arg("external"),
            nb::arg("min_count"), nb::arg("threads"),
            "Builds the index from a token table: row bounds, feature ids, and observations [T, label templates].")
        .def(
            "find_table",
            [](Engine& self, In<std::int64_t> ptr, const nb::list& columns, std::optional<In<std::int32_t>> groups,
               const nb::callable& external, std::size_t threads) {
                const Table table = read_table(self, ptr, columns, groups, external, false);
                std::vector<std::int32_t> observations;
                Rows rows;
                {
                    nb::gil_scoped_release unlocked;
                    rows = self.core.find(table.tokens, threads, observations);
                }
                return handed_over(std::move(rows), std::move(observations), self.core.n_labelled());
            },
            nb::arg("ptr").noconvert(), nb::arg("columns"), nb::arg("groups").noconvert().none(), nb::arg("external"),
            nb::arg("threads"), "The same with the frozen index: what it does not hold has no feature.")
        .def("find_lists", &find_lists, nb::arg("columns"), nb::arg("external"),
             "The same from lists of lists of strings; what is known of each word is kept for the next call.")
        .def(
            "feature_names",
            [](const Engine& self, In<std::int32_t> ids) {
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
            [](const Engine& self, std::size_t l, std::int32_t id) {
                if (l >= self.core.n_labelled() || id < 0 || id >= self.core.n_observations(l))
                    throw nb::index_error("no such observation");
                return self.core.observation_name(l, id);
            },
            nb::arg("template"), nb::arg("id"))
        .def(
            "counts",
            [](const Engine& self) {
                return given(std::vector<std::int32_t>(self.core.counts().begin(), self.core.counts().end()));
            },
            "How often each feature occurred in training; empty after a restore.")
        .def(
            "values", [](const Engine& self, std::size_t column) {
                if (column >= self.core.design().words.size()) throw nb::index_error("no such word column");
                return strings(self.core.values(column));
            },
            nb::arg("column"), "The values of a word column, by id.")
        .def("runs", [](const Engine& self) { return strings(self.core.runs()); })
        .def("state",
             [](const Engine& self) {
                 const IndexState& s = self.core.state();
                 return std::tuple(given(std::vector(s.feature_template)), given(std::vector(s.feature_key)),
                                   given(std::vector(s.observation_ptr)), given(std::vector(s.observation_key)),
                                   given(std::vector(s.join_ptr)), given(std::vector(s.join_key)));
             })
        .def(
            "restore",
            [](Engine& self, std::vector<std::vector<std::string>> values, const std::vector<std::string>& runs,
               In<std::uint16_t> feature_template, In<std::uint64_t> feature_key, In<std::int64_t> observation_ptr,
               In<std::uint64_t> observation_key, In<std::int64_t> join_ptr, In<std::uint64_t> join_key) {
                const auto copy = [](const auto& a) { return std::vector(a.data(), a.data() + a.size()); };
                IndexState state{copy(feature_template), copy(feature_key), copy(observation_ptr),
                                 copy(observation_key),  copy(join_ptr),    copy(join_key)};
                self.core.restore(std::move(values), runs, std::move(state));
                self.empty_cache();
            },
            nb::arg("values"), nb::arg("runs"), nb::arg("feature_template").noconvert(),
            nb::arg("feature_key").noconvert(), nb::arg("observation_ptr").noconvert(),
            nb::arg("observation_key").noconvert(), nb::arg("join_ptr").noconvert(), nb::arg("join_key").noconvert(),
            "Takes over a saved index, every key checked.");
}

} // namespace chaffinch::bindings
