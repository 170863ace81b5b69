// What protocol_bench measures: passes over a buffer of 16 KiB, as large as one read of the server is, full
// of requests of one kind with random keys, or over one buffer of replies. "memcpy" copies the same bytes and
// is what touching them costs.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace mxkv::bench {

/// One pass: how many requests or replies, and how many bytes it went over.
struct Pass {
  std::size_t requests = 0;
  std::size_t bytes = 0;
};

struct Case {
  std::string name;
  std::function<Pass()> pass;
  Pass wanted;  ///< what a pass must have done
};

/// Cases of the parser, of the writers of replies, and memcpy. Thread-safety: one thread at a time a case.
std::vector<Case> protocol_cases();

}  // namespace mxkv::bench
