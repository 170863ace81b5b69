// XXH3 with 64 bits: the only door of protocol/ to libxxhash. It detects damage by disks and truncated transfers; it does
// not protect against forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mxkv::cli {

/// Of bytes in pieces. Thread-safety: one thread.
class Checksum {
 public:
  explicit Checksum(std::uint64_t seed = 0) noexcept;
  void add(std::string_view bytes) noexcept;
  /// Of all bytes added so far.
  [[nodiscard]] std::uint64_t value() const noexcept;

 private:
  static constexpr std::size_t kRoom = 576;
  alignas(64) unsigned char room_[kRoom];
};

/// 16 digits.
[[nodiscard]] std::string hex_text(std::uint64_t value);

}  // namespace mxkv::cli
