// A trace of a cache's requests, whole in memory: the columns of the traces that Twitter has published.
//
//   timestamp,key,key size,value size,client id,operation,TTL          one request a line, times in seconds
//
// Source: J. Yang, Y. Yue, R. Vinayak, "A large scale analysis of hundreds of in-memory cache clusters at Twitter"
// (OSDI 20), and the traces' README (github.com/twitter/cache-trace).
// A request takes 16 bytes. A key is kept once, with 10 to 18 bytes beside its own, and 6 to 12 in the table that finds it.
// The client's id is not kept. Not done: decompression; a pipe does that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace mxkv::bench {

enum class TraceAction : std::uint8_t {
  get,
  gets,
  set,
  add,
  replace,
  cas,
  append,
  prepend,
  remove,
  incr,
  decr,
};

struct TraceRequest {
  std::uint32_t second = 0;
  std::uint32_t key = 0;    ///< its number, in the order of first requests
  std::uint32_t ttl_s = 0;  ///< 0: none
  std::uint32_t value_bytes : 28 = 0;
  TraceAction action : 4 = TraceAction::get;
};
static_assert(sizeof(TraceRequest) == 16);

/// The keys of a trace, each once. Thread-safety: any thread once nothing is added.
class TraceKeys {
 public:
  static constexpr std::size_t kMostBytes = 250;

  /// The number of the key, 1 to kMostBytes long, which is added if it is new.
  std::uint32_t intern(std::string_view key);
  [[nodiscard]] std::string_view operator[](std::uint32_t number) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }

  /// Requests other than sets make the value, so that its bytes cannot be checked.
  void mark_opaque(std::uint32_t number) noexcept;
  [[nodiscard]] bool opaque(std::uint32_t number) const noexcept;
  /// The value is a number that requests increment.
  void mark_counter(std::uint32_t number) noexcept;
  [[nodiscard]] bool counter(std::uint32_t number) const noexcept;

 private:
  void grow_table();
  [[nodiscard]] std::size_t slot_of(std::string_view key) const noexcept;

  std::vector<std::unique_ptr<char[]>> chunks_;
  std::size_t chunk_used_ = 0;
  std::vector<char*> places_;         // by number: length, marks, then the key
  std::vector<std::uint32_t> table_;  // number plus one by hash, linear probing; 0: free
};

class Trace {
 public:
  static constexpr std::uint32_t kMostValueBytes = (std::uint32_t{1} << 28) - 1;

  /// Reads and checks a whole file; "-" is standard input. The error names file, line and the expected form.
  static runtime::Result<Trace> read(const std::string& file, std::uint64_t most_value_bytes);
  /// The same with a text that is in memory.
  static runtime::Result<Trace> parse(std::string_view text, const std::string& file,
                                      std::uint64_t most_value_bytes);

  [[nodiscard]] std::size_t size() const noexcept { return requests_.size(); }
  [[nodiscard]] const TraceRequest& operator[](std::size_t number) const noexcept {
    return requests_[number];
  }
  [[nodiscard]] const TraceKeys& keys() const noexcept { return keys_; }
  /// Seconds from the first to the end of the last, at least 1.
  [[nodiscard]] double length_s() const noexcept;
  /// When the request of this number is due after the start: a second's requests are spread evenly over it.
  [[nodiscard]] double offset_s(std::size_t number) const noexcept;

 private:
  friend class TraceParser;

  struct Second {
    std::uint32_t second;
    std::size_t first;  // its first request
  };

  std::deque<TraceRequest>
      requests_;  // no vector: that needs half as much again, or twice as much, while it grows
  std::vector<Second> seconds_;
  TraceKeys keys_;
};

}  // namespace mxkv::bench
