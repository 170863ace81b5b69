// A world with a store, the log in memory, the herald, and watches that begin, stall, ask for marks, leave and return.
// Each part is the real one, without its thread: the herald is stepped between steps of the workers, also while a worker
// is preempted under a latch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mxkv::simulation {

/// Mistakes that a test makes on purpose.
enum class feed_fault : std::uint8_t {
  none,
  no_waits,    ///< the log is switched on without waiting for the workers
  late_now,    ///< "from now on" is the current epoch
  early_mark,  ///< marks name an epoch whose lines are still to come
};

struct FeedReport {
  std::vector<std::string> complaints;
  std::uint64_t fingerprint = 0;
  std::uint64_t watches = 0;
  std::uint64_t told = 0;
  std::uint64_t batches = 0;
  std::uint64_t ranges = 0;
  std::uint64_t marks = 0;    ///< that were asked for
  std::uint64_t falls = 0;    ///< watches that fell behind
  std::uint64_t returns = 0;  ///< watches that asked to go on from a position
  std::uint64_t later = 0;    ///< that went on from a position of an earlier process
  std::uint64_t lost = 0;     ///< positions of a history that was lost
  std::uint64_t old = 0;
  std::uint64_t gaps = 0;  ///< epochs that the ring could not hold
  std::uint64_t switches = 0;

  void add(const FeedReport& other);
};

[[nodiscard]] FeedReport run_feed_world(std::uint64_t seed, feed_fault fault = feed_fault::none);

}  // namespace mxkv::simulation
