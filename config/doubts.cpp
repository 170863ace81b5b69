#include "config/doubts.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "config/parse.hpp"
#include "config/watch_share.hpp"
#include "config/without_effect.hpp"

namespace mxkv::config {

std::string crowd_of_workers(const Resolved& resolved) {
  const std::size_t workers = resolved.runtime.workers.size();
  std::set<runtime::PuId> used;
  for (const runtime::WorkerPlacement& worker : resolved.runtime.workers) {
    used.insert(worker.pu);
  }
  const std::size_t cpus = used.size();
  return workers == cpus ? std::string{}
                         : std::to_string(workers) + " workers share " + std::to_string(cpus) +
                               (cpus == 1 ? " CPU" : " CPUs") +
                               ": the clients of one worker wait while another worker has its CPU";
}

namespace {

// Only figures that somebody has set: the usual ones are for larger servers, too.
void doubt_watch_share(const DaemonOptions& options, std::string_view name, std::size_t bytes,
                       std::size_t limit, Findings& found) {
  const std::string path = "watch." + std::string{name};
  const Origin* const origin = find_origin(options.origins, path);
  if (const std::size_t most = limit / kPartForWatches; origin != nullptr && bytes > most) {
    found.push_back({*origin, path,
                     format_size_rounded(bytes) + " is more than 1/" + std::to_string(kPartForWatches) +
                         " of memory.limit, which is " + format_size_rounded(limit) + ": " +
                         format_size_rounded(most) + " are used"});
  }
}

}  // namespace

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
  if (std::string crowd = crowd_of_workers(resolved); !crowd.empty()) {
    const Origin* origin = find_origin(options.origins, "workers");
    found.push_back({origin == nullptr ? Origin{} : *origin, "workers", std::move(crowd)});
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
  doubt_watch_share(options, "memory", options.watch.memory_bytes, limit, found);
  doubt_watch_share(options, "ring", options.watch.ring_bytes, limit, found);
  Findings idle = switches_without_effect(options, resolved.runtime.workers.size(), resolved.nodes.size());
  found.insert(found.end(), idle.begin(), idle.end());
  return found;
}

}  // namespace mxkv::config
