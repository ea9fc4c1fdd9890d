#include "kernel_vectors.hpp"

#include "clones.hpp"
#include "exp.hpp"
#include "kernel_products.hpp"
#include "parallel.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace chaffinch {

namespace {

constexpr std::int64_t block_rows = 48;     // of A that a thread takes at a time; a multiple of a tile's rows
constexpr std::int64_t block_columns = 512; // of B held in a block of an expansion

// The function of the inner product, in place over a row: z[j] = a.b_j on the way in, k(a, b_j) on the way out.
CHAFFINCH_INLINE void applied_row(const VectorKernel& kernel, float norm, const float* norms, std::int64_t n, float* z) {
    switch (kernel.kind) {
    case VectorKernelKind::linear: return;
    case VectorKernelKind::polynomial:
        for (std::int64_t j = 0; j < n; ++j) {
            const float base = kernel.gamma * z[j] + kernel.offset;
            float power = base;
            for (int p = 1; p < kernel.degree; ++p) power *= base;
            z[j] = power;
        }
        return;
    case VectorKernelKind::rbf:
        for (std::int64_t j = 0; j < n; ++j) {
            const float apart = norm + norms[j] - 2.0f * z[j];
            z[j] = -kernel.gamma * (apart > 0 ? apart : 0.0f);
        }
        break;
    case VectorKernelKind::sigmoid:
        for (std::int64_t j = 0; j < n; ++j) z[j] = 2.0f * (kernel.gamma * z[j] + kernel.offset);
        break;
    }
    std::int64_t j = 0;
    Pack<float> pack;
    for (; j + lanes <= n; j += lanes) {
        get<float>(pack, z + j);
        exp_in_place(pack);
        put<float>(z + j, pack);
    }
    if (j < n) {
        pack = Pack<float>{};
        std::memcpy(&pack, z + j, sizeof(float) * static_cast<std::size_t>(n - j));
        exp_in_place(pack);
        std::memcpy(z + j, &pack, sizeof(float) * static_cast<std::size_t>(n - j));
    }
    if (kernel.kind == VectorKernelKind::sigmoid) // tanh(x) = 1 - 2 / (exp(2 x) + 1)
        for (std::int64_t i = 0; i < n; ++i) z[i] = 1.0f - 2.0f / (z[i] + 1.0f);
}

CHAFFINCH_HOT void apply(const VectorKernel& kernel, const float* row_norms, const float* norms, std::int64_t rows,
                         std::int64_t n, std::int64_t stride, float* z) {
    for (std::int64_t i = 0; i < rows; ++i)
        applied_row(kernel, row_norms ? row_norms[i] : 0.0f, norms, n, z + i * stride);
}

std::vector<float> squared_norms(const DenseRows& x) {
    std::vector<float> norms(static_cast<std::size_t>(x.n));
    for (std::int64_t i = 0; i < x.n; ++i) {
        double sum = 0;
        for (std::int64_t k = 0; k < x.d; ++k) sum += static_cast<double>(x.values[i * x.d + k]) * x.values[i * x.d + k];
        norms[static_cast<std::size_t>(i)] = static_cast<float>(sum);
    }
    return norms;
}

std::vector<float> squared_norms(const Examples& x) {
    std::vector<float> norms(static_cast<std::size_t>(x.N()));
    for (std::int64_t i = 0; i < x.N(); ++i) norms[static_cast<std::size_t>(i)] = squared_norm(x, i);
    return norms;
}

// |a - b| does not change when both are moved; about B's middle, |a|^2 + |b|^2 - 2 a.b loses fewer digits.
struct Centred {
    std::vector<float> a, b;
    DenseRows A, B;

    Centred(const DenseRows& A_, const DenseRows& B_) : A(A_), B(B_) {
        std::vector<double> sum(static_cast<std::size_t>(B.d));
        for (std::int64_t j = 0; j < B.n; ++j)
            for (std::int64_t k = 0; k < B.d; ++k) sum[static_cast<std::size_t>(k)] += B.values[j * B.d + k];
        a.assign(A.values, A.values + A.n * A.d);
        b.assign(B.values, B.values + B.n * B.d);
        for (std::int64_t k = 0; k < B.d; ++k) {
            const float middle = static_cast<float>(sum[static_cast<std::size_t>(k)] / static_cast<double>(std::max<std::int64_t>(B.n, 1)));
            for (std::int64_t i = 0; i < A.n; ++i) a[static_cast<std::size_t>(i * A.d + k)] -= middle;
            for (std::int64_t j = 0; j < B.n; ++j) b[static_cast<std::size_t>(j * B.d + k)] -= middle;
        }
        A.values = a.data(), B.values = b.data();
    }
};

// Calls work(first, rows) for blocks of rows.
template <class Work> void over_blocks(std::int64_t n, std::size_t threads, Work&& work) {
    parallel_blocks(static_cast<std::size_t>((n + block_rows - 1) / block_rows), threads, [&](std::size_t b) {
        const std::int64_t first = static_cast<std::int64_t>(b) * block_rows;
        work(first, std::min(block_rows, n - first));
    });
}

void dense_gram_of(const VectorKernel& kernel, const DenseRows& A, const DenseRows& B, std::size_t threads, float* out) {
    const Panels panels = Panels::of_rows(B.values, B.n, B.d);
    const bool apart = kernel.kind == VectorKernelKind::rbf;
    const std::vector<float> a = apart ? squared_norms(A) : std::vector<float>{};
    const std::vector<float> b = apart ? squared_norms(B) : std::vector<float>{};
    over_blocks(A.n, threads, [&](std::int64_t first, std::int64_t rows) {
        multiply(A.values + first * A.d, A.d, rows, panels, false, out + first * B.n, B.n);
        apply(kernel, apart ? a.data() + first : nullptr, b.data(), rows, B.n, B.n, out + first * B.n);
    });
}

void dense_expansion_of(const VectorKernel& kernel, const DenseRows& A, const DenseRows& B, const float* w, std::int64_t C,
                        std::size_t threads, float* out) {
    const bool apart = kernel.kind == VectorKernelKind::rbf;
    const std::vector<float> a = apart ? squared_norms(A) : std::vector<float>{};
    const std::vector<float> b = apart ? squared_norms(B) : std::vector<float>{};
    std::vector<Panels> rows_of, weights_of;
    for (std::int64_t j = 0; j < B.n; j += block_columns) {
        const std::int64_t columns = std::min(block_columns, B.n - j);
        rows_of.push_back(Panels::of_rows(B.values + j * B.d, columns, B.d));
        weights_of.push_back(Panels::of_columns(w + j * C, columns, C));
    }
    over_blocks(A.n, threads, [&](std::int64_t first, std::int64_t rows) {
        AlignedVector<float> K(static_cast<std::size_t>(rows * block_columns));
        std::fill_n(out + first * C, rows * C, 0.0f);
        for (std::size_t piece = 0; piece < rows_of.size(); ++piece) {
            const std::int64_t j = static_cast<std::int64_t>(piece) * block_columns, columns = rows_of[piece].n();
            multiply(A.values + first * A.d, A.d, rows, rows_of[piece], false, K.data(), block_columns);
            apply(kernel, apart ? a.data() + first : nullptr, b.data() + (apart ? j : 0), rows, columns, block_columns,
                  K.data());
            multiply(K.data(), block_columns, rows, weights_of[piece], true, out + first * C, C);
        }
    });
}

// B by feature: who has it, with what value.
struct Inverted {
    std::vector<std::int64_t> ptr; // [F+1]
    std::vector<std::int32_t> row; // [nnz]
    std::vector<float> value;      // [nnz]

    explicit Inverted(const Examples& B)
        : ptr(static_cast<std::size_t>(B.F) + 2), row(B.ids.size()), value(B.ids.size()) {
        for (const std::int32_t f : B.ids) ++ptr[static_cast<std::size_t>(f) + 2];
        for (std::size_t f = 2; f < ptr.size(); ++f) ptr[f] += ptr[f - 1];
        for (std::int64_t j = 0; j < B.N(); ++j)
            for (std::int64_t k = B.ptr[j]; k < B.ptr[j + 1]; ++k) {
                const auto to = static_cast<std::size_t>(ptr[static_cast<std::size_t>(B.ids[k]) + 1]++);
                row[to] = static_cast<std::int32_t>(j), value[to] = B.value(k);
            }
        ptr.pop_back();
    }
};

CHAFFINCH_HOT void inner_products(const Examples& A, std::int64_t i, const Inverted& B, std::int64_t n, float* out) {
    std::fill_n(out, n, 0.0f);
    for (std::int64_t k = A.ptr[i]; k < A.ptr[i + 1]; ++k) {
        const float v = A.value(k);
        const auto f = static_cast<std::size_t>(A.ids[k]);
        for (std::int64_t at = B.ptr[f]; at < B.ptr[f + 1]; ++at) out[B.row[at]] += v * B.value[at];
    }
}

} // namespace

void dense_gram(const VectorKernel& kernel, const DenseRows& A, const DenseRows& B, std::size_t threads, float* out) {
    if (kernel.kind != VectorKernelKind::rbf) return dense_gram_of(kernel, A, B, threads, out);
    const Centred moved(A, B);
    dense_gram_of(kernel, moved.A, moved.B, threads, out);
}

void dense_expansion(const VectorKernel& kernel, const DenseRows& A, const DenseRows& B, const float* w, std::int64_t C,
                     std::size_t threads, float* out) {
    if (kernel.kind != VectorKernelKind::rbf) return dense_expansion_of(kernel, A, B, w, C, threads, out);
    const Centred moved(A, B);
    dense_expansion_of(kernel, moved.A, moved.B, w, C, threads, out);
}

void sparse_gram(const VectorKernel& kernel, const Examples& A, const Examples& B, std::size_t threads, float* out) {
    const Inverted index(B);
    const std::vector<float> a = squared_norms(A), b = squared_norms(B);
    over_blocks(A.N(), threads, [&](std::int64_t first, std::int64_t rows) {
        for (std::int64_t i = first; i < first + rows; ++i) inner_products(A, i, index, B.N(), out + i * B.N());
        apply(kernel, a.data() + first, b.data(), rows, B.N(), B.N(), out + first * B.N());
    });
}

void sparse_expansion(const VectorKernel& kernel, const Examples& A, const Examples& B, const float* w, std::int64_t C,
                      std::size_t threads, float* out) {
    const Inverted index(B);
    const Panels weights = Panels::of_columns(w, B.N(), C);
    const std::vector<float> a = squared_norms(A), b = squared_norms(B);
    over_blocks(A.N(), threads, [&](std::int64_t first, std::int64_t rows) {
        AlignedVector<float> K(static_cast<std::size_t>(rows * B.N()));
        for (std::int64_t i = 0; i < rows; ++i) inner_products(A, first + i, index, B.N(), K.data() + i * B.N());
        apply(kernel, a.data() + first, b.data(), rows, B.N(), B.N(), K.data());
        multiply(K.data(), B.N(), rows, weights, false, out + first * C, C);
    });
}

} // namespace chaffinch
