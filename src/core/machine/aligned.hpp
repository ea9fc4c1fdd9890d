// Rows that start on a cache line and have room for whole packs.
#pragma once

#include "pack.hpp"

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace chaffinch::machine {

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
