#include "config/doubts.hpp"

#include "config/parse.hpp"
#include "config/without_effect.hpp"

namespace mxkv::config {

Findings doubts(const DaemonOptions& options, const Resolved& resolved, const MachineFacts& facts) {
  Findings found;
  const std::size_t limit = resolved.runtime.memory.limit_bytes;
  const std::size_t available = available_memory(facts);
  if (available != 0 && limit > available) {
    const Origin* origin = find_origin(options.origins, "memory.limit");
    found.push_back(
        {origin == nullptr ? Origin{} : *origin, "memory.limit",
         format_size_rounded(limit) + " is more than the " + format_size_rounded(available) +
             " of this machine: the kernel kills or swaps the process before the limit is reached"});
  }
  Findings idle = switches_without_effect(options, resolved.runtime.workers.size(), resolved.nodes.size());
  found.insert(found.end(), idle.begin(), idle.end());
  return found;
}

}  // namespace mxkv::config
