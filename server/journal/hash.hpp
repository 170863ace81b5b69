// XXH3 with 64 bits and a seed: the only user of libxxhash.
//
// The hash detects damage by a disk or a crash. It does not protect against an attacker who makes up bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mxkv::server {

/// Thread-safety: any thread.
[[nodiscard]] std::uint64_t hash_of(std::string_view bytes, std::uint64_t seed) noexcept;

/// The same hash for bytes in pieces. Thread-safety: one thread at a time.
class Hasher {
 public:
  explicit Hasher(std::uint64_t seed) noexcept;

  void add(std::string_view bytes) noexcept;
  /// The hash of all bytes added so far.
  [[nodiscard]] std::uint64_t value() const noexcept;

 private:
  static constexpr std::size_t kStateBytes = 576;
  alignas(64) unsigned char state_[kStateBytes];
};

/// `chain` with one more link: depends on all earlier numbers and their order.
[[nodiscard]] std::uint64_t chain_on(std::uint64_t chain, std::uint64_t link) noexcept;

}  // namespace mxkv::server
