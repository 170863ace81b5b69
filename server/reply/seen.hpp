// What a reply has seen: whether it shows a change that a power cut, or another node, may still take back.
//
// It cannot be forgotten: ConnectionTable gives room for a reply only against a Seen, which has no default. So a
// command that does not say what it has read or changed does not compile. nothing() is the only way around that, and
// each use states that the reply shows no item and no absence of one.
#pragma once

namespace mxkv::server {

class Seen {
 public:
  /// No item, no absence of one, no change: an error, a refusal, data of the server itself.
  [[nodiscard]] static constexpr Seen nothing() noexcept { return Seen{false}; }
  /// Items, absences or changes. `may_be_lost`: one of them is not known to be on disk.
  [[nodiscard]] static constexpr Seen data(bool may_be_lost) noexcept { return Seen{may_be_lost}; }

  [[nodiscard]] constexpr bool must_wait() const noexcept { return must_wait_; }

 private:
  explicit constexpr Seen(bool must_wait) noexcept : must_wait_(must_wait) {}

  bool must_wait_;
};

}  // namespace mxkv::server
