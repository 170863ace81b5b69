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
  for (std::size_t i = 0; i < options.prefixes.size(); ++i) {
    if (const std::size_t bytes = options.prefixes[i].memory_bytes; bytes > limit) {
      const std::string path = "prefixes[" + std::to_string(i) + "].memory";
      const Origin* origin = find_origin(options.origins, path);
      found.push_back({origin == nullptr ? Origin{} : *origin, path,
                       format_size_rounded(bytes) + " is more than memory.limit, which is " +
                           format_size_rounded(limit) + ": the prefix never reaches it"});
    }
  }
  Findings idle = switches_without_effect(options, resolved.runtime.workers.size(), resolved.nodes.size());
  found.insert(found.end(), idle.begin(), idle.end());
  return found;
}

}  // namespace mxkv::config
