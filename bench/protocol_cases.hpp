// The cases of protocol_bench: passes over a buffer of 16 KiB, as large as one read of the server, full of
// requests of one kind with random keys, or over one buffer of replies. "memcpy" copies the same bytes, which
// is the cost of touching them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace mxkv::bench {

/// One pass: its numbers of requests or replies, and of bytes.
struct Pass {
  std::size_t requests = 0;
  std::size_t bytes = 0;
};

struct Case {
  std::string name;
  std::function<Pass()> pass;
  Pass wanted;  ///< the result that a pass must have
};

/// Cases of the parser, of the writers of replies, and memcpy. Thread-safety: one thread at a time a case.
std::vector<Case> protocol_cases();

}  // namespace mxkv::bench
