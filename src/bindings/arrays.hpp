// Arrays between Python and C++: contiguous, never converted, owned by their maker. Kernel calls: without the
// interpreter's lock, and ended by signals.
#pragma once

#include "converters.hpp"
#include "stop.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chaffinch::bindings {

namespace nb = nanobind;

// A read-only C-contiguous NumPy array as an argument; always bound with .noconvert().
template <class T, std::size_t Dims = 1>
using In = nb::ndarray<const T, nb::ndim<Dims>, nb::c_contig, nb::device::cpu>;

// A writable one, filled by the kernel.
// Rows [n][columns] that may lie apart, each contiguous: check with stride_of.
template <class T> using StridedRows = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

template <class T> std::int64_t stride_of(const StridedRows<T>& rows) {
    if (rows.shape(1) > 1 && rows.stride(1) != 1) throw nb::value_error("expected rows whose columns lie side by side");
    return rows.stride(0);
}

template <class T, std::size_t Dims = 1> using Out = nb::ndarray<T, nb::ndim<Dims>, nb::c_contig, nb::device::cpu>;

// Raises a ValueError with this sentence if a condition on an argument fails.
inline void expect(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}

template <class Array> auto span(const Array& a) { return std::span(a.data(), a.size()); }

// Throws the exception of a signal handler, such as Ctrl-C's. Only the main thread runs handlers.
inline void run_signal_handlers() {
    nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// Around a kernel: other Python threads run meanwhile, and an exception of a signal handler ends the kernel.
class Unlocked {
    nb::gil_scoped_release released_;
    machine::Watch watch_{run_signal_handlers};
};

// A vector handed to NumPy without a copy.
template <class T> nb::ndarray<nb::numpy, T, nb::ndim<1>> given(std::vector<T>&& values) {
    auto kept = std::make_unique<std::vector<T>>(std::move(values));
    nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    const std::vector<T>& held = *kept.release(); // the capsule's from here on
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(const_cast<T*>(held.data()), {held.size()}, owner);
}

// The bytes of a Python string, valid as long as the string is.
inline std::string_view utf8(nb::handle s) {
    if (!PyUnicode_Check(s.ptr()))
        throw nb::type_error(("expected strings, found " + nb::cast<std::string>(nb::str(s.type()))).c_str());
    Py_ssize_t n = 0;
    const char* p = PyUnicode_AsUTF8AndSize(s.ptr(), &n);
    if (p == nullptr) throw nb::python_error();
    return {p, static_cast<std::size_t>(n)};
}

} // namespace chaffinch::bindings
