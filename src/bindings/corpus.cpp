// Column files: bytes in, sentences of interned columns out.
#include "areas.hpp"
#include "arrays.hpp"
#include "column_text.hpp"
#include "converters.hpp"
#include "labelled_rows.hpp"
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
    std::vector<std::int32_t> sorted = rules.kept;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) throw nb::value_error("a column is kept twice");
}

std::string_view view(const nb::bytes& chunk) { return {static_cast<const char*>(chunk.data()), chunk.size()}; }

nb::list strings(const text::Interner& types) {
    nb::list out;
    for (std::int32_t id = 0; id < types.size(); ++id) out.append(nb::str(types[id].data(), types[id].size()));
    return out;
}

nb::tuple taken(text::ColumnText& self) {
    text::SentenceBlock block = [&] {
        Unlocked released;
        return self.take();
    }();
    nb::list columns;
    for (text::SentenceBlock::Column& column : block.columns)
        columns.append(nb::make_tuple(strings(column.types), given(std::move(column.ids))));
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

// Whether places of cells ascend within the text.
bool ascend_within(const In<std::int64_t>& places, std::size_t bytes) {
    return std::ranges::is_sorted(span(places)) &&
           (places.size() == 0 || (places.data()[0] >= 0 && span(places).back() <= static_cast<std::int64_t>(bytes)));
}

bool all_below(const In<std::int32_t>& ids, std::size_t labels) {
    bool below = true; // looked at in full, as vectors
    for (const std::int32_t id : span(ids)) below &= id >= 0 && static_cast<std::size_t>(id) < labels;
    return below;
}

// Bytes written in place: made.size() of them.
template <class Made> nb::bytes written(const Made& made) {
    const std::size_t size = made.size();
    nb::bytes out = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
    if (!out.is_valid()) throw nb::python_error();
    char* const to = PyBytes_AsString(out.ptr());
    Unlocked released;
    made.write(to, size);
    return out;
}

nb::bytes relabelled(const nb::bytes& text, In<std::int64_t> places, const std::vector<std::vector<std::string>>& cells,
                     In<std::int32_t> ids, const nb::bytes& end) {
    expect(places.size() == 2 * cells.size() * ids.size(), "expected two places of every cell");
    expect(ascend_within(places, text.size()), "expected places of the text in ascending order");
    for (const std::vector<std::string>& column : cells) expect(all_below(ids, column.size()), "an id has no cell");
    return written(text::RelabelledText{view(text), span(places), cells, span(ids), view(end)});
}

nb::bytes labelled_rows(const nb::bytes& text, std::size_t skipped, In<std::int64_t> ptr, In<std::int64_t> places,
                        std::size_t columns, const std::string& separator, const std::vector<std::string>& labels,
                        In<std::int32_t> ids) {
    expect(skipped <= text.size(), "expected no more skipped bytes than the text has");
    expect(ptr.size() >= 1 && ptr.data()[0] == 0 && std::ranges::is_sorted(span(ptr)) &&
               static_cast<std::size_t>(span(ptr).back()) == ids.size(),
           "expected bounds of sentences of all tokens");
    expect(places.size() == 2 * columns * ids.size(), "expected two places of every cell");
    expect(ascend_within(places, text.size() - skipped), "expected places of the text in ascending order");
    expect(all_below(ids, labels.size()), "an id has no label");
    return written(text::LabelledRows{view(text).substr(skipped), span(ptr), span(places), columns, separator, labels, span(ids)});
}

} // namespace

void bind_corpus(nb::module_& m) {
    nb::class_<text::ColumnText>(m, "ColumnText", "Reads a column file chunk by chunk.")
        .def(
            "__init__",
            [](text::ColumnText* self, const std::string& split, std::string separator, std::int32_t columns,
               std::vector<std::int32_t> kept, std::int32_t word, std::string comment, std::string group,
               bool stray_comments, bool number_rows, std::int64_t longest, std::int64_t line, bool remarks,
               std::vector<std::int32_t> marked, std::vector<text::Interner*> shared) {
                text::ColumnRules rules{split_named(split), std::move(separator), columns,        std::move(kept), word,
                                  std::move(comment), std::move(group),     stray_comments, number_rows,     longest, remarks, std::move(marked)};
                check(rules);
                expect(shared.empty() || shared.size() == rules.kept.size(), "expected a table of types per kept column");
                new (self) text::ColumnText(std::move(rules), line, std::move(shared));
            },
            nb::kw_only(), nb::arg("split"), nb::arg("separator"), nb::arg("columns"), nb::arg("kept"),
            nb::arg("word"), nb::arg("comment"), nb::arg("group"), nb::arg("stray_comments"), nb::arg("number_rows"),
            nb::arg("longest"), nb::arg("line"), nb::arg("remarks"), nb::arg("marked"),
            nb::arg("shared") = std::vector<text::Interner*>(), nb::keep_alive<1, 15>(),
            nb::sig("def __init__(self, *, split: str, separator: str, columns: int, kept: Sequence[int], word: int, comment: str, "
                    "group: str, stray_comments: bool, number_rows: bool, longest: int, line: int, remarks: bool, "
                    "marked: Sequence[int], shared: list[Interner] = []) -> None"),
            "shared: tables to number the types by, one per kept column.")
        .def(
            "feed",
            [](text::ColumnText& self, const nb::bytes& chunk) {
                const std::string_view bytes = view(chunk);
                Unlocked released;
                return self.feed(bytes);
            },
            nb::arg("chunk"), "Read on; False once something is wrong, see fault().")
        .def("finish", &text::ColumnText::finish, "The input has ended; False if something is wrong.")
        .def("take", &taken, nb::sig("def take(self) -> tuple"),
             "The sentences completed since the last call: (types, ids) per kept column, no types if they are shared, bounds [N+1], first "
             "lines [N], groups [N], remarks before each [N], or none if they are not kept, and places [tokens * marked * 2].")
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
          nb::arg("end") = nb::bytes("", 0),
          nb::sig("def relabelled(text: bytes, places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', "
                  "writable=False)], cells: Sequence[Sequence[str]], ids: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', "
                  "device='cpu', writable=False)], end: bytes = b'') -> bytes"),
          "Text with other cells, given by id, and an end; places int64 [tokens * columns * 2]: where each of them begins and ends.");
    m.def("labelled_rows", &labelled_rows, nb::arg("text"), nb::arg("skipped"), nb::arg("ptr").noconvert(), nb::arg("places").noconvert(),
          nb::arg("columns"), nb::arg("separator"), nb::arg("labels"), nb::arg("ids").noconvert(),
          "Cells of the text after some skipped bytes as lines, with the label of each token as its last cell, and a blank line after each "
          "sentence; places int64 [tokens * columns * 2].");
}

} // namespace chaffinch::bindings
