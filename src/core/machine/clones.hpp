// CHAFFINCH_HOT compiles a loop once per generation of x86 vector units and picks at load time. It belongs on
// plain functions (not templates) that do enough work per call to pay for an indirect call. Elsewhere the
// baseline already has vectors (NEON) and the attribute is empty.
#pragma once

// A build that stays on one machine names that machine's generation in CHAFFINCH_GENERATION and compiles no other.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) && !defined(CHAFFINCH_ONE_CLONE)
#ifdef CHAFFINCH_GENERATION
#define CHAFFINCH_HOT __attribute__((target("arch=" CHAFFINCH_GENERATION)))
#else
#define CHAFFINCH_HOT __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
#else
#define CHAFFINCH_HOT
#endif
