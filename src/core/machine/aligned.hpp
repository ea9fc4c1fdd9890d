// Rows that start on a cache line and have room for whole vectors, and the vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#if defined(__GNUC__)
#define CHAFFINCH_INLINE [[gnu::always_inline]] inline // into each clone of a hot function
#define CHAFFINCH_INLINE_LAMBDA __attribute__((always_inline))
#else
#define CHAFFINCH_INLINE inline
#define CHAFFINCH_INLINE_LAMBDA
#endif

namespace chaffinch::machine {

inline constexpr std::int64_t lanes = 8; // every padded row is a whole number of lanes

// Lanes that a compiler keeps in registers: a vector type of GCC and Clang, lowered to whatever the target has.
template <class Real> struct PackOf {
    typedef Real type __attribute__((vector_size(sizeof(Real) * lanes)));
};
template <class Real> using Pack = typename PackOf<Real>::type;

template <class Real> CHAFFINCH_INLINE void get(Pack<Real>& pack, const Real* from) {
    std::memcpy(&pack, from, sizeof pack);
}
template <class Real> CHAFFINCH_INLINE void put(Real* to, const Pack<Real>& pack) {
    std::memcpy(to, &pack, sizeof pack);
}

// Across the lanes, always in the same order: 0-3 with 4-7, then 0-1 with 2-3, then 0 with 1.
static_assert(lanes == 8);

template <class Lanes> CHAFFINCH_INLINE auto largest(const Lanes& pack) {
    Lanes other = __builtin_shufflevector(pack, pack, 4, 5, 6, 7, 0, 1, 2, 3), found = pack > other ? pack : other;
    other = __builtin_shufflevector(found, found, 2, 3, 0, 1, 6, 7, 4, 5), found = found > other ? found : other;
    return found[0] > found[1] ? found[0] : found[1];
}

template <class Lanes> CHAFFINCH_INLINE auto total(const Lanes& pack) {
    Lanes sum = pack + __builtin_shufflevector(pack, pack, 4, 5, 6, 7, 0, 1, 2, 3);
    sum += __builtin_shufflevector(sum, sum, 2, 3, 0, 1, 6, 7, 4, 5);
    return sum[0] + sum[1];
}

// The stride of a row of n values: n rounded up to whole lanes.
constexpr std::int64_t padded(std::int64_t n) { return (n + lanes - 1) / lanes * lanes; }

// Large tables are placed on large pages if the system has them: a random row then costs no walk through the page
// table, and few pages have to be made.
template <class T> struct CacheLineAllocator {
    using value_type = T;
    static constexpr std::size_t line = 64, large_page = std::size_t{1} << 21;
    CacheLineAllocator() = default;
    template <class U> CacheLineAllocator(const CacheLineAllocator<U>&) {}
    T* allocate(std::size_t n) {
        void* p = ::operator new(n * sizeof(T), alignment(n));
#ifdef MADV_HUGEPAGE
        if (large(n)) madvise(p, n * sizeof(T) / large_page * large_page, MADV_HUGEPAGE); // advice: it may fail
#endif
        return static_cast<T*>(p);
    }
    void deallocate(T* p, std::size_t n) { ::operator delete(p, alignment(n)); }
    bool operator==(const CacheLineAllocator&) const { return true; }

  private:
    static bool large(std::size_t n) { return n * sizeof(T) >= 4 * large_page; }
    static std::align_val_t alignment(std::size_t n) { return std::align_val_t{large(n) ? large_page : line}; }
};

template <class T> using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

// Grows, never shrinks: a workspace that has met its longest sentence allocates no more.
template <class T> T* room(AlignedVector<T>& buffer, std::int64_t n) {
    if (static_cast<std::int64_t>(buffer.size()) < n) buffer.resize(static_cast<std::size_t>(n));
    return buffer.data();
}

} // namespace chaffinch::machine
