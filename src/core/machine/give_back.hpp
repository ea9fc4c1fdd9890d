// Returns freed memory to the system.
#pragma once

#include <cstdlib> // defines __GLIBC__

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

} // namespace chaffinch::machine
