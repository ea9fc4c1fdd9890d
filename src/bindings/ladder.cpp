// Emission symbols: which row of an emission table a word reads.
#include "converters.hpp"
#include "ladder.hpp"

#include "areas.hpp"
#include "arrays.hpp"

#include <algorithm>
#include <memory>
#include <tuple>

namespace chaffinch::bindings {

namespace {

learners::Ladder ladder_named(const std::string& name) {
    if (name == "one") return learners::Ladder::one;
    if (name == "classes") return learners::Ladder::classes;
    if (name == "suffix") return learners::Ladder::suffix;
    throw nb::value_error("a ladder is one, classes or suffix");
}

// Python's strings and its knowledge of Unicode; the core sees bytes and kinds.
class Reader {
  public:
    Reader(learners::Ladder ladder, nb::callable kinds) : climber_(ladder), points_(std::make_unique<text::CodePoints>()) {
        points_->set_source([kinds](std::uint32_t page) {
            const auto made = nb::cast<nb::bytes>(kinds(page));
            text::CodePoints::Page out{};
            for (std::size_t i = 0; i < std::min(out.size(), made.size()); ++i)
                out[i] = static_cast<text::Kind>(static_cast<const char*>(made.data())[i]);
            return out;
        });
    }

    // text: UTF-8
    const std::vector<std::string>& climb(std::string_view text) {
        const bool ascii = std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
        if (ascii) {
            lower_.assign(text);
            for (char& c : lower_)
                if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        } else {
            lower_ = utf8(nb::object(nb::str(text.data(), text.size()).attr("lower")()));
        }
        return climber_.climb(text, lower_, *points_);
    }

  private:
    learners::Climber climber_;
    std::unique_ptr<text::CodePoints> points_;
    std::string lower_;
};

struct Index {
    Index(const std::string& ladder, nb::callable kinds) : reader(ladder_named(ladder), std::move(kinds)) {}

    std::int32_t find(std::string_view word) {
        const std::int32_t known = symbols.words.find(word);
        return known != text::Interner::absent ? known : symbols.rung(reader.climb(word));
    }

    learners::EmissionSymbols symbols;
    Reader reader;
};

void intern_all(const nb::list& strings, text::Interner& table, const char* repeated) {
    for (nb::handle s : strings) table.intern(utf8(s));
    if (table.size() != static_cast<std::int32_t>(nb::len(strings))) throw nb::value_error(repeated);
}

} // namespace

void bind_ladder(nb::module_& m) {
    nb::class_<Index>(m, "EmissionSymbols", "Words, and the rungs that unseen words stand on, as one row of symbols.")
        .def("__init__",
             [](Index* self, nb::list words, nb::list rungs, const std::string& ladder, nb::callable kinds) {
                 new (self) Index(ladder, std::move(kinds));
                 intern_all(words, self->symbols.words, "a word is given twice");
                 intern_all(rungs, self->symbols.rungs, "a rung is given twice");
             },
             nb::arg("words"), nb::arg("rungs"), nb::arg("ladder"), nb::arg("kinds"))
        .def("__len__", [](const Index& self) { return self.symbols.size(); })
        .def(
            "find",
            [](Index& self, nb::list types) {
                std::vector<std::int32_t> out;
                out.reserve(nb::len(types));
                for (nb::handle word : types) out.push_back(self.find(utf8(word)));
                return given(std::move(out));
            },
            nb::arg("types"), "The symbol of each word: its own, or its narrowest known rung.")
        .def(
            "find_interned",
            [](Index& self, const text::Interner& types, std::int32_t first) {
                expect(first >= 0 && first <= types.size(), "expected an id of the types");
                std::vector<text::HashedString> words;
                for (std::int32_t id = first; id < types.size(); ++id) words.push_back({types[id], types.hash(id)});
                std::vector<std::int32_t> out(words.size());
                self.symbols.words.find_all(words, out.data());
                for (std::size_t i = 0; i < words.size(); ++i)
                    if (out[i] == text::Interner::absent) out[i] = self.symbols.rung(self.reader.climb(words[i].text));
                return given(std::move(out));
            },
            nb::arg("types"), nb::arg("first"), "The same of the words of a table from an id on.");
    m.def(
        "ladders",
        [](nb::list types, const std::string& ladder, nb::callable kinds) {
            Reader reader(ladder_named(ladder), std::move(kinds));
            text::Interner rungs;
            std::vector<std::int64_t> ptr{0};
            std::vector<std::int32_t> ids;
            for (nb::handle word : types) {
                for (const std::string& rung : reader.climb(utf8(word))) ids.push_back(rungs.intern(rung));
                ptr.push_back(static_cast<std::int64_t>(ids.size()));
            }
            nb::list names;
            for (std::int32_t r = 0; r < rungs.size(); ++r) names.append(nb::str(rungs[r].data(), rungs[r].size()));
            return std::tuple(given(std::move(ptr)), given(std::move(ids)), names);
        },
        nb::arg("types"), nb::arg("ladder"), nb::arg("kinds"),
        "The ladders of words as rows of rung ids: ptr [N+1], ids, and the rungs' names; widest first.");
}

} // namespace chaffinch::bindings
