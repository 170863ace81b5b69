// XXH3 with 64 bits and a seed: the only door to libxxhash.
//
// It finds what a disk or a crash did to bytes; it is no protection against somebody who makes bytes up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mxkv::server {

/// Thread-safety: any thread.
[[nodiscard]] std::uint64_t hash_of(std::string_view bytes, std::uint64_t seed) noexcept;

/// The same hash of bytes that come in pieces. Thread-safety: one thread at a time.
class Hasher {
 public:
  explicit Hasher(std::uint64_t seed) noexcept;

  void add(std::string_view bytes) noexcept;
  /// Of all that was added so far.
  [[nodiscard]] std::uint64_t value() const noexcept;

 private:
  static constexpr std::size_t kStateBytes = 576;
  alignas(64) unsigned char state_[kStateBytes];
};

/// `chain` with one more link: says which numbers came before, and in which order.
[[nodiscard]] std::uint64_t chain_on(std::uint64_t chain, std::uint64_t link) noexcept;

}  // namespace mxkv::server
