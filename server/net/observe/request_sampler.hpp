// Times a sample of a worker's requests by kind of command, and counts their keys and ranges.
//
// One of `one_in` requests is timed. It is chosen at random, so that no rhythm of a client's requests hides
// some of them from the sample (runtime/base/random_gap.hpp). Its time begins when its line was read. It ends
// when our side no longer holds its reply back: at the end of the round in which the last byte of the reply,
// and of all replies before it, went to the socket, or waits there for a client that does not read. So the
// time includes every cause that holds a reply back: other requests, a journal that is not on disk, the logs
// of a cluster. This is the only place where times are taken.
//
// The other requests pay one decrement. Up to kMostPending samples run at once. A request that is due when
// all are taken is only counted.
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
#include "server/net/observe/hot_keys.hpp"
#include "server/net/observe/latency_histogram.hpp"
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
  std::string key{};                ///< the first of several; of a range: the prefix, or the first bound
  std::uint32_t keys = 0;           ///< number of keys
  std::string client{};             ///< as in ConnectionFacts::peer; empty: unknown
  std::uint64_t request_bytes = 0;  ///< of its value
  std::uint64_t reply_bytes = 0;    ///< on its connection, from the request's begin to its end
};

/// A readable form of a key: as it is if printable, else in base64.
[[nodiscard]] std::string key_in_one_word(std::string_view key);

/// The latest slow requests. Thread-safety: any thread; it is seldom used.
class SlowLog {
 public:
  static constexpr std::size_t kMost = 128;

  void add(SlowRequest request);
  /// Oldest first.
  [[nodiscard]] std::vector<SlowRequest> latest() const;
  void clear();

 private:
  mutable std::mutex mutex_;  ///< guards all
  std::vector<SlowRequest> ring_;
  std::size_t next_ = 0;
};

/// Thread-safety: owner worker only, except where a comment says any thread.
class RequestSampler {
 public:
  /// If replies wait for a disk, thousands of requests a second take milliseconds each.
  static constexpr std::size_t kMostPending = 256;

  RequestSampler() = default;
  RequestSampler(const RequestSampler&) = delete;
  RequestSampler& operator=(const RequestSampler&) = delete;
  /// Without this call nothing is sampled. Start-up only; the arguments outlive this.
  void configure(const config::StatsOptions& options, const runtime::Clock& clock, SlowLog& slow,
                 std::uint16_t worker, Happenings* happenings = nullptr);
  /// Changes the sampling rate and the limit for slow requests. Samples under way continue.
  void change(const config::StatsOptions& options) noexcept;

  /// Whether the next request belongs to the sample.
  [[nodiscard]] bool due() noexcept { return --left_ == 0; }
  /// How many requests come before the next one of the sample. pass() counts that so many came.
  [[nodiscard]] std::uint64_t lines_before() const noexcept { return left_ - 1; }
  void pass(std::uint64_t requests) noexcept { left_ -= requests; }
  /// Called before `request` starts.
  void begin(ConnectionState& entry, const protocol::Request& request);
  /// Called when all connections have sent what they may: ends the samples whose replies have left.
  void end_round() {
    if (pending_ != 0) [[unlikely]] {
      time_replies();
    }
  }

  /// Called when the connection closes: ends the samples whose replies were sent.
  void end_connection(const ConnectionState& entry) {
    if (pending_ != 0) [[unlikely]] {
      time_last_replies(entry);
    }
  }

  // Any thread.
  [[nodiscard]] std::uint32_t one_in() const noexcept { return one_in_.load(std::memory_order_relaxed); }
  /// Null: not configured.
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
    std::uint32_t ticket;  ///< of its last reply
    std::uint64_t begun_ns;
    std::uint64_t request_bytes;
    std::uint64_t written_before;  ///< bytes written to its connection before
    std::size_t reply_end;         ///< once answered: where its reply ends, in all bytes of its connection
    std::uint32_t keys;
    command_kind kind;
    bool answered;  ///< its reply is written
    std::uint8_t key_bytes;
    std::array<char, protocol::kMaxKeyBytes> key;
  };

  void count_keys(const protocol::Request& request, std::uint64_t now_ns);
  void time_replies();
  void time_last_replies(const ConnectionState& entry);
  [[nodiscard]] static bool is_answered(Sample& sample);
  void end(const Sample& sample, std::uint64_t now_ns);

  std::uint64_t left_ = 0;     ///< 0: nothing is sampled (wrapping takes centuries)
  runtime::RandomGap gap_{0};  ///< between two samples
  std::size_t pending_ = 0;
  std::atomic<std::uint32_t> one_in_{0};  // relaxed, one writer
  std::uint16_t worker_ = 0;
  std::uint64_t slow_ns_ = 0;  ///< 0: none is slow
  const runtime::Clock* clock_ = nullptr;
  SlowLog* slow_ = nullptr;
  Happenings* happenings_ = nullptr;  ///< null: slow requests are not announced
  std::unique_ptr<LatencyHistogram[]> latencies_;
  std::unique_ptr<Sample[]> samples_;  ///< kMostPending
  HotKeys hot_keys_;
  std::atomic<std::uint64_t> untimed_{0};  // relaxed, one writer
};

}  // namespace mxkv::server
