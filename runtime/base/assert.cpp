#include "runtime/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace mxkv::runtime {

void assertion_failed(const char* condition, const char* what, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: invariant violated: %s (%s)\n", file, line, what, condition);
  std::abort();
}

}  // namespace mxkv::runtime
