// What happened to the keys of a shard, by its log: for programs that follow a cluster from outside. Only what counts:
// groups of the owner of each moment, each once and whole.
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

/// One change, and where it stands. Good during the call.
struct FedChange {
  std::uint32_t shard = 0;
  LogPosition position = 0;  ///< of the last message of its group
  std::uint64_t term = 0;
  const BodyEntry& entry;
};

/// Reads one shard's log. Where it begins in the middle of a term, it knows that term from the first message of it that
/// it sees. Thread-safety: the log's thread.
class ChangeFeed final : public LogSink {
 public:
  using Take = std::function<void(const FedChange& change)>;

  /// `state`: as of where reading begins, where that is known.
  ChangeFeed(const MessageScope& scope, Take take, const ShardState& state = {})
      : scope_(scope), take_(std::move(take)), state_(state) {}

  void message(LogPosition position, std::string_view bytes) override;
  void begins_later() override { cut_off_ = true; }

  /// The log begins behind where it was to be read from.
  [[nodiscard]] bool cut_off() const noexcept { return cut_off_; }
  /// Messages that were seen, and those that are damaged or another cluster's.
  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
  [[nodiscard]] std::uint64_t discarded() const noexcept { return discarded_; }
  /// Groups that count and hold what is no record: what stands behind that is not told.
  [[nodiscard]] std::uint64_t damaged() const noexcept { return damaged_; }

 private:
  /// Whether its term is another one than is known: it began before what was seen first.
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

/// As JSON on one line: shard, position, order and what happened; keys and values as text, or where they are none that
/// JSON can hold in base64, as key_base64 and value_base64. Thread-safety: any thread.
[[nodiscard]] std::string change_json(const FedChange& change);

}  // namespace mxkv::server
