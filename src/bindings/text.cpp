// Strings in and out: the interner.
#include "areas.hpp"
#include "arrays.hpp"
#include "interner.hpp"
#include "pair_converter.hpp"
#include "varint.hpp"

#include <array>
#include <optional>

namespace chaffinch::bindings {

namespace {

nb::list strings(const text::Interner& table, std::int32_t first) {
    expect(first >= 0, "ids begin at 0");
    nb::list out;
    for (std::int32_t id = first; id < table.size(); ++id) {
        const std::string_view s = table[id];
        out.append(nb::str(s.data(), s.size()));
    }
    return out;
}

// Columns of tokens as lines of text: cells with a separator between them, a blank line after each sentence.
nb::bytes joined_columns(const In<std::int64_t>& ptr, const nb::list& types, const nb::list& ids,
                         const std::string& separator) {
    expect(nb::len(types) == nb::len(ids) && nb::len(types) >= 1, "a column needs types and ids");
    expect(ptr.size() >= 1, "ptr must hold the bounds of sentences");
    const auto N = static_cast<std::int64_t>(ptr.size()) - 1, T = ptr.data()[N];
    struct Cells {
        std::vector<std::string_view> types;
        In<std::int32_t> ids;
    };
    std::vector<Cells> columns;
    for (std::size_t c = 0; c < nb::len(types); ++c) {
        Cells column{{}, nb::cast<In<std::int32_t>>(ids[c])};
        for (nb::handle s : nb::cast<nb::list>(types[c])) column.types.push_back(utf8(s.ptr()));
        expect(static_cast<std::int64_t>(column.ids.size()) == T, "a column must have an id per token");
        for (std::int64_t t = 0; t < T; ++t)
            expect(column.ids.data()[t] >= 0 && column.ids.data()[t] < static_cast<std::int64_t>(column.types.size()),
                   "an id is out of range");
        columns.push_back(std::move(column));
    }
    std::size_t size = static_cast<std::size_t>(N);
    for (const Cells& column : columns)
        for (std::int64_t t = 0; t < T; ++t)
            size += column.types[static_cast<std::size_t>(column.ids.data()[t])].size() + separator.size();
    std::string out;
    out.reserve(size + static_cast<std::size_t>(T));
    for (std::int64_t n = 0; n < N; ++n) {
        expect(ptr.data()[n] >= 0 && ptr.data()[n] <= ptr.data()[n + 1], "bounds of sentences must not fall");
        for (std::int64_t t = ptr.data()[n]; t < ptr.data()[n + 1]; ++t) {
            for (std::size_t c = 0; c < columns.size(); ++c) {
                if (c > 0) out += separator;
                out += columns[c].types[static_cast<std::size_t>(columns[c].ids.data()[t])];
            }
            out += '\n';
        }
        out += '\n';
    }
    return nb::bytes(out.data(), out.size());
}

// ids as varints; with `renumbered`, each id is first looked up there.
nb::bytes varints(const In<std::int32_t>& ids, const std::optional<In<std::int32_t>>& renumbered) {
    std::vector<std::uint8_t> out;
    out.reserve(2 * ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        std::int32_t id = ids.data()[i];
        if (renumbered) {
            expect(id >= 0 && static_cast<std::size_t>(id) < renumbered->size(), "an id is out of range");
            id = renumbered->data()[id];
        }
        expect(id >= 0, "varints are of numbers from 0");
        text::append_varint(static_cast<std::uint32_t>(id), out);
    }
    return nb::bytes(out.data(), out.size());
}

std::pair<nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>, std::size_t> from_varints(const nb::bytes& bytes, std::size_t start,
                                                                                  std::size_t count) {
    expect(start <= bytes.size() && count <= bytes.size() - start, "the bytes hold fewer numbers");
    std::vector<std::int32_t> out(count);
    const auto given_bytes = std::span(static_cast<const std::uint8_t*>(bytes.data()), bytes.size()).subspan(start);
    const std::size_t read = text::read_varints(given_bytes, out);
    expect(read > 0 || count == 0, "the bytes are no varints");
    return {given(std::move(out)), start + read};
}

} // namespace

void bind_text(nb::module_& m) {
    m.def("varints", &varints, nb::arg("ids").noconvert(), nb::arg("renumbered").noconvert().none() = nb::none(),
          "Ids in as few bytes as each needs; with `renumbered`, of what each id has there.");
    m.def("from_varints", &from_varints, nb::arg("bytes"), nb::arg("start"), nb::arg("count"),
          "Read `count` ids from a position of the bytes on; also returns where they end.");
    m.def("joined_columns", &joined_columns, nb::arg("ptr").noconvert(), nb::arg("types"), nb::arg("ids"),
          nb::arg("separator"), "Lines of text: the cells of each token, and a blank line after each sentence.");
    nb::class_<text::Interner>(m, "Interner", "Strings to dense int32 ids, in order of first sight.")
        .def(nb::init<>())
        .def("__len__", &text::Interner::size)
        .def("strings", &strings, nb::arg("first") = 0, "Every string from an id on, by id.")
        .def("find", &text::Interner::find, nb::arg("string"), "The id of a string, or -1.")
        .def("intern", &text::Interner::intern, nb::arg("string"), "The id of a string, given one now if it has none.")
        .def(
            "intern_nested",
            [](text::Interner& self, nb::list rows, bool frozen) {
                // The same string object often occurs again: the rows keep it alive, so its address identifies it.
                struct Seen {
                    PyObject* string = nullptr;
                    std::int32_t id = 0;
                };
                std::array<Seen, 1024> seen{};
                std::vector<std::int64_t> ptr{0};
                std::vector<std::int32_t> ids;
                ptr.reserve(nb::len(rows) + 1);
                for (nb::handle row : rows) {
                    if (!nb::isinstance<nb::list>(row) && !nb::isinstance<nb::tuple>(row))
                        throw nb::type_error("expected a list of lists of strings");
                    const bool is_list = PyList_Check(row.ptr()) != 0;
                    const auto T = static_cast<Py_ssize_t>(nb::len(row));
                    for (Py_ssize_t t = 0; t < T; ++t) {
                        PyObject* s = is_list ? PyList_GetItem(row.ptr(), t) : PyTuple_GetItem(row.ptr(), t);
                        Seen& last = seen[(reinterpret_cast<std::uintptr_t>(s) >> 4) % seen.size()];
                        if (last.string != s) last = {s, frozen ? self.find(utf8(s)) : self.intern(utf8(s))};
                        ids.push_back(last.id);
                    }
                    ptr.push_back(static_cast<std::int64_t>(ids.size()));
                }
                return std::pair(given(std::move(ptr)), given(std::move(ids)));
            },
            nb::arg("rows"), nb::arg("frozen") = false,
            "Row bounds int64 [N+1] and ids int32 [tokens] of a list of lists; frozen: unknown strings are -1.");
}

} // namespace chaffinch::bindings
