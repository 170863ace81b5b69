// The set of reasons why a session takes no requests. Each reason is added where it is found and removed
// where it ends.
#pragma once

#include <cstdint>

namespace mxkv::server {

/// One reason. Its comment names the event that removes it.
enum class pause : std::uint16_t {
  turn = 1,         ///< its share of this turn is used up: the next run
  in_flight = 2,    ///< too many requests are in flight, or wait for their order: the next allowance
  output = 4,       ///< unsent replies are above the high-water mark or the share: the next allowance
  order = 8,        ///< a range, batch or barrier conflicts with requests in flight: the next run
  page_room = 16,   ///< a page of a range needs room in the worker's share: give_room()
  value_room = 32,  ///< a large value needs room in the worker's share: give_room()
  memory = 64,      ///< room is being made for a value: the next run
  input_end = 128,  ///< the client has ended its input: never
  journal = 256,    ///< too many bytes wait to be written to the journal: journal_has_room()
  move = 512,       ///< the connection shall move to another worker: stay(), or it has gone
  login = 1024,     ///< the client's login is being judged: judged()
  rate = 2048,      ///< its user or its address used up its rate: rate_has_room()
};

/// Plain value.
class Pauses {
 public:
  constexpr Pauses() noexcept = default;
  constexpr Pauses(pause reason) noexcept : bits_(static_cast<std::uint16_t>(reason)) {}

  friend constexpr Pauses operator|(Pauses a, Pauses b) noexcept {
    return Pauses{static_cast<std::uint16_t>(a.bits_ | b.bits_)};
  }
  friend constexpr bool operator==(Pauses, Pauses) noexcept = default;

  constexpr void add(Pauses reasons) noexcept { bits_ |= reasons.bits_; }
  constexpr void remove(Pauses reasons) noexcept { bits_ &= static_cast<std::uint16_t>(~reasons.bits_); }

  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  [[nodiscard]] constexpr bool has(Pauses any_of) const noexcept { return (bits_ & any_of.bits_) != 0; }
  [[nodiscard]] constexpr unsigned bits() const noexcept { return bits_; }

 private:
  constexpr explicit Pauses(std::uint16_t bits) noexcept : bits_(bits) {}

  std::uint16_t bits_ = 0;
};

constexpr Pauses operator|(pause a, pause b) noexcept {
  return Pauses{a} | Pauses{b};
}

/// Reasons that each run checks again.
inline constexpr Pauses kRetried = pause::turn | pause::order | pause::memory;
/// Reasons that RequestAllowance decides on.
inline constexpr Pauses kOfAllowance = pause::turn | pause::in_flight | pause::output;
/// Reasons that end when the worker's share of memory has room.
inline constexpr Pauses kOfRoom = pause::page_room | pause::value_room;
/// Reasons for which the session takes nothing until others end them.
inline constexpr Pauses kUntilTold = kOfRoom | pause::journal | pause::move | pause::login | pause::rate;
/// Reasons that end when operations end.
inline constexpr Pauses kOfOperations = pause::in_flight | pause::order;
/// All reasons that end while the connection lives.
inline constexpr Pauses kPassing = kRetried | kOfAllowance | kOfRoom;

}  // namespace mxkv::server
