// Calls of CHAFFINCH_HOT functions that can throw: those that allocate, or that may be stopped.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#define CHAFFINCH_OPAQUE [[gnu::noipa]]
#else
#define CHAFFINCH_OPAQUE
#endif

namespace chaffinch::machine {

// GCC assumes that a call of a function with clones cannot throw and omits the handlers around it, so an exception
// would end the process. This function has nothing to clean up, and it hides the callee from its caller.
//
//   may_throw([&] { return hot(p, x); });
template <class Call> CHAFFINCH_OPAQUE decltype(auto) may_throw(const Call& call) { return call(); }

} // namespace chaffinch::machine
