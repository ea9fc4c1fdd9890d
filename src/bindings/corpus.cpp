// Column files: bytes in, sentences of interned columns out.
#include "areas.hpp"
#include "arrays.hpp"
#include "column_text.hpp"
#include "converters.hpp"
#include "relabel.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace chaffinch::bindings {

namespace {

text::Split split_named(const std::string& name) {
    if (name == "separator") return text::Split::separator;
    if (name == "spaces") return text::Split::spaces;
    if (name == "last") return text::Split::last;
    if (name == "whole") return text::Split::whole;
    throw nb::value_error("split must be separator, spaces, last or whole");
}

const char* fault_name(text::ColumnFault::Kind kind) {
    switch (kind) {
    case text::ColumnFault::Kind::columns: return "columns";
    case text::ColumnFault::Kind::empty_word: return "empty word";
    case text::ColumnFault::Kind::row_number: return "row number";
    case text::ColumnFault::Kind::long_line: return "long line";
    case text::ColumnFault::Kind::nul: return "nul";
    case text::ColumnFault::Kind::utf8: return "utf-8";
    case text::ColumnFault::Kind::carriage_return: return "carriage return";
    case text::ColumnFault::Kind::none: break;
    }
    return "";
}

void check(const text::ColumnRules& rules) {
    if (rules.columns < 1) throw nb::value_error("columns must be >= 1");
    if (rules.separator.empty()) throw nb::value_error("separator must not be empty");
    const auto outside = [&](std::int32_t c) { return c < 0 || c >= rules.columns; };
    if (outside(rules.word) || std::ranges::any_of(rules.kept, outside) || std::ranges::any_of(rules.marked, outside))
        throw nb::value_error("a kept column is out of range");
    if (!rules.marked.empty() && rules.split != text::Split::separator)
        throw nb::value_error("only cells between separators are marked");
    std::vector<std::int32_t> sorted = rules.kept;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) throw nb::value_error("a column is kept twice");
}

std::string_view view(const nb::bytes& chunk) { return {static_cast<const char*>(chunk.data()), chunk.size()}; }

nb::list strings(const text::Interner& types, std::int32_t first = 0) {
    nb::list out;
    for (std::int32_t id = first; id < types.size(); ++id) out.append(nb::str(types[id].data(), types[id].size()));
    return out;
}

nb::tuple taken(text::ColumnText& self, const std::vector<text::Interner*>& shared) {
    text::SentenceBlock block = [&] {
        Unlocked released;
        return self.take();
    }();
    expect(shared.empty() || shared.size() == block.columns.size(), "expected a table of types per column");
    nb::list columns;
    for (std::size_t k = 0; k < block.columns.size(); ++k) {
        text::SentenceBlock::Column& column = block.columns[k];
        const std::int32_t known = shared.empty() ? 0 : shared[k]->size();
        if (!shared.empty()) text::renumber(column.types, *shared[k], column.ids);
        nb::list types = shared.empty() ? strings(column.types) : strings(*shared[k], known);
        columns.append(nb::make_tuple(types, given(std::move(column.ids))));
    }
    nb::list remarks;
    for (std::size_t n = 0; n + 1 < block.heads.size() && self.keeps_remarks(); ++n) {
        nb::list head;
        for (std::int64_t r = block.heads[n]; r < block.heads[n + 1]; ++r)
            head.append(nb::str(block.remarks[r].data(), block.remarks[r].size()));
        remarks.append(head);
    }
    return nb::make_tuple(columns, given(std::move(block.ptr)), given(std::move(block.lines)),
                          given(std::move(block.groups)), remarks, given(std::move(block.places)));
}

nb::bytes relabelled(const nb::bytes& text, In<std::int64_t> places, const std::vector<std::vector<std::string>>& cells,
                     In<std::int32_t> ids) {
    expect(places.size() == 2 * cells.size() * ids.size(), "expected two places of every cell");
    expect(std::ranges::is_sorted(span(places)) &&
               (places.size() == 0 || (places.data()[0] >= 0 && span(places).back() <= static_cast<std::int64_t>(text.size()))),
           "expected places of the text in ascending order");
    for (const std::int32_t id : span(ids))
        for (const std::vector<std::string>& column : cells)
            expect(id >= 0 && static_cast<std::size_t>(id) < column.size(), "an id has no cell");
    const std::string made = [&] {
        Unlocked released;
        return text::relabelled(view(text), span(places), cells, span(ids));
    }();
    return nb::bytes(made.data(), made.size());
}

} // namespace

void bind_corpus(nb::module_& m) {
    nb::class_<text::ColumnText>(m, "ColumnText", "Reads a column file chunk by chunk.")
        .def(
            "__init__",
            [](text::ColumnText* self, const std::string& split, std::string separator, std::int32_t columns,
               std::vector<std::int32_t> kept, std::int32_t word, std::string comment, std::string group,
               bool stray_comments, bool number_rows, std::int64_t longest, std::int64_t line, bool remarks,
               std::vector<std::int32_t> marked) {
                text::ColumnRules rules{split_named(split), std::move(separator), columns,        std::move(kept), word,
                                  std::move(comment), std::move(group),     stray_comments, number_rows,     longest, remarks, std::move(marked)};
                check(rules);
                new (self) text::ColumnText(std::move(rules), line);
            },
            nb::kw_only(), nb::arg("split"), nb::arg("separator"), nb::arg("columns"), nb::arg("kept"),
            nb::arg("word"), nb::arg("comment"), nb::arg("group"), nb::arg("stray_comments"), nb::arg("number_rows"),
            nb::arg("longest"), nb::arg("line"), nb::arg("remarks"), nb::arg("marked"))
        .def(
            "feed",
            [](text::ColumnText& self, const nb::bytes& chunk) {
                const std::string_view bytes = view(chunk);
                Unlocked released;
                return self.feed(bytes);
            },
            nb::arg("chunk"), "Read on; False once something is wrong, see fault().")
        .def("finish", &text::ColumnText::finish, "The input has ended; False if something is wrong.")
        .def("take", &taken, nb::arg("shared") = std::vector<text::Interner*>(),
             nb::sig("def take(self, shared: list[Interner] = []) -> tuple"),
             "The sentences completed since the last call: (types, ids) per kept column, bounds [N+1], first lines "
             "[N], groups [N], remarks before each [N], or none if they are not kept, and places [tokens * marked * 2]. shared: tables to "
             "number the types by, one per kept column, of which only new ones are given.")
        .def(
            "fault",
            [](const text::ColumnText& self) {
                const text::ColumnFault& f = self.fault();
                return nb::make_tuple(fault_name(f.kind), f.line, f.found,
                                      nb::bytes(f.content.data(), f.content.size()));
            },
            nb::sig("def fault(self) -> tuple[str, int, int, bytes]"),
            "Kind ('' if all is well), line, cells found, and the start of the line.");
    m.def(
        "sound_prefix", [](const nb::bytes& bytes) { return text::sound_prefix(view(bytes)); }, nb::arg("bytes"),
        "How many bytes come before the first NUL or malformed UTF-8.");
    m.def(
        "occurrences", [](const nb::bytes& bytes, char sign) { return text::occurrences(view(bytes), sign); },
        nb::arg("bytes"), nb::arg("sign"), nb::sig("def occurrences(bytes: bytes, sign: str) -> int"),
        "How often an ASCII character occurs; faster than bytes.count if it is often.");
    m.def("relabelled", &relabelled, nb::arg("text"), nb::arg("places").noconvert(), nb::arg("cells"), nb::arg("ids").noconvert(),
          "Text with other cells, given by id; places int64 [tokens * columns * 2]: where each of them begins and ends.");
}

} // namespace chaffinch::bindings
