#include "server/journal/hash.hpp"

#define XXH_STATIC_LINKING_ONLY  // the size of the state
#include <xxhash.h>

#include <new>

namespace mxkv::server {
namespace {

XXH3_state_t* state_in(unsigned char* bytes) noexcept {
  return std::launder(reinterpret_cast<XXH3_state_t*>(bytes));
}

}  // namespace

std::uint64_t hash_of(std::string_view bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

Hasher::Hasher(std::uint64_t seed) noexcept {
  static_assert(sizeof(XXH3_state_t) <= kStateBytes);
  static_assert(alignof(XXH3_state_t) <= 64);
  XXH3_state_t* const state = ::new (state_) XXH3_state_t;
  XXH3_INITSTATE(state);
  XXH3_64bits_reset_withSeed(state, seed);
}

void Hasher::add(std::string_view bytes) noexcept {
  XXH3_64bits_update(state_in(state_), bytes.data(), bytes.size());
}

std::uint64_t Hasher::value() const noexcept {
  return XXH3_64bits_digest(std::launder(reinterpret_cast<const XXH3_state_t*>(state_)));
}

std::uint64_t chain_on(std::uint64_t chain, std::uint64_t link) noexcept {
  return XXH3_64bits_withSeed(&link, sizeof link, chain);
}

}  // namespace mxkv::server
