// Kernels: blocks of Gram matrices, and expansions over support examples.
#include "areas.hpp"
#include "arrays.hpp"
#include "kernel_vectors.hpp"
#include "score.hpp"

#include <algorithm>

namespace chaffinch::bindings {

namespace {

DenseRows dense(const In<float, 2>& x) {
    return {x.data(), static_cast<std::int64_t>(x.shape(0)), static_cast<std::int64_t>(x.shape(1))};
}

// Sparse rows that were checked once.
struct KernelRows {
    In<std::int64_t> ptr;
    In<std::int32_t> ids;
    In<float> values;
    Examples examples;

    KernelRows(In<std::int64_t> ptr_, In<std::int32_t> ids_, In<float> values_, std::int64_t F)
        : ptr(std::move(ptr_)), ids(std::move(ids_)), values(std::move(values_)) {
        const auto bounds = span(ptr);
        expect(!bounds.empty() && bounds.front() == 0 && std::ranges::is_sorted(bounds) &&
                   bounds.back() == static_cast<std::int64_t>(ids.size()),
               "KernelRows: ptr must rise from 0 to the number of ids");
        expect(values.size() == 0 || values.size() == ids.size(), "KernelRows: values must match ids, or be empty");
        expect(F >= 0 && all_below(span(ids), F), "KernelRows: a feature is out of range");
        examples = {bounds, span(ids), span(values), F, 0.0f};
    }
};

template <class Array> void check_block(const Array& out, std::int64_t n, std::int64_t m) {
    expect(static_cast<std::int64_t>(out.shape(0)) == n && static_cast<std::int64_t>(out.shape(1)) == m,
           "the block must be [rows of A, rows of B], or [rows of A, columns of w]");
}

} // namespace

void bind_kernels(nb::module_& m) {
    nb::enum_<VectorKernelKind>(m, "VectorKernelKind")
        .value("linear", VectorKernelKind::linear)
        .value("polynomial", VectorKernelKind::polynomial)
        .value("rbf", VectorKernelKind::rbf)
        .value("sigmoid", VectorKernelKind::sigmoid);
    nb::class_<VectorKernel>(m, "VectorKernel", "A function of the inner product.")
        .def(nb::init<VectorKernelKind, int, float, float>(), nb::arg("kind"), nb::arg("degree"), nb::arg("gamma"),
             nb::arg("offset"));
    nb::class_<KernelRows>(m, "KernelRows", "Sparse rows, checked once.")
        .def(nb::init<In<std::int64_t>, In<std::int32_t>, In<float>, std::int64_t>(), nb::arg("ptr").noconvert(),
             nb::arg("ids").noconvert(), nb::arg("values").noconvert(), nb::arg("features"));
    m.def(
        "dense_gram",
        [](const VectorKernel& kernel, In<float, 2> A, In<float, 2> B, std::size_t threads, Out<float, 2> out) {
            expect(A.shape(1) == B.shape(1), "dense_gram: rows must be of one length");
            check_block(out, dense(A).n, dense(B).n);
            nb::gil_scoped_release released;
            dense_gram(kernel, dense(A), dense(B), threads, out.data());
        },
        nb::arg("kernel"), nb::arg("A").noconvert(), nb::arg("B").noconvert(), nb::arg("threads"),
        nb::arg("out").noconvert());
    m.def(
        "sparse_gram",
        [](const VectorKernel& kernel, const KernelRows& A, const KernelRows& B, std::size_t threads, Out<float, 2> out) {
            expect(A.examples.F == B.examples.F, "sparse_gram: rows must be over the same features");
            check_block(out, A.examples.N(), B.examples.N());
            nb::gil_scoped_release released;
            sparse_gram(kernel, A.examples, B.examples, threads, out.data());
        },
        nb::arg("kernel"), nb::arg("A"), nb::arg("B"), nb::arg("threads"), nb::arg("out").noconvert());
    m.def(
        "dense_expansion",
        [](const VectorKernel& kernel, In<float, 2> A, In<float, 2> B, In<float, 2> w, std::size_t threads,
           Out<float, 2> out) {
            expect(A.shape(1) == B.shape(1), "dense_expansion: rows must be of one length");
            expect(w.shape(0) == B.shape(0), "dense_expansion: w must have a row for each of B's");
            check_block(out, dense(A).n, static_cast<std::int64_t>(w.shape(1)));
            nb::gil_scoped_release released;
            dense_expansion(kernel, dense(A), dense(B), w.data(), static_cast<std::int64_t>(w.shape(1)), threads, out.data());
        },
        nb::arg("kernel"), nb::arg("A").noconvert(), nb::arg("B").noconvert(), nb::arg("w").noconvert(),
        nb::arg("threads"), nb::arg("out").noconvert());
    m.def(
        "sparse_expansion",
        [](const VectorKernel& kernel, const KernelRows& A, const KernelRows& B, In<float, 2> w, std::size_t threads,
           Out<float, 2> out) {
            expect(A.examples.F == B.examples.F, "sparse_expansion: rows must be over the same features");
            expect(static_cast<std::int64_t>(w.shape(0)) == B.examples.N(), "sparse_expansion: w must have a row for each of B's");
            check_block(out, A.examples.N(), static_cast<std::int64_t>(w.shape(1)));
            nb::gil_scoped_release released;
            sparse_expansion(kernel, A.examples, B.examples, w.data(), static_cast<std::int64_t>(w.shape(1)), threads,
                             out.data());
        },
        nb::arg("kernel"), nb::arg("A"), nb::arg("B"), nb::arg("w").noconvert(), nb::arg("threads"),
        nb::arg("out").noconvert());
}

} // namespace chaffinch::bindings
