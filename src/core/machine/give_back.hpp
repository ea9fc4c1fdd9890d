// Returns freed memory to the system.
#pragma once

#include <cstdlib> // defines __GLIBC__
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace chaffinch::machine {

// The allocator keeps freed memory for later; some stages free more than the later stages will ever need.
inline void give_back_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

// Frees the memory of v; `v = {}` would clear v and keep its memory.
template <class T> void release(std::vector<T> &v) { std::vector<T>().swap(v); }

} // namespace chaffinch::machine
