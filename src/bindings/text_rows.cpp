// Files of texts in rows: delimited cells and JSON objects, kept in the core between reading and writing.
#include "areas.hpp"
#include "arrays.hpp"
#include "converters.hpp"
#include "delimited.hpp"
#include "held_texts.hpp"
#include "json_rows.hpp"
#include "token_objects.hpp"
#include "word_functions.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// The type of a column to write, in stubs.
#define CELL_COLUMN "int | list[str] | tuple[CellTypes, NDArray[numpy.int32]]"

namespace chaffinch::bindings {

namespace {

using Cells = std::vector<std::string_view>;

// owner: holds the bytes of the cells
struct HeldCells {
    text::CellTable table;
    nb::object owner;

    std::size_t rows() const { return table.columns.empty() ? 0 : table.columns[0].size(); }

    const Cells& column(std::size_t at) const {
        expect(at < table.columns.size(), "there is no such column");
        return table.columns[at];
    }
};

struct HeldObjects {
    text::JsonRows rows;
    nb::object owner;
};

struct HeldSentences {
    text::TokenObjects rows;
    nb::object owner;
};

// Strings that cells are chosen from by number.
struct CellTypes {
    nb::list strings; // holds the bytes
    Cells cells;
};

std::string_view view(const nb::bytes& bytes) { return {static_cast<const char*>(bytes.data()), bytes.size()}; }

nb::bytes as_bytes(const std::string& made) { return nb::bytes(made.data(), made.size()); }

template <class Item> nb::list strings(std::size_t n, Item item) {
    nb::list out = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(n)));
    for (std::size_t i = 0; i < n; ++i) {
        const std::string_view s = item(i);
        PyList_SetItem(out.ptr(), static_cast<Py_ssize_t>(i), nb::str(s.data(), s.size()).release().ptr());
    }
    return out;
}

Cells cells_of_list(nb::handle list) {
    expect(nb::isinstance<nb::list>(list), "expected a list of strings");
    const auto N = static_cast<Py_ssize_t>(nb::len(list));
    Cells cells;
    cells.reserve(static_cast<std::size_t>(N));
    for (Py_ssize_t i = 0; i < N; ++i) cells.push_back(utf8(PyList_GetItem(list.ptr(), i)));
    return cells;
}

HeldTexts held_texts(Cells texts, nb::object owner) {
    const bool ascii = std::ranges::all_of(texts, [](std::string_view text) { return text::is_ascii(text); });
    return {std::move(texts), ascii, std::move(owner)};
}

// The cells of a pair of types and ids.
Cells chosen_cells(nb::handle pair) {
    const auto& types = nb::cast<const CellTypes&>(pair[0]).cells;
    const auto ids = nb::cast<In<std::int32_t>>(pair[1], false);
    Cells cells;
    cells.reserve(ids.size());
    for (const std::int32_t id : span(ids)) {
        expect(id >= 0 && static_cast<std::size_t>(id) < types.size(), "an id has no cell");
        cells.push_back(types[static_cast<std::size_t>(id)]);
    }
    return cells;
}

// Columns to write: each is the place of a column of the table, a list of strings, or types and ids; all are equally long.
struct GivenColumns {
    std::deque<Cells> own;
    std::vector<std::span<const std::string_view>> columns;
    std::size_t rows = 0;

    explicit GivenColumns(const nb::list& given, const HeldCells* table = nullptr) {
        expect(nb::len(given) > 0, "expected at least one column");
        for (nb::handle column : given) {
            if (table != nullptr && nb::isinstance<nb::int_>(column))
                columns.emplace_back(table->column(nb::cast<std::size_t>(column)));
            else if (nb::isinstance<nb::tuple>(column))
                columns.emplace_back(own.emplace_back(chosen_cells(column)));
            else
                columns.emplace_back(own.emplace_back(cells_of_list(column)));
        }
        rows = columns[0].size();
        for (const std::span<const std::string_view> column : columns)
            expect(column.size() == rows, "expected columns of equal length");
    }
};

nb::bytes delimited_lines(const GivenColumns& given, const std::string& sign, bool quoted) {
    const std::string made = [&] {
        Unlocked released;
        return text::joined_rows(given.columns, given.rows, sign, quoted);
    }();
    return as_bytes(made);
}

text::JsonForm form_named(const std::string& name) {
    if (name == "string") return text::JsonForm::string;
    if (name == "optional") return text::JsonForm::optional;
    if (name == "spelt") return text::JsonForm::spelt;
    throw nb::value_error("form must be string, optional or spelt");
}

std::vector<text::JsonColumn> json_columns(const std::vector<std::string>& names, const std::vector<std::string>& forms,
                                           const GivenColumns& given) {
    expect(names.size() == given.columns.size() && forms.size() == names.size(), "expected a name and a form per column");
    std::vector<text::JsonColumn> columns;
    for (std::size_t c = 0; c < names.size(); ++c) columns.push_back({names[c], form_named(forms[c]), given.columns[c]});
    return columns;
}

void bind_token_objects(nb::module_& m) {
    nb::class_<HeldSentences>(m, "TokenObjects", "Sentences that are JSON objects with lists of words and tags, one per line.")
        .def("__len__", [](const HeldSentences& self) { return self.rows.ids.size(); })
        .def(
            "columns",
            [](const HeldSentences& self) {
                nb::list columns;
                for (const text::TokenObjects::Column& column : self.rows.columns) {
                    nb::list types = strings(static_cast<std::size_t>(column.types.size()),
                                             [&](std::size_t i) { return column.types[static_cast<std::int32_t>(i)]; });
                    columns.append(nb::make_tuple(types, given(std::vector(column.ids))));
                }
                return nb::make_tuple(given(std::vector(self.rows.ptr)), columns);
            },
            nb::sig("def columns(self) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], "
                    "list[tuple[list[str], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]]]"),
            "Bounds of the sentences int64 [N+1], and types, none if they are shared, and ids int32 [tokens] of each list that is kept.")
        .def(
            "lines",
            [](const HeldSentences& self, const std::vector<std::string>& labels, In<std::int32_t> ids) {
                expect(static_cast<std::int64_t>(ids.size()) == self.rows.ptr.back(), "expected a label per token");
                for (const std::int32_t id : span(ids))
                    expect(id >= 0 && static_cast<std::size_t>(id) < labels.size(), "an id has no label");
                const std::string made = [&] {
                    Unlocked released;
                    return text::labelled_lines(self.rows, labels, span(ids));
                }();
                return as_bytes(made);
            },
            nb::arg("labels"), nb::arg("ids").noconvert(),
            "The objects with labels, given by id and spelt as JSON, as the list of tags.");
    m.def(
        "token_objects",
        [](const nb::bytes& lines, std::string words, std::vector<std::string> others, std::string tags,
           std::vector<std::size_t> kept, const std::vector<text::Interner*>& shared) -> nb::object {
            expect(shared.empty() || shared.size() == kept.size(), "expected a table of types per kept list");
            text::TokenKeys keys{std::move(words), std::move(others), std::move(tags), std::move(kept)};
            for (const std::size_t list : keys.kept) expect(list < keys.lists(), "there is no such list");
            std::optional<text::TokenObjects> rows = [&] {
                Unlocked released;
                return text::read_token_objects(view(lines), std::move(keys), shared);
            }();
            if (!rows) return nb::none();
            return nb::cast(HeldSentences{std::move(*rows), nb::borrow(lines)});
        },
        nb::arg("lines"), nb::arg("words"), nb::arg("others"), nb::arg("tags"), nb::arg("kept"),
        nb::arg("shared") = std::vector<text::Interner*>(),
        nb::sig("def token_objects(lines: bytes, words: str, others: list[str], tags: str, kept: list[int], shared: list[Interner] = []) "
                "-> TokenObjects | None"),
        "Sentences of lines of UTF-8, by the keys of their lists; None if one is not plain. tags: '' if there are none; kept: the "
        "lists that become columns, 0 for the words, then the others, then the tags; shared: tables to number their types by");
}

} // namespace

void bind_text_rows(nb::module_& m) {
    nb::class_<HeldTexts>(m, "Texts", "Texts that stay in the core.")
        .def("__len__", [](const HeldTexts& self) { return self.texts.size(); })
        .def_prop_ro("ascii", [](const HeldTexts& self) { return self.ascii; }, "Whether all are ASCII.")
        .def(
            "strings",
            [](const HeldTexts& self) { return strings(self.texts.size(), [&](std::size_t i) { return self.texts[i]; }); },
            nb::sig("def strings(self) -> list[str]"))
        .def(
            "lowered",
            [](nb::handle_t<HeldTexts> self) {
                const auto& held = nb::cast<const HeldTexts&>(self);
                Cells texts = held.texts;
                nb::list kept;
                for (std::string_view& text : texts)
                    if (!held.ascii && !text::is_ascii(text)) {
                        nb::object lower = nb::str(text.data(), text.size()).attr("lower")();
                        text = utf8(lower);
                        kept.append(lower);
                    }
                return HeldTexts{std::move(texts), held.ascii, nb::make_tuple(self, kept)};
            },
            "The same with texts beyond ASCII in lower case; the encoder converts the others.");
    nb::class_<CellTypes>(m, "CellTypes", "Strings that cells are chosen from.")
        .def(
            "__init__",
            [](CellTypes* self, const nb::list& strings) {
                nb::list own(strings); // a copy: the cells are views of its strings
                Cells cells = cells_of_list(own);
                new (self) CellTypes{std::move(own), std::move(cells)};
            },
            nb::arg("strings"), nb::sig("def __init__(self, strings: list[str]) -> None"))
        .def("__len__", [](const CellTypes& self) { return self.cells.size(); })
        .def("strings", [](const CellTypes& self) { return nb::list(self.strings); }, nb::sig("def strings(self) -> list[str]"));
    nb::class_<HeldCells>(m, "CellTable", "Rows of cells by column.")
        .def(
            "__init__",
            [](HeldCells* self, const nb::list& columns) {
                text::CellTable table;
                nb::list kept;
                for (nb::handle column : columns) {
                    nb::list own(column); // a copy: the cells are views of its strings
                    table.columns.push_back(cells_of_list(own));
                    kept.append(own);
                }
                for (const Cells& column : table.columns)
                    expect(column.size() == table.columns[0].size(), "expected columns of equal length");
                new (self) HeldCells{std::move(table), std::move(kept)};
            },
            nb::arg("columns"), nb::sig("def __init__(self, columns: list[list[str]]) -> None"))
        .def("__len__", &HeldCells::rows)
        .def_prop_ro("width", [](const HeldCells& self) { return self.table.columns.size(); }, "Columns.")
        .def(
            "strings",
            [](const HeldCells& self, std::size_t column) {
                const Cells& cells = self.column(column);
                return strings(cells.size(), [&](std::size_t i) { return cells[i]; });
            },
            nb::arg("column"), nb::sig("def strings(self, column: int) -> list[str]"), "The cells of a column.")
        .def(
            "texts",
            [](nb::handle_t<HeldCells> self, std::size_t column) {
                return held_texts(nb::cast<const HeldCells&>(self).column(column), nb::borrow(self));
            },
            nb::arg("column"), "The cells of a column, which stay in the core.")
        .def(
            "filled",
            [](const HeldCells& self, std::size_t column) {
                return std::ranges::any_of(self.column(column), [](std::string_view cell) { return !cell.empty(); });
            },
            nb::arg("column"), "Whether a cell of a column is not empty.")
        .def(
            "pop_row",
            [](HeldCells& self) {
                expect(self.rows() > 0, "there is no row");
                nb::list row = strings(self.table.columns.size(), [&](std::size_t c) { return self.table.columns[c][0]; });
                for (Cells& column : self.table.columns) column.erase(column.begin());
                return row;
            },
            nb::sig("def pop_row(self) -> list[str]"), "Remove the first row, and return its cells.")
        .def(
            "lines",
            [](const HeldCells& self, const nb::list& columns, const std::string& sign, bool quoted) {
                return delimited_lines(GivenColumns(columns, &self), sign, quoted);
            },
            nb::arg("columns"), nb::arg("sign"), nb::arg("quoted"),
            nb::sig("def lines(self, columns: list[" CELL_COLUMN "], sign: str, quoted: bool) -> bytes"),
            "Rows of some columns, by place, and of further cells, as lists or as types and ids. quoted: as in CSV, if a cell needs it")
        .def(
            "json_lines",
            [](const HeldCells& self, const std::vector<std::string>& names, const std::vector<std::string>& forms,
               const nb::list& columns) {
                const GivenColumns given(columns, &self);
                const std::vector<text::JsonColumn> fields = json_columns(names, forms, given);
                const std::string made = [&] {
                    Unlocked released;
                    return text::json_lines(fields, given.rows);
                }();
                return as_bytes(made);
            },
            nb::arg("names"), nb::arg("forms"), nb::arg("columns"),
            nb::sig("def json_lines(self, names: list[str], forms: list[str], columns: list[" CELL_COLUMN "]) -> bytes"),
            "Objects of some columns, by place, and of lists of further cells, which are strings, optional (strings that "
            "are left out if they are empty) or JSON as it is spelt.");
    nb::class_<HeldObjects>(m, "JsonRows", "Documents that are JSON objects, one per line.")
        .def("__len__", [](const HeldObjects& self) { return self.rows.texts.size(); })
        .def(
            "texts",
            [](nb::handle_t<HeldObjects> self) {
                Cells texts;
                const std::vector<text::JsonValue>& values = nb::cast<const HeldObjects&>(self).rows.texts;
                texts.reserve(values.size());
                for (const text::JsonValue& value : values) texts.push_back(value.text);
                return held_texts(std::move(texts), nb::borrow(self));
            },
            "The text of each, which stays in the core.")
        .def(
            "lines",
            [](const HeldObjects& self, const std::vector<std::string>& names, const nb::list& columns) {
                const GivenColumns given(columns);
                expect(given.rows == self.rows.texts.size(), "expected a cell per row");
                const std::vector<text::JsonColumn> fields =
                    json_columns(names, std::vector<std::string>(names.size(), "spelt"), given);
                const std::string made = [&] {
                    Unlocked released;
                    return text::json_lines(self.rows, fields);
                }();
                return as_bytes(made);
            },
            nb::arg("names"), nb::arg("columns"),
            nb::sig("def lines(self, names: list[str], columns: list[" CELL_COLUMN "]) -> bytes"),
            "The objects with further fields, whose values are JSON as it is spelt.")
        .def(
            "cells",
            [](nb::handle_t<HeldObjects> self) -> nb::object {
                const auto& held = nb::cast<const HeldObjects&>(self);
                std::optional<text::NamedCells> made = text::cells_of(held.rows);
                if (!made) return nb::none();
                nb::list names = strings(made->names.size(), [&](std::size_t i) { return made->names[i]; });
                return nb::make_tuple(names, HeldCells{std::move(made->cells), nb::borrow(self)});
            },
            nb::sig("def cells(self) -> tuple[list[str], CellTable] | None"),
            "Names and cells: text, label, id, and the fields; None if objects have other fields than the first.");
    m.def(
        "json_rows",
        [](const nb::bytes& lines, std::vector<std::string> texts, std::vector<std::string> labels,
           std::vector<std::string> refused) -> nb::object {
            const text::JsonKeys keys{std::move(texts), std::move(labels), std::move(refused)};
            std::optional<text::JsonRows> rows = [&] {
                Unlocked released;
                return text::read_json_rows(view(lines), keys);
            }();
            if (!rows) return nb::none();
            return nb::cast(HeldObjects{std::move(*rows), nb::borrow(lines)});
        },
        nb::arg("lines"), nb::arg("texts"), nb::arg("labels"), nb::arg("refused"),
        nb::sig("def json_rows(lines: bytes, texts: list[str], labels: list[str], refused: list[str]) -> JsonRows | None"),
        "Documents of lines of UTF-8, by the keys of text and label; None if one is not plain. refused: keys of no "
        "plain document");
    bind_token_objects(m);
    m.def(
        "last_row_end", [](const nb::bytes& rows, char sign) { return text::last_row_end(view(rows), sign); },
        nb::arg("rows"), nb::arg("sign"), nb::sig("def last_row_end(rows: bytes, sign: str) -> int"),
        "Where the last complete row of CSV ends; 0 if there is none.");
    m.def(
        "text_lines",
        [](const nb::bytes& text) -> nb::object {
            std::optional<text::CellTable> table = [&] {
                Unlocked released;
                return text::read_text_lines(view(text));
            }();
            if (!table) return nb::none();
            return nb::cast(HeldCells{std::move(*table), nb::borrow(text)});
        },
        nb::arg("text"), nb::sig("def text_lines(text: bytes) -> CellTable | None"),
        "The lines of UTF-8 text as a column; None if a carriage return ends no line.");
    m.def(
        "delimited_cells",
        [](const nb::bytes& rows, char sign, bool quoted) -> nb::object {
            std::optional<text::CellTable> table = [&] {
                Unlocked released;
                return text::read_cells(view(rows), sign, quoted);
            }();
            if (!table) return nb::none();
            return nb::cast(HeldCells{std::move(*table), nb::borrow(rows)});
        },
        nb::arg("rows"), nb::arg("sign"), nb::arg("quoted"),
        nb::sig("def delimited_cells(rows: bytes, sign: str, quoted: bool) -> CellTable | None"),
        "The cells of rows of UTF-8 text; None if a row has a fault. quoted: as in CSV");
    m.def(
        "delimited_lines",
        [](const nb::list& columns, const std::string& sign, bool quoted) {
            return delimited_lines(GivenColumns(columns), sign, quoted);
        },
        nb::arg("columns"), nb::arg("sign"), nb::arg("quoted"),
        nb::sig("def delimited_lines(columns: list[list[str]], sign: str, quoted: bool) -> bytes"),
        "The rows of a table whose columns are lists of strings. quoted: as in CSV, if a cell needs it");
}

} // namespace chaffinch::bindings
