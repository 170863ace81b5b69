// Assertions for invariants: a failed one is a bug of ours, never bad input.
//
// MXKV_ASSERT stays in release builds: for checks that cost a compare on a line already in cache.
// MXKV_DCHECK is compiled out with NDEBUG: for checks inside the innermost loops.
// Both print file, line, the condition and the violated invariant, then abort.
#pragma once

namespace mxkv::runtime {

/// Prints the violated invariant to stderr and aborts. Thread-safety: any thread.
[[noreturn]] void assertion_failed(const char* condition, const char* what, const char* file,
                                   int line) noexcept;

}  // namespace mxkv::runtime

#define MXKV_ASSERT(condition, what)                 \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::mxkv::runtime::assertion_failed(#condition, what, __FILE__, __LINE__))

#ifdef NDEBUG
#define MXKV_DCHECK(condition, what) static_cast<void>(0)
#else
#define MXKV_DCHECK(condition, what) MXKV_ASSERT(condition, what)
#endif
