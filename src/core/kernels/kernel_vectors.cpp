#include "kernel_vectors.hpp"

#include "clones.hpp"
#include "exp.hpp"
#include "parallel.hpp"
#include "transpose.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace chaffinch::kernels {

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
    machine::Pack<float> pack;
    for (; j + machine::lanes <= n; j += machine::lanes) {
        machine::get<float>(pack, z + j);
        machine::exp_in_place(pack);
        machine::put<float>(z + j, pack);
    }
    if (j < n) {
        pack = machine::Pack<float>{};
        std::memcpy(&pack, z + j, sizeof(float) * static_cast<std::size_t>(n - j));
        machine::exp_in_place(pack);
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

std::vector<float> squared_norms(const features::Examples& x) {
    std::vector<float> norms(static_cast<std::size_t>(x.N()));
    for (std::int64_t i = 0; i < x.N(); ++i) norms[static_cast<std::size_t>(i)] = features::squared_norm(x, i);
    return norms;
}

// Rows moved so that the middle of B is the origin. |a - b| does not change when both are moved, and |a|^2 + |b|^2 - 2 a.b
// loses fewer digits.
std::vector<float> moved(const DenseRows& x, const std::vector<float>& middle) {
    std::vector<float> out(x.values, x.values + x.n * x.d);
    for (std::int64_t i = 0; i < x.n; ++i)
        for (std::int64_t k = 0; k < x.d; ++k) out[static_cast<std::size_t>(i * x.d + k)] -= middle[static_cast<std::size_t>(k)];
    return out;
}

std::vector<float> middle_of(const DenseRows& x) {
    std::vector<double> sum(static_cast<std::size_t>(x.d));
    for (std::int64_t i = 0; i < x.n; ++i)
        for (std::int64_t k = 0; k < x.d; ++k) sum[static_cast<std::size_t>(k)] += x.values[i * x.d + k];
    std::vector<float> out;
    for (const double total : sum) out.push_back(static_cast<float>(total / static_cast<double>(std::max<std::int64_t>(x.n, 1))));
    return out;
}

bool zeros_and_ones(const DenseRows& x) {
    return std::all_of(x.values, x.values + x.n * x.d, [](float v) { return v == 0.0f || v == 1.0f; });
}

std::vector<std::uint64_t> bits_of(const DenseRows& x, std::int64_t words) {
    std::vector<std::uint64_t> out(static_cast<std::size_t>(x.n * words));
    for (std::int64_t i = 0; i < x.n; ++i)
        for (std::int64_t k = 0; k < x.d; ++k)
            if (x.values[i * x.d + k] != 0.0f) out[static_cast<std::size_t>(i * words + k / 64)] |= std::uint64_t{1} << (k % 64);
    return out;
}

// z[i][j] = how many features rows i and j share
CHAFFINCH_HOT void shared_bits(const std::uint64_t* a, std::int64_t rows, const std::uint64_t* b, std::int64_t n,
                               std::int64_t words, float* z, std::int64_t stride) {
    for (std::int64_t i = 0; i < rows; ++i, a += words)
        for (std::int64_t j = 0; j < n; ++j) {
            int count = 0;
            for (std::int64_t w = 0; w < words; ++w) count += __builtin_popcountll(a[w] & b[j * words + w]);
            z[i * stride + j] = static_cast<float>(count);
        }
}

// The rows of A beside packed ones.
class DenseProducts {
  public:
    DenseProducts(const DenseRows& A, const PackedRows& B) : A_(A), B_(B) {
        if (B.binary()) bits_ = bits_of(A, B.words());
        if (!B.middle().empty()) moved_ = moved(A, B.middle()), A_.values = moved_.data();
        if (B.apart()) norms_ = squared_norms(A_);
    }

    // k(a_i, b_j) for rows [first, first + rows) and one piece.
    void kernel_block(const VectorKernel& kernel, std::int64_t first, std::int64_t rows, std::size_t piece, float* out,
                      std::int64_t stride) const {
        if (B_.binary())
            shared_bits(bits_.data() + first * B_.words(), rows, B_.bits(piece), B_.columns(piece), B_.words(), out, stride);
        else
            multiply(A_.values + first * A_.d, A_.d, rows, B_.panels(piece), false, out, stride);
        apply(kernel, B_.apart() ? norms_.data() + first : nullptr, B_.norms(piece), rows, B_.columns(piece), stride, out);
    }

  private:
    DenseRows A_;
    const PackedRows& B_;
    std::vector<float> moved_, norms_;
    std::vector<std::uint64_t> bits_; // [A.n][words]
};

// Calls work(first, rows) for blocks of rows.
template <class Work> void over_blocks(std::int64_t n, std::size_t threads, Work&& work) {
    machine::parallel_blocks(static_cast<std::size_t>((n + block_rows - 1) / block_rows), threads, [&](std::size_t b) {
        const std::int64_t first = static_cast<std::int64_t>(b) * block_rows;
        work(first, std::min(block_rows, n - first));
    });
}

CHAFFINCH_HOT void inner_products(const features::Examples& A, std::int64_t i, const IndexedRows& B, float* out) {
    std::fill_n(out, B.N(), 0.0f);
    for (std::int64_t k = A.ptr[i]; k < A.ptr[i + 1]; ++k) {
        const float v = A.value(i, k);
        const auto f = static_cast<std::size_t>(A.ids[k]);
        for (std::int64_t at = B.ptr[f]; at < B.ptr[f + 1]; ++at) out[B.row[at]] += v * B.value[at];
    }
}

} // namespace

PackedRows::PackedRows(const DenseRows& rows, bool apart, std::vector<std::int64_t> cuts, bool bits)
    : rows_(rows), apart_(apart), binary_(bits && zeros_and_ones(rows)), cuts_(std::move(cuts)) {
    DenseRows here = rows;
    std::vector<float> origin;
    if (binary_) {
        bits_ = bits_of(rows, words());
    } else if (apart) {
        middle_ = middle_of(rows);
        origin = moved(rows, middle_);
        here.values = origin.data();
    }
    if (apart) norms_ = squared_norms(here);
    if (binary_) return;
    for (std::size_t p = 0; p + 1 < cuts_.size(); ++p)
        panels_.push_back(Panels::of_rows(here.values + cuts_[p] * here.d, columns(p), here.d));
}

IndexedRows::IndexedRows(const features::Examples& rows)
    : row(rows.ids.size()), value(rows.ids.size()), norms(squared_norms(rows)) {
    ptr = machine::transpose(rows.ptr, rows.ids, rows.F, [&](std::int64_t at, std::int64_t j, std::int64_t k) {
        row[at] = static_cast<std::int32_t>(j), value[at] = rows.value(j, k);
    });
}

void dense_gram(const VectorKernel& kernel, const DenseRows& A, const PackedRows& B, std::size_t threads, float* out) {
    if (B.binary() && !zeros_and_ones(A)) return dense_gram(kernel, A, {B.rows(), B.apart(), B.cuts(), false}, threads, out);
    const DenseProducts products(A, B);
    const std::int64_t n = B.rows().n;
    over_blocks(A.n, threads, [&](std::int64_t first, std::int64_t rows) {
        products.kernel_block(kernel, first, rows, 0, out + first * n, n);
    });
}

void dense_expansion(const VectorKernel& kernel, const DenseRows& A, const DenseRows& B,
                     std::span<const std::int64_t> bounds, const float* w, std::int64_t C, std::size_t threads, float* out) {
    // Pieces of at most block_columns columns that do not cross the end of a group.
    std::vector<std::int64_t> cuts{0};
    std::vector<std::int64_t> group;
    const std::int64_t G = static_cast<std::int64_t>(bounds.size()) - 1;
    for (std::int64_t g = 0; g < G; ++g)
        for (std::int64_t j = bounds[g]; j < bounds[g + 1]; j = cuts.back()) {
            cuts.push_back(std::min(j + block_columns, bounds[g + 1]));
            group.push_back(g);
        }
    std::vector<Panels> weights;
    for (std::size_t p = 0; p < group.size(); ++p)
        weights.push_back(Panels::of_columns(w + cuts[p] * C, cuts[p + 1] - cuts[p], C));
    const PackedRows packed(B, kernel.kind == VectorKernelKind::rbf, std::move(cuts), zeros_and_ones(A));
    const DenseProducts products(A, packed);
    over_blocks(A.n, threads, [&](std::int64_t first, std::int64_t rows) {
        machine::AlignedVector<float> K(static_cast<std::size_t>(rows * block_columns));
        float* to = out + first * G * C;
        std::fill_n(to, rows * G * C, 0.0f);
        for (std::size_t p = 0; p < group.size(); ++p) {
            products.kernel_block(kernel, first, rows, p, K.data(), block_columns);
            multiply(K.data(), block_columns, rows, weights[p], true, to + group[p] * C, G * C);
        }
    });
}

void sparse_gram(const VectorKernel& kernel, const features::Examples& A, const IndexedRows& B, std::size_t threads, float* out) {
    const std::vector<float> norms = squared_norms(A);
    over_blocks(A.N(), threads, [&](std::int64_t first, std::int64_t rows) {
        for (std::int64_t i = first; i < first + rows; ++i) inner_products(A, i, B, out + i * B.N());
        apply(kernel, norms.data() + first, B.norms.data(), rows, B.N(), B.N(), out + first * B.N());
    });
}

void sparse_expansion(const VectorKernel& kernel, const features::Examples& A, const IndexedRows& B, const float* w, std::int64_t C,
                      std::size_t threads, float* out) {
    const Panels weights = Panels::of_columns(w, B.N(), C);
    const std::vector<float> norms = squared_norms(A);
    over_blocks(A.N(), threads, [&](std::int64_t first, std::int64_t rows) {
        machine::AlignedVector<float> K(static_cast<std::size_t>(rows * B.N()));
        for (std::int64_t i = 0; i < rows; ++i) inner_products(A, first + i, B, K.data() + i * B.N());
        apply(kernel, norms.data() + first, B.norms.data(), rows, B.N(), B.N(), K.data());
        multiply(K.data(), B.N(), rows, weights, false, out + first * C, C);
    });
}

} // namespace chaffinch::kernels
