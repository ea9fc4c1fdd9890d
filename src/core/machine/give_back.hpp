// Memory that was freed, back to the system.
#pragma once

#include <cstdlib> // says whose library this is

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace chaffinch::machine {

// The allocator keeps what was freed for later; some stages free more than all the rest will ever need.
inline void give_back_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

} // namespace chaffinch::machine
