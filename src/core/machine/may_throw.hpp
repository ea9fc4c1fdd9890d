// Calls of CHAFFINCH_HOT functions that can throw: those that allocate, or that may be stopped.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#define CHAFFINCH_OPAQUE [[gnu::noipa]]
#else
#define CHAFFINCH_OPAQUE
#endif

namespace chaffinch::machine {

// GCC believes that a call of a function with clones cannot throw, and leaves out what catches and cleans up around it: an
// exception would end the process. In here nothing needs cleaning up, and outside nothing is known about the callee.
//
//   may_throw([&] { return hot(p, x); });
template <class Call> CHAFFINCH_OPAQUE decltype(auto) may_throw(const Call& call) { return call(); }

} // namespace chaffinch::machine
