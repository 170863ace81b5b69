// `stats detail`: counts commands by prefix, as memcached does. A prefix is the part of a key before its
// first colon.
//
// It is off until a client turns it on. Then each command takes a lock here, so it is for a look and not for
// always; `stats hot` samples, and costs nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace mxkv::server {

/// Thread-safety: any thread.
class PrefixCounts {
 public:
  /// Once there are so many prefixes, new ones are not counted.
  static constexpr std::size_t kMost = 10'000;

  enum class command : std::uint8_t { hit, miss, set, remove };

  /// Keys without a colon, and prefixes that a line cannot carry, are not counted.
  void count(std::string_view key, command what);
  void clear();
  /// One "PREFIX a get 3 hit 2 set 1 del 0\r\n" each, in order, and "END\r\n".
  [[nodiscard]] std::string text() const;

 private:
  struct Counts {
    std::uint64_t gets = 0;
    std::uint64_t hits = 0;
    std::uint64_t sets = 0;
    std::uint64_t removals = 0;
  };

  mutable std::mutex mutex_;  ///< guards counts_
  std::map<std::string, Counts, std::less<>> counts_;
};

}  // namespace mxkv::server
