// An allocator to be preloaded: it counts the allocations that some address ranges ask for, and fails one of them.
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

enum { most_ranges = 8 };
static uintptr_t first[most_ranges], last[most_ranges];
static int ranges = 0;
static atomic_long count = 0, failing = 0;

// Code between these addresses is meant.
void failing_allocator_range(uintptr_t from, uintptr_t to) {
    if (ranges < most_ranges) first[ranges] = from, last[ranges++] = to;
}

// The n-th allocation from now on fails, if n > 0.
void failing_allocator_arm(long n) {
    count = 0;
    failing = n;
}

long failing_allocator_count(void) { return count; }

static int fails(void* caller) {
    const uintptr_t at = (uintptr_t)caller;
    for (int r = 0; r < ranges; ++r)
        if (at >= first[r] && at < last[r]) return atomic_fetch_add(&count, 1) + 1 == failing;
    return 0;
}

#define FAIL_OR(call) (fails(__builtin_return_address(0)) ? (errno = ENOMEM, (void*)0) : (call))

void* malloc(size_t n) { return FAIL_OR(__libc_malloc(n)); }
void* calloc(size_t n, size_t size) { return FAIL_OR(__libc_calloc(n, size)); }
void* realloc(void* p, size_t n) { return FAIL_OR(__libc_realloc(p, n)); }
void* memalign(size_t alignment, size_t n) { return FAIL_OR(__libc_memalign(alignment, n)); }
void* aligned_alloc(size_t alignment, size_t n) { return FAIL_OR(__libc_memalign(alignment, n)); }
int posix_memalign(void** out, size_t alignment, size_t n) {
    if (fails(__builtin_return_address(0))) return ENOMEM;
    *out = __libc_memalign(alignment, n);
    return *out ? 0 : ENOMEM;
}
