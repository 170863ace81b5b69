#include "protocol/clients/cli/transfer/checksum.hpp"

#define XXH_STATIC_LINKING_ONLY  // the state's size
#include <xxhash.h>

#include <new>

namespace mxkv::cli {
namespace {

XXH3_state_t* state_in(unsigned char* room) noexcept {
  return std::launder(reinterpret_cast<XXH3_state_t*>(room));
}

}  // namespace

Checksum::Checksum(std::uint64_t seed) noexcept {
  static_assert(sizeof(XXH3_state_t) <= kRoom && alignof(XXH3_state_t) <= 64);
  auto* const state = new (room_) XXH3_state_t;
  XXH3_INITSTATE(state);
  ::XXH3_64bits_reset_withSeed(state, seed);
}

void Checksum::add(std::string_view bytes) noexcept {
  ::XXH3_64bits_update(state_in(room_), bytes.data(), bytes.size());
}

std::uint64_t Checksum::value() const noexcept {
  return ::XXH3_64bits_digest(std::launder(reinterpret_cast<const XXH3_state_t*>(room_)));
}

std::string hex_text(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t at = text.size(); at > 0; --at) {
    text[at - 1] = "0123456789abcdef"[value & 0xfU];
    value >>= 4U;
  }
  return text;
}

}  // namespace mxkv::cli
