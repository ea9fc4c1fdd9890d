// The inputs of the feature engine: token tables, and lists of strings through a cache of words.
#pragma once

#include "arrays.hpp"
#include "feature_engine.hpp"
#include "pair_converter.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace chaffinch::bindings {

// An element of a list, borrowed: the list is not changed meanwhile.
inline nb::handle item(const nb::list &list, std::size_t i) {
    return PyList_GetItem(list.ptr(), static_cast<Py_ssize_t>(i));
}

// The engine and the words seen since it was frozen. The cache is used with the interpreter locked, and never across a
// call into Python.
class Engine {
  public:
    Engine(features::Design design, nb::callable kinds) : core(std::move(design)) {
        core.code_points().set_source([kinds](std::uint32_t page) {
            const auto made = nb::cast<nb::bytes>(kinds(page));
            text::CodePoints::Page out{};
            for (std::size_t i = 0; i < std::min(out.size(), made.size()); ++i)
                out[i] = static_cast<text::Kind>(static_cast<const char *>(made.data())[i]);
            return out;
        });
        empty_cache();
    }

    explicit Engine(features::FeatureEngine engine) : core(std::move(engine)) { empty_cache(); }

    void empty_cache() {
        ++emptied;
        cache.clear();
        for (std::int32_t s = 0; s < core.design().sources; ++s) cache.push_back(core.words());
    }

    // Adds new words. All calls into Python come first.
    void add(std::int32_t source, const nb::list &fresh, const nb::callable &external, bool growing,
             features::Words &words) {
        std::vector<std::pair<std::size_t, nb::list>> columns;
        for (std::size_t c = 0; c < core.design().words.size(); ++c)
            if (core.design().words[c].source == source &&
                core.design().words[c].function == text::WordFunction::external) {
                columns.emplace_back(c, nb::cast<nb::list>(external(c, fresh)));
                if (nb::len(columns.back().second) != nb::len(fresh))
                    throw nb::value_error("a column function must give one value per word");
            }
        const std::size_t n = nb::len(fresh);
        std::vector<nb::object> lowered(n);
        for (std::size_t i = 0; i < n; ++i) {
            const nb::handle word = item(fresh, i);
            const std::string_view text = utf8(word);
            if (text::is_ascii(text)) continue;
            lowered[i] = word.attr("lower")();
            for (std::size_t at = 0; at < text.size();) {
                const auto [c, bytes] = text::code_point(text, at);
                (void)core.code_points().kind(c);
                at += bytes;
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            const std::string_view text = utf8(item(fresh, i));
            const std::string_view lower = lowered[i].is_valid() ? utf8(lowered[i]) : text;
            const std::int32_t id = core.describe(source, text, lower, growing, words);
            for (const auto &[c, values] : columns) {
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

    features::FeatureEngine core;
    std::vector<features::Words> cache; // [sources]
    std::int64_t emptied = 0; // how often: ids into the cache are good for as long as this stays the same
};

// A token table as the engine reads it, with words of its own that no other call can touch.
struct Table {
    std::vector<features::Words> words;
    std::vector<std::vector<std::int32_t>> ids;
    features::Tokens tokens;
};

// The words of a vocabulary, described once for the tables of many blocks whose ids point into it.
struct Vocabulary {
    std::vector<features::Words> words;            // [sources]
    std::vector<std::vector<std::int32_t>> id_of; // [sources][types]
};

Vocabulary described(Engine &self, const nb::list &types, const nb::callable &external, bool growing);

// Adds words to each source's vocabulary.
void describe_more(Engine &self, Vocabulary &vocabulary, const nb::list &types, const nb::callable &external, bool growing);

// A block of a corpus with this vocabulary; it points into both, and into ptr and groups.
Table read_block(const Vocabulary &vocabulary, const In<std::int64_t> &ptr, const nb::list &ids,
                 const std::optional<In<std::int32_t>> &groups);

Table read_table(Engine &self, const In<std::int64_t> &ptr, const nb::list &columns,
                 const std::optional<In<std::int32_t>> &groups, const nb::callable &external, bool growing);

// One sentence of one column: a list or tuple of strings, None if a token has no value.
class Sentence {
  public:
    Sentence(const nb::list &rows, std::size_t n) : row_(item(rows, n)), is_list_(PyList_Check(row_.ptr())) {
        if (!is_list_ && !PyTuple_Check(row_.ptr()))
            throw nb::type_error(("sentence " + std::to_string(n + 1) +
                                  ": expected a list of strings, found " +
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

    // missing: None is a missing value; otherwise it is refused
    ListReader(Engine &engine, const nb::list &columns, const nb::callable &external, bool missing)
        : engine_(engine), external_(external), missing_(missing) {
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

    void fill(std::size_t first, std::size_t last, features::Frame &frame) {
        for (bool complete = false; !complete;) {
            complete = true;
            for (std::size_t s = 0; s < rows_.size(); ++s) complete = resolve(s, first, last) && complete;
        }
        std::vector<std::int64_t> bounds(last - first + 1);
        for (std::size_t n = first; n <= last; ++n) bounds[n - first] = ptr[n] - ptr[first];
        features::Tokens tokens;
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
        const features::Words &words = engine_.cache[s];
        std::vector<std::int32_t> &ids = ids_[s];
        std::vector<Unknown> unknown;
        std::optional<text::Interner> texts; // of the words that are new, and the words themselves
        nb::list fresh;
        ids.clear();
        for (std::size_t n = first; n < last; ++n) {
            const Sentence sentence(rows_[s], n);
            const auto T = static_cast<std::size_t>(ptr[n + 1] - ptr[n]);
            if (sentence.size() != T) throw nb::value_error("a sentence changed while it was read");
            for (std::size_t t = 0; t < T; ++t) {
                const nb::handle word = sentence[t];
                std::int32_t id = -1;
                if (!(missing_ && word.is_none())) {
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
        for (const Unknown &u : unknown) ids[u.at] = engine_.cache[s].texts.find((*texts)[u.word]);
        return true;
    }

    void check_shape(std::size_t s) const {
        const auto differ = [&](const std::string &what, std::size_t a, std::size_t b) {
            throw nb::value_error((what + "column 1 has " + std::to_string(a) + ", column " +
                                   std::to_string(s + 1) + " has " + std::to_string(b))
                                      .c_str());
        };
        if (nb::len(rows_[s]) != sentences()) differ("sentences: ", sentences(), nb::len(rows_[s]));
        for (std::size_t n = 0; n < sentences(); ++n) {
            const auto length = static_cast<std::size_t>(ptr[n + 1] - ptr[n]);
            const std::size_t here = Sentence(rows_[s], n).size();
            if (here != length) differ("tokens of sentence " + std::to_string(n + 1) + ": ", length, here);
        }
    }

    Engine &engine_;
    const nb::callable &external_;
    const bool missing_;
    std::vector<nb::list> rows_;                 // [sources]
    std::vector<std::vector<std::int32_t>> ids_; // [sources], of the stretch at hand
};

} // namespace chaffinch::bindings
