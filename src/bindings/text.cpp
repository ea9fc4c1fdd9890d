// Strings in and out: the interner.
#include "areas.hpp"
#include "arrays.hpp"
#include "interner.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

namespace chaffinch::bindings {

namespace {

std::string_view utf8(nb::handle s) {
    Py_ssize_t n = 0;
    const char* p = PyUnicode_AsUTF8AndSize(s.ptr(), &n);
    if (p == nullptr) throw nb::python_error();
    return {p, static_cast<std::size_t>(n)};
}

nb::list strings(const Interner& table) {
    nb::list out;
    for (std::int32_t id = 0; id < table.size(); ++id) {
        const std::string_view s = table[id];
        out.append(nb::str(s.data(), s.size()));
    }
    return out;
}

} // namespace

void bind_text(nb::module_& m) {
    nb::class_<Interner>(m, "Interner", "Strings to dense int32 ids, in order of first sight.")
        .def(nb::init<>())
        .def("__len__", &Interner::size)
        .def("strings", &strings, "Every string, by id.")
        .def("find", &Interner::find, nb::arg("string"), "The id of a string, or -1.")
        .def("intern", &Interner::intern, nb::arg("string"), "The id of a string, given one now if it has none.")
        .def(
            "intern_nested",
            [](Interner& self, nb::list rows, bool frozen) {
                std::vector<std::int64_t> ptr{0};
                std::vector<std::int32_t> ids;
                ptr.reserve(nb::len(rows) + 1);
                for (nb::handle row : rows) {
                    if (!nb::isinstance<nb::list>(row) && !nb::isinstance<nb::tuple>(row))
                        throw nb::type_error("expected a list of lists of strings");
                    for (nb::handle s : nb::borrow<nb::sequence>(row))
                        ids.push_back(frozen ? self.find(utf8(s)) : self.intern(utf8(s)));
                    ptr.push_back(static_cast<std::int64_t>(ids.size()));
                }
                return std::pair(given(std::move(ptr)), given(std::move(ids)));
            },
            nb::arg("rows"), nb::arg("frozen") = false,
            "Row bounds int64 [N+1] and ids int32 [tokens] of a list of lists; frozen: unknown strings are -1.");
}

} // namespace chaffinch::bindings
