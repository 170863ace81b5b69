#include "server/net/hot_keys.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"
#include "server/net/key_hash.hpp"

namespace mxkv::server {

void HotKeys::add(std::string_view key) {
  MXKV_ASSERT(key.size() <= protocol::kMaxKeyBytes, "a key was checked when it was parsed");
  const auto hash = static_cast<std::uint32_t>(hash_key(key));
  const std::scoped_lock lock{mutex_};
  if (++added_ % kHalvedEvery == 0) {
    for (Slot& slot : slots_) {
      slot.samples /= 2;
    }
  }
  Slot* rarest = &slots_.front();
  for (Slot& slot : slots_) {
    if (slot.hash == hash && slot.samples > 0 && std::string_view{slot.key.data(), slot.bytes} == key) {
      ++slot.samples;
      return;
    }
    rarest = slot.samples < rarest->samples ? &slot : rarest;
  }
  ++rarest->samples;
  rarest->hash = hash;
  rarest->bytes = static_cast<std::uint8_t>(key.size());
  std::copy(key.begin(), key.end(), rarest->key.begin());
}

std::vector<HotKeys::Count> HotKeys::counts() const {
  std::vector<Count> found;
  const std::scoped_lock lock{mutex_};
  for (const Slot& slot : slots_) {
    if (slot.samples > 0) {
      found.push_back({{slot.key.data(), slot.bytes}, slot.samples});
    }
  }
  return found;
}

void HotKeys::clear() {
  const std::scoped_lock lock{mutex_};
  for (Slot& slot : slots_) {
    slot.samples = 0;
  }
}

}  // namespace mxkv::server
