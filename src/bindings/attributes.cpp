// Attributes from Python: dicts, lists and sets of strings, strings with weights, and CRFsuite's text. Each object is
// read once; no Python string is created.
#include "attributes.hpp"

#include "areas.hpp"
#include "arrays.hpp"
#include "converters.hpp"
#include "feature_values.hpp"
#include "score.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace chaffinch::bindings {

namespace {

using features::AttributeIndex;
using features::AttributeRows;
using FloatArray = nb::ndarray<nb::numpy, float, nb::ndim<1>>;

constexpr char separator = ':';

std::string named_type(nb::handle object) { return nb::cast<std::string>(nb::str(object.type().attr("__name__"))); }

// How a token is read.
struct Manner {
    bool growing;      // names that are new get an id
    bool as_crfsuite;  // values of 0 are kept, and a name ends at its first NUL
};

class Reader {
  public:
    Reader(AttributeIndex& index, Manner manner) : index_(index), manner_(manner) {}

    AttributeRows rows;

    void token(nb::handle x) {
        path_.clear();
        if (PyDict_Check(x.ptr()))
            dict(x);
        else if (is_listed(x))
            listed(x);
        else if (PyUnicode_Check(x.ptr()))
            text(utf8(x));
        else
            throw nb::type_error(("expected a dict, a list or a set of features, found " + named_type(x)).c_str());
        index_.end_token(rows);
    }

  private:
    static bool is_listed(nb::handle x) { return PyList_Check(x.ptr()) || PyTuple_Check(x.ptr()) || PyAnySet_Check(x.ptr()); }

    static bool bytes_of(nb::handle x, std::string_view& out) {
        if (PyUnicode_Check(x.ptr())) {
            out = utf8(x);
            return true;
        }
        if (!PyBytes_Check(x.ptr())) return false;
        char* p = nullptr;
        Py_ssize_t n = 0;
        if (PyBytes_AsStringAndSize(x.ptr(), &p, &n) != 0) throw nb::python_error();
        out = {p, static_cast<std::size_t>(n)};
        return true;
    }

    void add(double value) {
        const auto narrow = static_cast<float>(value);
        if (!std::isfinite(narrow))
            throw nb::value_error(("feature '" + path_ + "' has the value " + std::to_string(value) + ", expected a finite number").c_str());
        if (narrow == 0 && !manner_.as_crfsuite) return;
        std::string_view name = path_;
        if (manner_.as_crfsuite) name = name.substr(0, name.find('\0'));
        index_.add(name, narrow, manner_.growing, rows);
    }

    struct Nested { // a dict that contains itself ends in RecursionError
        Nested() {
            if (Py_EnterRecursiveCall(" while flattening features") != 0) throw nb::python_error();
        }
        ~Nested() { Py_LeaveRecursiveCall(); }
    };

    void dict(nb::handle x) {
        const std::size_t before = path_.size();
        PyObject *key = nullptr, *value = nullptr;
        Py_ssize_t at = 0;
        while (PyDict_Next(x.ptr(), &at, &key, &value)) {
            std::string_view name;
            if (!bytes_of(key, name))
                throw nb::type_error(("names of features must be strings, found " + named_type(key)).c_str());
            path_.append(name);
            if (std::string_view text; bytes_of(value, text)) {
                path_.push_back(separator);
                path_.append(text);
                add(1);
            } else {
                inside(value);
            }
            path_.resize(before);
        }
    }

    // The value of a key that is no string: a number, or more features under the key.
    void inside(nb::handle value) {
        PyObject* p = value.ptr();
        if (PyFloat_Check(p)) return add(PyFloat_AsDouble(p));
        if (PyBool_Check(p)) return add(p == Py_True ? 1 : 0);
        if (PyDict_Check(p) || is_listed(value)) {
            path_.push_back(separator);
            const Nested nested;
            if (PyDict_Check(p))
                dict(value);
            else
                listed(value);
            return;
        }
        const nb::object kept = nb::borrow(value); // while its own code runs
        const double number = PyFloat_AsDouble(p);
        if (number == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            throw nb::type_error(("feature '" + path_ + "' is " + named_type(value) +
                                  ", expected a string, a number, or a dict, list or set of features")
                                     .c_str());
        }
        add(number);
    }

    void listed(nb::handle x) {
        if (PyAnySet_Check(x.ptr())) { // sets have no order: sorting the names gives the same ids in every run
            std::vector<nb::object> kept;
            std::vector<std::string_view> names;
            for (nb::handle item : x) {
                kept.push_back(nb::borrow(item));
                std::string_view name;
                if (!bytes_of(item, name)) wrong(item);
                names.push_back(name);
            }
            std::ranges::sort(names);
            for (const std::string_view name : names) named(name, 1);
            return;
        }
        const bool is_list = PyList_Check(x.ptr()) != 0;
        for (Py_ssize_t i = 0; i < static_cast<Py_ssize_t>(nb::len(x)); ++i) {
            const nb::handle item = is_list ? PyList_GetItem(x.ptr(), i) : PyTuple_GetItem(x.ptr(), i);
            std::string_view name;
            if (bytes_of(item, name))
                named(name, 1);
            else
                weighted(item);
        }
    }

    // A name with a weight.
    void weighted(nb::handle item) {
        if (!PyTuple_Check(item.ptr()) || nb::len(item) != 2) wrong(item);
        std::string_view name;
        const nb::handle weight = PyTuple_GetItem(item.ptr(), 1);
        if (!bytes_of(PyTuple_GetItem(item.ptr(), 0), name)) wrong(item);
        const double number = PyFloat_AsDouble(weight.ptr());
        if (number == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            wrong(item);
        }
        named(name, number);
    }

    void named(std::string_view name, double value) {
        const std::size_t before = path_.size();
        path_.append(name);
        add(value);
        path_.resize(before);
    }

    [[noreturn]] static void wrong(nb::handle item) {
        throw nb::type_error(
            ("a list of features holds " + named_type(item) + ", expected strings, or tuples of a string and a number").c_str());
    }

    void text(std::string_view cell) {
        std::string_view bad;
        const bool read = features::read_attribute_text(cell, path_, bad, [&](std::string_view, double value) { add(value); });
        path_.clear();
        if (!read) throw nb::value_error(("attribute '" + std::string(bad) + "' has no number after its colon").c_str());
    }

    AttributeIndex& index_;
    Manner manner_;
    std::string path_;
};

// ptr, ids, and values or None.
auto handed_over(AttributeRows&& rows) {
    std::optional<FloatArray> values;
    if (!rows.ones) values = given(std::move(rows.values));
    return std::tuple(given(std::move(rows.ptr)), given(std::move(rows.ids)), std::move(values));
}

} // namespace

void bind_attributes(nb::module_& m) {
    nb::class_<AttributeIndex>(m, "AttributeIndex", "Names of features to ids, in order of first sight.")
        .def(nb::init<>())
        .def(
            "__init__",
            [](AttributeIndex* self, nb::list names) {
                new (self) AttributeIndex();
                for (nb::handle name : names)
                    if (const std::int32_t before = self->size(); self->intern(utf8(name)) != before)
                        throw nb::value_error("two attributes have the same name");
            },
            nb::arg("names"))
        .def("__len__", &AttributeIndex::size)
        .def("find", &AttributeIndex::find, nb::arg("name"), "The id of a name, or -1.")
        .def(
            "names",
            [](const AttributeIndex& self, In<std::int32_t> ids) {
                expect(scorers::all_below(span(ids), self.size()), "an attribute id is out of range");
                nb::list out;
                for (const std::int32_t id : span(ids)) {
                    const std::string_view s = self.name(id);
                    out.append(nb::steal(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace")));
                }
                return out;
            },
            nb::arg("ids").noconvert(), "The names of attributes; bytes that are not UTF-8 are escaped.")
        .def(
            "kept",
            [](const AttributeIndex& self, In<std::int32_t> ids) {
                expect(scorers::all_below(span(ids), self.size()), "an attribute id is out of range");
                AttributeIndex made;
                for (const std::int32_t id : span(ids)) {
                    const std::int32_t before = made.size();
                    expect(made.intern(self.name(id)) == before, "an attribute is kept twice");
                }
                return made;
            },
            nb::arg("ids").noconvert(), "A new index of these attributes, numbered in this order.")
        .def(
            "read",
            [](AttributeIndex& self, nb::list sentences, bool growing, bool as_crfsuite) {
                Reader reader(self, {growing, as_crfsuite});
                std::vector<std::int64_t> bounds{0};
                std::size_t n = 0, t = 0;
                try {
                    for (nb::handle sentence : sentences) {
                        ++n, t = 0;
                        if (!PyList_Check(sentence.ptr()) && !PyTuple_Check(sentence.ptr()))
                            throw nb::type_error(("expected a list of tokens, found " + named_type(sentence)).c_str());
                        const bool is_list = PyList_Check(sentence.ptr()) != 0;
                        const auto T = static_cast<Py_ssize_t>(nb::len(sentence));
                        for (Py_ssize_t i = 0; i < T; ++i) {
                            ++t;
                            reader.token(is_list ? PyList_GetItem(sentence.ptr(), i) : PyTuple_GetItem(sentence.ptr(), i));
                        }
                        bounds.push_back(static_cast<std::int64_t>(reader.rows.ptr.size()) - 1);
                    }
                } catch (const nb::builtin_exception& e) {
                    const std::string where =
                        "sentence " + std::to_string(n) + (t ? ", token " + std::to_string(t) : std::string()) + ": " + e.what();
                    throw nb::builtin_exception(e.type(), where.c_str());
                }
                return std::tuple_cat(std::tuple(given(std::move(bounds))), handed_over(std::move(reader.rows)));
            },
            nb::arg("sentences"), nb::arg("growing"), nb::arg("as_crfsuite") = false,
            "Sentences of tokens: bounds int64 [N+1] in tokens, ptr int64 [T+1], ids int32 [nnz], and values float32 [nnz] or\n"
            "None if all are 1. growing: new names get ids; otherwise they are ignored.")
        .def(
            "translated",
            [](AttributeIndex& self, const AttributeIndex& from, In<std::int64_t> ptr, In<std::int32_t> ids,
               const Values& values, bool growing) {
                expect(ptr.size() > 0 && ptr.data()[0] == 0 && std::ranges::is_sorted(span(ptr)) &&
                           ptr.data()[ptr.size() - 1] == static_cast<std::int64_t>(ids.size()),
                       "ptr must rise from 0 to len(ids)");
                expect(scorers::all_below(span(ids), from.size()), "an attribute id is out of range");
                expect(&self != &from, "an index is not translated into itself");
                const float* v = checked_values(values, ids.size());
                return handed_over(self.translated(from, span(ptr), span(ids), v, growing));
            },
            nb::arg("other"), nb::arg("ptr").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert().none(),
            nb::arg("growing"), "Rows of another index in the ids of this one.");
    m.def(
        "attribute_fault",
        [](std::string_view cell) -> std::optional<std::string> {
            std::string name;
            std::string_view bad;
            const bool read = features::read_attribute_text(cell, name, bad, [](std::string_view, double) {});
            return read ? std::nullopt : std::optional(std::string(bad));
        },
        nb::arg("cell"), "The first attribute of CRFsuite's text whose value is no number, or None.");
}

} // namespace chaffinch::bindings
