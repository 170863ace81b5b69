// The block that a session is receiving: a value on its way into its item, or bytes that are dropped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "protocol/parser.hpp"
#include "server/net/session/admission.hpp"
#include "server/net/session/batch_intake.hpp"
#include "server/net/session/launcher.hpp"
#include "server/net/session/session_core.hpp"
#include "server/store/item/item_builder.hpp"
#include "server/store/upkeep/shortage.hpp"

namespace mxkv::server {

/// take(), take_end() and take_swallowed() return how many bytes they used. Thread-safety: owner worker only.
class ValueIntake {
 public:
  /// Where the next bytes of a value may be read to; empty: they do not come here.
  [[nodiscard]] std::span<char> space(SessionCore& core);
  /// `bytes` were read into space().
  void received(SessionCore& core, std::size_t bytes);

  /// Begins the value of `request`. False: it has to wait, and the session's pauses say for what.
  [[nodiscard]] bool begin(SessionCore& core, const protocol::Request& request, bool in_batch);
  /// Whether all of its bytes came.
  [[nodiscard]] bool complete() const noexcept { return left_ == 0; }
  /// The usual case: the value came together with its line. It goes straight into its item, without a state in
  /// between. In other cases this takes nothing, and returns 0.
  static std::size_t take_whole(SessionCore& core, Launcher& launcher, const protocol::Request& request,
                                std::string_view data);
  std::size_t take(SessionCore& core, Launcher& launcher, BatchIntake& batch, std::string_view data);
  /// The end of line behind the value.
  std::size_t take_end(SessionCore& core, Launcher& launcher, BatchIntake& batch, std::string_view data);

  /// `bytes` to come are dropped, then `error` is the reply; empty: none.
  void swallow(SessionCore& core, std::uint64_t bytes, std::string_view error) noexcept;
  std::size_t take_swallowed(SessionCore& core, BatchIntake& batch, std::string_view data);

  /// Gives up the value, if there is one.
  void drop(SessionCore& core) noexcept;
  /// Whether its large value came so slowly up to `now_ns` that it should make room for another one.
  [[nodiscard]] bool is_slow(std::uint64_t now_ns) const noexcept {
    return admitted_ != 0 &&
           now_ns - admitted_ns_ > Admission::kStallsNs + (admitted_ - left_) * Admission::kNsOfByte;
  }

 private:
  void store(SessionCore& core, Launcher& launcher, BatchIntake& batch);
  void refuse(SessionCore& core, BatchIntake& batch, std::string_view error);
  void abandon(SessionCore& core) noexcept;
  /// A large value is complete, or never will be: gives up its room.
  [[gnu::always_inline]] void give_up_room(SessionCore& core) noexcept {
    if (admitted_ != 0) [[unlikely]] {
      admitted_ = 0;
      room_->give(*core.entry->owner);
    }
  }

  std::optional<ItemBuilder> value_;
  std::uint64_t left_ = 0;  ///< bytes still to come; when swallowing, with the end of line
  protocol::DataBlockEnd end_;
  bool quiet_ = false;             ///< noreply
  std::string_view error_;         ///< the reply once all is swallowed; empty: none
  std::uint64_t admitted_ = 0;     ///< size of the large value that is being received
  Admission* room_ = nullptr;      ///< where it was admitted
  std::uint64_t admitted_ns_ = 0;  ///< when it began, or last waited for memory
  RoomWait room_wait_;             ///< of the value that lacks memory
};

}  // namespace mxkv::server
