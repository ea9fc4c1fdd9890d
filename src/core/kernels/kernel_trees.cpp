#include "kernel_trees.hpp"

#include "parallel.hpp"
#include "stop.hpp"

#include <algorithm>

namespace chaffinch::kernels {

bool TreeBank::valid(std::span<const std::int64_t> ptr, std::span<const std::int32_t> arity) {
    for (std::size_t t = 0; t + 1 < ptr.size(); ++t) {
        std::int64_t open = 0;
        for (std::int64_t k = ptr[t]; k < ptr[t + 1]; ++k) {
            if (arity[k] < 0 || arity[k] > open) return false;
            open += 1 - arity[k];
        }
        if (open > 1) return false; // one root, or no node at all
    }
    return true;
}

TreeBank::TreeBank(std::span<const std::int64_t> ptr_, std::span<const std::uint64_t> keys,
                   std::span<const std::int32_t> arity)
    : ptr(ptr_.begin(), ptr_.end()) {
    std::vector<std::uint64_t> rule; // of each non-terminal node
    std::vector<std::int32_t> open;
    child_ptr.push_back(0);
    for (std::int64_t t = 0; t < N(); ++t) {
        open.clear();
        for (std::int64_t k = ptr[t]; k < ptr[t + 1]; ++k) {
            const std::int32_t n = arity[k];
            std::uint64_t key = text::mixed(static_cast<std::uint64_t>(n), keys[k]);
            for (std::size_t c = open.size() - static_cast<std::size_t>(n); c < open.size(); ++c) {
                children.push_back(open[c]);
                key = text::mixed(key, keys[ptr[t] + open[c]]);
            }
            open.resize(open.size() - static_cast<std::size_t>(n));
            open.push_back(static_cast<std::int32_t>(k - ptr[t]));
            child_ptr.push_back(static_cast<std::int64_t>(children.size()));
            if (n > 0) rule.push_back(key);
        }
    }
    label = labels.number(keys);
    const std::vector<std::int32_t> numbered = productions.number(rule);
    std::size_t next = 0;
    for (const std::int32_t n : arity) production.push_back(n > 0 ? numbered[next++] : -1);
}

namespace {

// A tree with one number per node: its production or its label.
struct Seen {
    std::int64_t nodes;
    const std::int32_t* number;      // [nodes]
    const std::int64_t* child_ptr;   // [nodes+1]
    const std::int32_t* children;    // of the whole bank
};

// One thread's buffers. Nodes of the tree of A are listed by number; D is [nodes of a][nodes of b] and is only read for
// pairs with equal numbers, so it need not be cleared.
struct Workspace {
    std::vector<std::int32_t> first; // [numbers of B]  a node of a, or -1
    std::vector<std::int32_t> next;  // [nodes of a]
    std::vector<double> D;
    std::vector<double> G; // [children of m + 1] twice: two rows of the sums over children
    std::vector<std::int32_t> number;
};

// prod_k (sigma + D(child_k, child_k)), sigma = 1 for subset trees and 0 for subtrees; terminals are factors of one.
template <int sigma>
inline double production_pair(const Seen& a, std::int64_t n, const Seen& b, std::int64_t m, double lambda,
                              const double* D) {
    double product = lambda;
    const std::int32_t* x = a.children + a.child_ptr[n];
    const std::int32_t* y = b.children + b.child_ptr[m];
    const std::int64_t count = b.child_ptr[m + 1] - b.child_ptr[m];
    for (std::int64_t k = 0; k < count; ++k) {
        const std::int32_t number = b.number[y[k]];
        if (number < 0) continue;
        if (a.number[x[k]] == number)
            product *= sigma + D[x[k] * b.nodes + y[k]];
        else if (sigma == 0)
            return 0.0;
    }
    return product;
}

//   T(k, l) = D(k, l) (1 + lambda^2 G(k-1, l-1))        subsequences that end in children k and l
//   G(k, l) = T(k, l) + lambda G(k-1, l) + lambda G(k, l-1) - lambda^2 G(k-1, l-1)
inline double label_pair(const Seen& a, std::int64_t n, const Seen& b, std::int64_t m, double lambda, double mu,
                         const double* D, double* G) {
    const std::int32_t* x = a.children + a.child_ptr[n];
    const std::int32_t* y = b.children + b.child_ptr[m];
    const std::int64_t K = a.child_ptr[n + 1] - a.child_ptr[n], L = b.child_ptr[m + 1] - b.child_ptr[m];
    const double square = lambda * lambda;
    double sum = square;
    if (K == 1 || L == 1) { // no two children of one side: pairs of single children
        for (std::int64_t k = 0; k < K; ++k)
            for (std::int64_t l = 0; l < L; ++l)
                if (a.number[x[k]] == b.number[y[l]]) sum += D[x[k] * b.nodes + y[l]];
        return mu * sum;
    }
    double *above = G, *here = G + L + 1;
    std::fill_n(G, 2 * (L + 1), 0.0);
    for (std::int64_t k = 0; k < K; ++k) {
        here[0] = 0;
        for (std::int64_t l = 0; l < L; ++l) {
            double T = 0;
            if (a.number[x[k]] == b.number[y[l]]) T = D[x[k] * b.nodes + y[l]] * (1 + square * above[l]);
            sum += T;
            here[l + 1] = T + lambda * (above[l + 1] + here[l]) - square * above[l];
        }
        std::swap(above, here);
    }
    return mu * sum;
}

template <class Pair> inline double over_pairs(const Seen& b, Workspace& work, Pair&& pair) {
    double sum = 0;
    double* D = work.D.data();
    for (std::int64_t m = 0; m < b.nodes; ++m) {
        if (b.number[m] < 0) continue;
        for (std::int32_t n = work.first[b.number[m]]; n >= 0; n = work.next[n]) {
            const double d = pair(n, m);
            D[n * b.nodes + m] = d;
            sum += d;
        }
    }
    return sum;
}

double tree_pair(const TreeKernel& kernel, const Seen& a, const Seen& b, Workspace& work) {
    if (static_cast<std::int64_t>(work.D.size()) < a.nodes * b.nodes) work.D.resize(static_cast<std::size_t>(a.nodes * b.nodes));
    if (static_cast<std::int64_t>(work.G.size()) < 2 * (b.nodes + 1)) work.G.resize(static_cast<std::size_t>(2 * (b.nodes + 1)));
    const double* D = work.D.data();
    switch (kernel.kind) {
    case TreeKernelKind::subtree:
        return over_pairs(b, work, [&](std::int64_t n, std::int64_t m) { return production_pair<0>(a, n, b, m, kernel.lambda, D); });
    case TreeKernelKind::subset_tree:
        return over_pairs(b, work, [&](std::int64_t n, std::int64_t m) { return production_pair<1>(a, n, b, m, kernel.lambda, D); });
    case TreeKernelKind::partial_tree:
        return over_pairs(b, work, [&](std::int64_t n, std::int64_t m) { return label_pair(a, n, b, m, kernel.lambda, kernel.mu, D, work.G.data()); });
    }
    return 0;
}

Seen seen(const TreeBank& bank, std::int64_t t, const std::vector<std::int32_t>& numbers) {
    return {bank.ptr[t + 1] - bank.ptr[t], numbers.data() + bank.ptr[t], bank.child_ptr.data() + bank.ptr[t],
            bank.children.data()};
}

// Which numbers a kernel compares, and how many there are in B.
struct Numbers {
    const std::vector<std::int32_t>& of_A;
    const std::vector<std::int32_t>& of_B;
    std::vector<std::int32_t> there; // A's numbers as B's; empty if A and B are the same bank
    std::size_t count;

    Numbers(const TreeKernel& kernel, const TreeBank& A, const TreeBank& B)
        : of_A(kernel.kind == TreeKernelKind::partial_tree ? A.label : A.production),
          of_B(kernel.kind == TreeKernelKind::partial_tree ? B.label : B.production) {
        const text::KeyNumbers& a = kernel.kind == TreeKernelKind::partial_tree ? A.labels : A.productions;
        const text::KeyNumbers& b = kernel.kind == TreeKernelKind::partial_tree ? B.labels : B.productions;
        if (&A != &B) there = a.in(b);
        count = b.size();
    }
};

// Lists the nodes of a tree of A by number, calls work on it, and clears the lists.
template <class Work>
void with_listed(const TreeBank& A, std::int64_t t, const Numbers& numbers, Workspace& work, Work&& run) {
    Seen a = seen(A, t, numbers.of_A);
    work.number.assign(a.number, a.number + a.nodes);
    if (!numbers.there.empty())
        for (std::int32_t& number : work.number) number = number >= 0 ? numbers.there[number] : -1;
    a.number = work.number.data();
    work.first.resize(numbers.count, -1);
    work.next.resize(static_cast<std::size_t>(a.nodes));
    for (std::int32_t n = 0; n < a.nodes; ++n) {
        if (work.number[n] < 0) continue;
        work.next[n] = work.first[work.number[n]];
        work.first[work.number[n]] = n;
    }
    run(a);
    for (const std::int32_t number : work.number)
        if (number >= 0) work.first[number] = -1;
}

constexpr std::size_t rows_at_once = 4;

} // namespace

void tree_gram(const TreeKernel& kernel, const TreeBank& A, std::span<const std::int64_t> a, const TreeBank& B,
               std::span<const std::int64_t> b, bool symmetric, std::size_t threads, double* out) {
    const Numbers numbers(kernel, A, B);
    const std::size_t m = b.size();
    machine::parallel_blocks((a.size() + rows_at_once - 1) / rows_at_once, threads, [&](std::size_t block) {
        Workspace work;
        for (std::size_t i = block * rows_at_once; i < std::min(a.size(), (block + 1) * rows_at_once); ++i)
            with_listed(A, a[i], numbers, work, [&](const Seen& x) {
                for (std::size_t j = symmetric ? i : 0; j < m; ++j) {
                    machine::check_stop();
                    const double k = tree_pair(kernel, x, seen(B, b[j], numbers.of_B), work);
                    out[i * m + j] = k;
                    if (symmetric) out[j * m + i] = k;
                }
            });
    });
}

void tree_diagonal(const TreeKernel& kernel, const TreeBank& A, std::span<const std::int64_t> a, std::size_t threads,
                   double* out) {
    const Numbers numbers(kernel, A, A);
    machine::parallel_blocks((a.size() + 63) / 64, threads, [&](std::size_t block) {
        Workspace work;
        for (std::size_t i = block * 64; i < std::min(a.size(), (block + 1) * 64); ++i) {
            machine::check_stop();
            with_listed(A, a[i], numbers, work,
                        [&](const Seen& x) { out[i] = tree_pair(kernel, x, seen(A, a[i], numbers.of_B), work); });
        }
    });
}

} // namespace chaffinch::kernels
