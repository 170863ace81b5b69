// The output of one connection that waits for the disk, or for the logs of a cluster: how much of it, since when, and
// whether a last line may take its place if the wait is given up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "server/reply/output_buffer.hpp"
#include "server/reply/output_gate.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only. Positions are as in OutputGate.
class HeldOutput {
 public:
  /// All output before `begin` has left.
  explicit HeldOutput(std::size_t begin) noexcept : judged_(begin) {}

  [[nodiscard]] bool holds() const noexcept { return gate_.holds(); }
  /// Judges the output that was written since the last call, up to `end`, where no reply is half written if
  /// `whole`: it waits for `epoch`; 0: for no later epoch than the output before it. Returns whether the
  /// connection begins to hold output.
  [[nodiscard]] bool judge(std::size_t end, bool whole, std::uint64_t epoch, std::uint64_t now_ns) noexcept {
    const std::size_t from = std::exchange(judged_, end);
    const bool from_whole = std::exchange(judged_whole_, whole);
    if (epoch == 0) {
      return false;
    }
    const bool begins = !gate_.holds();
    if (begins) {
      held_whole_ = from_whole;
      since_ns_ = now_ns;
    }
    gate_.add(from, epoch);
    return begins;
  }
  /// All epochs up to `durable` are on disk. Returns whether some of the output need not wait any more.
  [[nodiscard]] bool open(std::uint64_t durable, std::uint64_t now_ns) noexcept {
    if (!gate_.open(durable)) {
      return false;
    }
    held_whole_ = false;  // not known for a later mark
    since_ns_ = now_ns;
    return true;
  }
  /// How many bytes of `output` may be sent.
  [[nodiscard]] std::size_t sendable(const OutputBuffer& output) const noexcept {
    return gate_.sendable(output.sent_bytes(), output.unsent_bytes());
  }
  /// Whether no byte before `end` is held.
  [[nodiscard]] bool lets(std::size_t end) const noexcept { return gate_.lets(end); }
  /// The epoch that the first held byte waits for. Only if holds().
  [[nodiscard]] std::uint64_t awaited() const noexcept { return gate_.awaited(); }
  /// Whether a line may stand in place of the output that is held: a reply begins there. Only if holds().
  [[nodiscard]] bool begins_with_a_reply() const noexcept { return held_whole_; }
  /// Since when output is held, or when some of it left last. Only if holds().
  [[nodiscard]] std::uint64_t since_ns() const noexcept { return since_ns_; }

 private:
  OutputGate gate_;
  std::size_t judged_;        ///< judge() has handled the output up to here
  bool judged_whole_ = true;  ///< no reply was half written at judged_
  bool held_whole_ = false;   ///< no reply was half written where the held output begins
  std::uint64_t since_ns_ = 0;
};

}  // namespace mxkv::server
