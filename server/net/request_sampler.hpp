// Times a sample of a worker's requests, by kind of command, and counts their keys and ranges.
//
// One of `one_in` requests is timed, chosen at random, so that no rhythm of a client's requests hides some of them from
// the sample (runtime/base/random_gap.hpp). Its time begins when its line was read, and ends when nothing of ours keeps
// its reply any more: at the end of the round in which the last byte of it, and of all replies before it, went to the
// socket, or waits there for a client that does not read. So whatever holds a reply back is part of its time: other
// requests, a journal that is not on disk, the logs of a cluster. This is the one place where times are taken.
//
// The others pay one decrement. Up to kMostPending samples run at once; a request that is due meanwhile is counted
// instead.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.hpp"
#include "protocol/request.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/random_gap.hpp"
#include "server/net/hot_keys.hpp"
#include "server/net/latency_histogram.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/happenings.hpp"

namespace mxkv::server {

using protocol::command_kind;
using protocol::kCommandKinds;

/// A request that took long.
struct SlowRequest {
  std::uint64_t unix_us = 0;  ///< when it ended
  std::uint64_t nanoseconds = 0;
  command_kind kind = command_kind::other;
  std::uint16_t worker = 0;
  std::string key{};                ///< the first of several; of a range the prefix, or where it begins
  std::uint32_t keys = 0;           ///< how many
  std::string client{};             ///< as in ConnectionFacts::peer; empty: not known
  std::uint64_t request_bytes = 0;  ///< of its value
  std::uint64_t reply_bytes = 0;    ///< to its connection, from when it began to when it ended
};

/// A key as people read it; one that is not printable as base64.
[[nodiscard]] std::string key_in_one_word(std::string_view key);

/// The latest of them. Thread-safety: any thread; it is seldom touched.
class SlowLog {
 public:
  static constexpr std::size_t kMost = 128;

  void add(SlowRequest request);
  /// The oldest first.
  [[nodiscard]] std::vector<SlowRequest> latest() const;
  void clear();

 private:
  mutable std::mutex mutex_;  ///< guards all
  std::vector<SlowRequest> ring_;
  std::size_t next_ = 0;
};

/// Thread-safety: owner worker only, but for what is said of any thread.
class RequestSampler {
 public:
  /// Where replies wait for a disk, thousands of requests a second take milliseconds each.
  static constexpr std::size_t kMostPending = 256;

  RequestSampler() = default;
  RequestSampler(const RequestSampler&) = delete;
  RequestSampler& operator=(const RequestSampler&) = delete;
  /// Without this nothing is sampled. Start-up only; what it refers to outlives this.
  void configure(const config::StatsOptions& options, const runtime::Clock& clock, SlowLog& slow,
                 std::uint16_t worker, Happenings* happenings = nullptr);
  /// Changes how many are sampled, and which of them are slow. What is being timed goes on.
  void change(const config::StatsOptions& options) noexcept;

  /// Whether the next request is one of the sample.
  [[nodiscard]] bool due() noexcept { return --left_ == 0; }
  /// How many requests come before the next one of the sample, and that so many came.
  [[nodiscard]] std::uint64_t lines_before() const noexcept { return left_ - 1; }
  void pass(std::uint64_t requests) noexcept { left_ -= requests; }
  /// It is about to be started.
  void begin(ConnectionState& entry, const protocol::Request& request);
  /// All connections sent what they may: takes the time of replies that have left.
  void end_round() {
    if (pending_ != 0) [[unlikely]] {
      time_replies();
    }
  }

  /// The connection closes: of its replies, those that were sent are timed.
  void end_connection(const ConnectionState& entry) {
    if (pending_ != 0) [[unlikely]] {
      time_last_replies(entry);
    }
  }

  // Any thread.
  [[nodiscard]] std::uint32_t one_in() const noexcept { return one_in_.load(std::memory_order_relaxed); }
  /// Null: it is not configured.
  [[nodiscard]] const LatencyHistogram* latencies(command_kind kind) const noexcept {
    return latencies_ == nullptr ? nullptr : &latencies_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] const HotKeys& hot_keys() const noexcept { return hot_keys_; }
  [[nodiscard]] HotKeys& hot_keys() noexcept { return hot_keys_; }
  [[nodiscard]] std::uint64_t untimed() const noexcept { return untimed_.load(std::memory_order_relaxed); }

 private:
  struct Sample {
    ConnectionState* entry;
    std::uint32_t generation;
    std::uint32_t ticket;  ///< its last reply
    std::uint64_t begun_ns;
    std::uint64_t request_bytes;
    std::uint64_t written_before;  ///< bytes to its connection
    std::size_t reply_end;  ///< once it is answered: where its reply ends, in all bytes of its connection
    std::uint32_t keys;
    command_kind kind;
    bool answered;  ///< its reply is written
    std::uint8_t key_bytes;
    std::array<char, protocol::kMaxKeyBytes> key;
  };

  void count_keys(const protocol::Request& request, command_kind kind, std::uint64_t now_ns);
  void time_replies();
  void time_last_replies(const ConnectionState& entry);
  [[nodiscard]] static bool is_answered(Sample& sample);
  void end(const Sample& sample, std::uint64_t now_ns);

  std::uint64_t left_ = 0;     ///< 0: goes round once in an age of the world
  runtime::RandomGap gap_{0};  ///< between two of the sample
  std::size_t pending_ = 0;
  std::atomic<std::uint32_t> one_in_{0};  // relaxed, one writer
  std::uint16_t worker_ = 0;
  std::uint64_t slow_ns_ = 0;  ///< 0: none is slow
  const runtime::Clock* clock_ = nullptr;
  SlowLog* slow_ = nullptr;
  Happenings* happenings_ = nullptr;  ///< null: nobody is told
  std::unique_ptr<LatencyHistogram[]> latencies_;
  std::unique_ptr<Sample[]> samples_;  ///< kMostPending
  HotKeys hot_keys_;
  std::atomic<std::uint64_t> untimed_{0};  // relaxed, one writer
};

}  // namespace mxkv::server
