// Kernels: blocks of Gram matrices, and expansions over support examples.
#include "areas.hpp"
#include "arrays.hpp"
#include "kernel_sequences.hpp"
#include "kernel_trees.hpp"
#include "kernel_vectors.hpp"
#include "score.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

namespace chaffinch::bindings {

namespace {

kernels::DenseRows dense(const In<float, 2>& x) {
    return {x.data(), static_cast<std::int64_t>(x.shape(0)), static_cast<std::int64_t>(x.shape(1))};
}

// Dense rows as the right side of blocks, packed once.
struct PackedDense {
    In<float, 2> values;
    kernels::PackedRows rows;

    PackedDense(In<float, 2> values_, bool apart) : values(std::move(values_)), rows(dense(values), apart) {}
};

// Sparse rows that were checked once, and indexed when they are first compared with.
struct KernelRows {
    In<std::int64_t> ptr;
    In<std::int32_t> ids;
    In<float> values;
    features::Examples examples;

    KernelRows(In<std::int64_t> ptr_, In<std::int32_t> ids_, In<float> values_, std::int64_t F)
        : ptr(std::move(ptr_)), ids(std::move(ids_)), values(std::move(values_)) {
        const auto bounds = span(ptr);
        expect(!bounds.empty() && bounds.front() == 0 && std::ranges::is_sorted(bounds) &&
                   bounds.back() == static_cast<std::int64_t>(ids.size()),
               "KernelRows: ptr must rise from 0 to the number of ids");
        expect(values.size() == 0 || values.size() == ids.size(), "KernelRows: values must match ids, or be empty");
        expect(F >= 0 && scorers::all_below(span(ids), F), "KernelRows: a feature is out of range");
        examples = {bounds, span(ids), span(values), F, 0.0f};
    }

    const kernels::IndexedRows& indexed() {
        std::call_once(once, [&] { index = std::make_unique<kernels::IndexedRows>(examples); });
        return *index;
    }

  private:
    std::once_flag once;
    std::unique_ptr<kernels::IndexedRows> index;
};

template <class Array> void check_block(const Array& out, std::int64_t n, std::int64_t m) {
    expect(static_cast<std::int64_t>(out.shape(0)) == n && static_cast<std::int64_t>(out.shape(1)) == m,
           "the block must be [rows of A, rows of B], or [rows of A, columns of w]");
}

void check_bounds(std::span<const std::int64_t> ptr, std::size_t items) {
    expect(!ptr.empty() && ptr.front() == 0 && std::ranges::is_sorted(ptr) &&
               ptr.back() == static_cast<std::int64_t>(items),
           "ptr must rise from 0 to the number of symbols");
}

template <class Bank> void check_which(const Bank& bank, std::span<const std::int64_t> which) {
    expect(std::ranges::all_of(which, [&](std::int64_t n) { return n >= 0 && n < bank.N(); }),
           "an object is named that is not in the bank");
}

// Checks both sides of a block of two banks; true if it is symmetric.
template <class Bank>
bool check_banks(const Bank& A, const In<std::int64_t>& a, const Bank& B, const In<std::int64_t>& b,
                 const Out<double, 2>& out) {
    check_which(A, span(a));
    check_which(B, span(b));
    check_block(out, static_cast<std::int64_t>(a.size()), static_cast<std::int64_t>(b.size()));
    return &A == &B && std::ranges::equal(span(a), span(b));
}

void bind_sequences(nb::module_& m) {
    nb::class_<kernels::SequenceBank>(m, "SequenceBank", "Sequences of symbols, numbered once.")
        .def(
            "__init__",
            [](kernels::SequenceBank* self, In<std::int64_t> ptr, In<std::uint64_t> keys) {
                check_bounds(span(ptr), keys.size());
                new (self) kernels::SequenceBank(span(ptr), span(keys));
            },
            nb::arg("ptr").noconvert(), nb::arg("keys").noconvert())
        .def_prop_ro("symbols", [](const kernels::SequenceBank& self) { return self.numbers.size(); });
    m.def(
        "subsequence_gram",
        [](const kernels::SequenceBank& A, In<std::int64_t> a, const kernels::SequenceBank& B, In<std::int64_t> b, int low, int high,
           float decay, std::size_t threads, Out<double, 2> out) {
            expect(1 <= low && low <= high && high <= kernels::longest_subsequence, "subsequence_gram: lengths are out of range");
            const bool symmetric = check_banks(A, a, B, b, out);
            Unlocked released;
            kernels::subsequence_gram(A, span(a), B, span(b), symmetric, low, high, decay, threads, out.data());
        },
        nb::arg("A"), nb::arg("a").noconvert(), nb::arg("B"), nb::arg("b").noconvert(), nb::arg("low"), nb::arg("high"),
        nb::arg("decay"), nb::arg("threads"), nb::arg("out").noconvert());
    m.def(
        "mismatch_gram",
        [](const kernels::SequenceBank& A, In<std::int64_t> a, const kernels::SequenceBank& B, In<std::int64_t> b, int n,
           In<double> shared, std::size_t threads, Out<double, 2> out) {
            expect(n >= 1 && shared.size() >= 1 && shared.size() <= static_cast<std::size_t>(n) + 1,
                   "mismatch_gram: n or the table of shared n-grams is out of range");
            const bool symmetric = check_banks(A, a, B, b, out);
            Unlocked released;
            kernels::mismatch_gram(A, span(a), B, span(b), symmetric, n, span(shared), threads, out.data());
        },
        nb::arg("A"), nb::arg("a").noconvert(), nb::arg("B"), nb::arg("b").noconvert(), nb::arg("n"),
        nb::arg("shared").noconvert(), nb::arg("threads"), nb::arg("out").noconvert());
    m.def(
        "ngram_counts",
        [](In<std::int64_t> ptr, In<std::uint64_t> keys, int low, int high) {
            check_bounds(span(ptr), keys.size());
            expect(1 <= low && low <= high, "ngram_counts: lengths are out of range");
            kernels::NgramCounts found;
            {
                Unlocked released;
                found = kernels::ngram_counts(span(ptr), span(keys), low, high);
            }
            return nb::make_tuple(given(std::move(found.ptr)), given(std::move(found.keys)), given(std::move(found.counts)));
        },
        nb::arg("ptr").noconvert(), nb::arg("keys").noconvert(), nb::arg("low"), nb::arg("high"));
}

void bind_trees(nb::module_& m) {
    nb::enum_<kernels::TreeKernelKind>(m, "TreeKernelKind")
        .value("subtree", kernels::TreeKernelKind::subtree)
        .value("subset_tree", kernels::TreeKernelKind::subset_tree)
        .value("partial_tree", kernels::TreeKernelKind::partial_tree);
    nb::class_<kernels::TreeKernel>(m, "TreeKernel", "Which fragments of trees are counted.")
        .def(nb::init<kernels::TreeKernelKind, double, double>(), nb::arg("kind"), nb::arg("decay"), nb::arg("depth"));
    nb::class_<kernels::TreeBank>(m, "TreeBank", "Trees in postorder, their labels and productions numbered once.")
        .def(
            "__init__",
            [](kernels::TreeBank* self, In<std::int64_t> ptr, In<std::uint64_t> labels, In<std::int32_t> arity) {
                check_bounds(span(ptr), labels.size());
                expect(arity.size() == labels.size() && kernels::TreeBank::valid(span(ptr), span(arity)),
                       "TreeBank: these numbers of children make no trees");
                new (self) kernels::TreeBank(span(ptr), span(labels), span(arity));
            },
            nb::arg("ptr").noconvert(), nb::arg("labels").noconvert(), nb::arg("arity").noconvert());
    m.def(
        "tree_gram",
        [](const kernels::TreeKernel& kernel, const kernels::TreeBank& A, In<std::int64_t> a, const kernels::TreeBank& B, In<std::int64_t> b,
           std::size_t threads, Out<double, 2> out) {
            const bool symmetric = check_banks(A, a, B, b, out);
            Unlocked released;
            kernels::tree_gram(kernel, A, span(a), B, span(b), symmetric, threads, out.data());
        },
        nb::arg("kernel"), nb::arg("A"), nb::arg("a").noconvert(), nb::arg("B"), nb::arg("b").noconvert(),
        nb::arg("threads"), nb::arg("out").noconvert());
    m.def(
        "tree_diagonal",
        [](const kernels::TreeKernel& kernel, const kernels::TreeBank& A, In<std::int64_t> a, std::size_t threads, Out<double> out) {
            check_which(A, span(a));
            expect(out.size() == a.size(), "tree_diagonal: out must be as long as the list of trees");
            Unlocked released;
            kernels::tree_diagonal(kernel, A, span(a), threads, out.data());
        },
        nb::arg("kernel"), nb::arg("A"), nb::arg("a").noconvert(), nb::arg("threads"), nb::arg("out").noconvert());
}

} // namespace

void bind_kernels(nb::module_& m) {
    bind_sequences(m);
    bind_trees(m);
    nb::enum_<kernels::VectorKernelKind>(m, "VectorKernelKind")
        .value("linear", kernels::VectorKernelKind::linear)
        .value("polynomial", kernels::VectorKernelKind::polynomial)
        .value("rbf", kernels::VectorKernelKind::rbf)
        .value("sigmoid", kernels::VectorKernelKind::sigmoid);
    nb::class_<kernels::VectorKernel>(m, "VectorKernel", "A function of the inner product.")
        .def(nb::init<kernels::VectorKernelKind, int, float, float>(), nb::arg("kind"), nb::arg("degree"), nb::arg("gamma"),
             nb::arg("offset"));
    nb::class_<PackedDense>(m, "PackedRows", "Dense rows as the right side of blocks, packed once.")
        .def(nb::init<In<float, 2>, bool>(), nb::arg("values").noconvert(), nb::arg("apart"));
    nb::class_<KernelRows>(m, "KernelRows", "Sparse rows, checked once.")
        .def(nb::init<In<std::int64_t>, In<std::int32_t>, In<float>, std::int64_t>(), nb::arg("ptr").noconvert(),
             nb::arg("ids").noconvert(), nb::arg("values").noconvert(), nb::arg("features"));
    m.def(
        "dense_gram",
        [](const kernels::VectorKernel& kernel, In<float, 2> A, const PackedDense& B, std::size_t threads, Out<float, 2> out) {
            expect(A.shape(1) == B.values.shape(1), "dense_gram: rows must be of one length");
            expect(B.rows.apart() == (kernel.kind == kernels::VectorKernelKind::rbf), "dense_gram: B is packed for another kernel");
            check_block(out, dense(A).n, B.rows.rows().n);
            Unlocked released;
            kernels::dense_gram(kernel, dense(A), B.rows, threads, out.data());
        },
        nb::arg("kernel"), nb::arg("A").noconvert(), nb::arg("B"), nb::arg("threads"), nb::arg("out").noconvert());
    m.def(
        "sparse_gram",
        [](const kernels::VectorKernel& kernel, const KernelRows& A, KernelRows& B, std::size_t threads, Out<float, 2> out) {
            expect(A.examples.F == B.examples.F, "sparse_gram: rows must be over the same features");
            check_block(out, A.examples.N(), B.examples.N());
            Unlocked released;
            kernels::sparse_gram(kernel, A.examples, B.indexed(), threads, out.data());
        },
        nb::arg("kernel"), nb::arg("A"), nb::arg("B"), nb::arg("threads"), nb::arg("out").noconvert());
    m.def(
        "dense_expansion",
        [](const kernels::VectorKernel& kernel, In<float, 2> A, In<float, 2> B, In<std::int64_t> bounds, In<float, 2> w,
           std::size_t threads, Out<float, 3> out) {
            expect(A.shape(1) == B.shape(1), "dense_expansion: rows must be of one length");
            expect(w.shape(0) == B.shape(0), "dense_expansion: w must have a row for each of B's");
            check_bounds(span(bounds), B.shape(0));
            expect(out.shape(0) == A.shape(0) && out.shape(1) == bounds.size() - 1 && out.shape(2) == w.shape(1),
                   "dense_expansion: out must be [rows of A, groups, columns of w]");
            Unlocked released;
            kernels::dense_expansion(kernel, dense(A), dense(B), span(bounds), w.data(), static_cast<std::int64_t>(w.shape(1)),
                            threads, out.data());
        },
        nb::arg("kernel"), nb::arg("A").noconvert(), nb::arg("B").noconvert(), nb::arg("bounds").noconvert(),
        nb::arg("w").noconvert(), nb::arg("threads"), nb::arg("out").noconvert());
    m.def(
        "sparse_expansion",
        [](const kernels::VectorKernel& kernel, const KernelRows& A, KernelRows& B, In<float, 2> w, std::size_t threads,
           Out<float, 2> out) {
            expect(A.examples.F == B.examples.F, "sparse_expansion: rows must be over the same features");
            expect(static_cast<std::int64_t>(w.shape(0)) == B.examples.N(), "sparse_expansion: w must have a row for each of B's");
            check_block(out, A.examples.N(), static_cast<std::int64_t>(w.shape(1)));
            Unlocked released;
            kernels::sparse_expansion(kernel, A.examples, B.indexed(), w.data(), static_cast<std::int64_t>(w.shape(1)), threads,
                             out.data());
        },
        nb::arg("kernel"), nb::arg("A"), nb::arg("B"), nb::arg("w").noconvert(), nb::arg("threads"),
        nb::arg("out").noconvert());
}

} // namespace chaffinch::bindings
