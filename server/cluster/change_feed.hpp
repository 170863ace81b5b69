// The changes of a shard's keys, read from its log: for programs that follow a cluster from outside. It hands
// out only valid groups, which are from the owner of their moment, each once and whole.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "server/cluster/message.hpp"
#include "server/cluster/ordered_log.hpp"
#include "server/cluster/record_body.hpp"
#include "server/cluster/shard_state.hpp"

namespace mxkv::server {

/// One change, and its position. Valid during the call.
struct FedChange {
  std::uint32_t shard = 0;
  LogPosition position = 0;  ///< of the last message of the change's group
  std::uint64_t term = 0;
  const BodyEntry& entry;
};

/// Reads one shard's log. If reading begins in the middle of a term, the first message seen of that term
/// reveals it. Thread-safety: the log's thread.
class ChangeFeed final : public LogSink {
 public:
  using Take = std::function<void(const FedChange& change)>;

  /// `state`: the shard's state where reading begins, if known.
  ChangeFeed(const MessageScope& scope, Take take, const ShardState& state = {})
      : scope_(scope), take_(std::move(take)), state_(state) {}

  void message(LogPosition position, std::string_view bytes) override;
  void begins_later() override { cut_off_ = true; }

  /// The log begins behind the position where reading was to begin.
  [[nodiscard]] bool cut_off() const noexcept { return cut_off_; }
  /// Messages seen, and messages that are damaged or another cluster's.
  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
  [[nodiscard]] std::uint64_t discarded() const noexcept { return discarded_; }
  /// Valid groups with damaged records: the records behind the damage are not handed out.
  [[nodiscard]] std::uint64_t damaged() const noexcept { return damaged_; }

 private:
  /// Whether the message's term, or its owner, is not the known one: that term began before the first message
  /// seen.
  [[nodiscard]] bool proves_another_term(const Message& message) const noexcept;
  void hand_out(LogPosition position, std::uint64_t term, std::string_view body);

  MessageScope scope_;
  Take take_;
  ShardState state_;
  std::string parts_;
  std::uint64_t messages_ = 0;
  std::uint64_t discarded_ = 0;
  std::uint64_t damaged_ = 0;
  bool cut_off_ = false;
};

/// As JSON on one line: shard, position, order and the change. Keys and values are text, or base64 if they
/// are not UTF-8, as key_base64 and value_base64. Thread-safety: any thread.
[[nodiscard]] std::string change_json(const FedChange& change);

}  // namespace mxkv::server
