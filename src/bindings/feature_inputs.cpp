#include "feature_inputs.hpp"

namespace chaffinch::bindings {

void describe_more(Engine &self, Vocabulary &vocabulary, const nb::list &types, const nb::callable &external, bool growing) {
    if (nb::len(types) != vocabulary.words.size()) throw nb::value_error("one vocabulary per source");
    for (std::size_t s = 0; s < vocabulary.words.size(); ++s) {
        const auto strings = nb::cast<nb::list>(types[s]);
        features::Words &words = vocabulary.words[s];
        self.add(static_cast<std::int32_t>(s), strings, external, growing, words);
        for (nb::handle type : strings) vocabulary.id_of[s].push_back(words.texts.find(utf8(type)));
    }
}

Vocabulary described(Engine &self, const nb::list &types, const nb::callable &external, bool growing) {
    const auto S = static_cast<std::size_t>(self.core.design().sources);
    Vocabulary out;
    for (std::size_t s = 0; s < S; ++s) out.words.push_back(self.core.words());
    out.id_of.resize(S);
    describe_more(self, out, types, external, growing);
    return out;
}

namespace {

// The number of tokens of sentences with these bounds.
std::size_t tokens_of(const In<std::int64_t> &ptr) {
    if (ptr.size() == 0 || ptr.data()[0] != 0) throw nb::value_error("sentence bounds must start at 0");
    for (std::size_t i = 1; i < ptr.size(); ++i)
        if (ptr.data()[i] < ptr.data()[i - 1]) throw nb::value_error("sentence bounds must not fall");
    return static_cast<std::size_t>(ptr.data()[ptr.size() - 1]);
}

// The words of a column, given its types, by the ids of the types; -1 stays -1.
std::vector<std::int32_t> words_of(const In<std::int32_t> &column, const std::vector<std::int32_t> &id_of,
                                   std::size_t T) {
    if (column.size() != T) throw nb::value_error("one id per token");
    std::vector<std::int32_t> out(T);
    for (std::size_t t = 0; t < T; ++t) {
        const std::int32_t id = column.data()[t];
        if (id < -1 || id >= static_cast<std::int64_t>(id_of.size()))
            throw nb::value_error("a token's id is none of its column's types");
        out[t] = id < 0 ? -1 : id_of[id];
    }
    return out;
}

// Points the table's tokens to its ids, to the words of each source, to the bounds and to the groups.
void connect(Table &out, const std::vector<features::Words> &words, const In<std::int64_t> &ptr,
             const std::optional<In<std::int32_t>> &groups) {
    out.tokens.ptr = span(ptr);
    for (std::size_t s = 0; s < words.size(); ++s) {
        out.tokens.ids.emplace_back(out.ids[s]);
        out.tokens.words.push_back(&words[s]);
    }
    if (groups) {
        if (groups->size() + 1 != ptr.size()) throw nb::value_error("one group per sentence");
        out.tokens.groups = span(*groups);
    }
}

} // namespace

Table read_block(const Vocabulary &vocabulary, const In<std::int64_t> &ptr, const nb::list &ids,
                 const std::optional<In<std::int32_t>> &groups) {
    const std::size_t S = vocabulary.words.size();
    if (nb::len(ids) != S) throw nb::value_error("one column per source");
    const std::size_t T = tokens_of(ptr);
    Table out;
    for (std::size_t s = 0; s < S; ++s)
        out.ids.push_back(words_of(nb::cast<In<std::int32_t>>(ids[s]), vocabulary.id_of[s], T));
    connect(out, vocabulary.words, ptr, groups);
    return out;
}

Table read_table(Engine &self, const In<std::int64_t> &ptr, const nb::list &columns,
                 const std::optional<In<std::int32_t>> &groups, const nb::callable &external, bool growing) {
    const auto S = static_cast<std::size_t>(self.core.design().sources);
    if (nb::len(columns) != S) throw nb::value_error("one column per source");
    const std::size_t T = tokens_of(ptr);
    Table out;
    out.words.reserve(S);
    for (std::size_t s = 0; s < S; ++s) {
        const auto [types, ids] = nb::cast<std::pair<nb::list, In<std::int32_t>>>(columns[s]);
        if (ids.size() != T) throw nb::value_error("one id per token");
        out.words.push_back(self.core.words());
        features::Words &words = out.words.back();
        self.add(static_cast<std::int32_t>(s), types, external, growing, words);
        std::vector<std::int32_t> id_of; // of each type; types should be distinct, but need not be
        for (nb::handle type : types) id_of.push_back(words.texts.find(utf8(type)));
        out.ids.push_back(words_of(ids, id_of, T));
    }
    connect(out, out.words, ptr, groups);
    return out;
}

} // namespace chaffinch::bindings
