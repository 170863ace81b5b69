#include "server/net/observe/hot_keys.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"
#include "server/net/observe/key_hash.hpp"

namespace mxkv::server {

void HotKeys::add(what kind, std::string_view key, std::uint64_t now_ns) {
  MXKV_ASSERT(key.size() <= protocol::kMaxKeyBytes, "a key was checked when it was parsed");
  const auto hash = static_cast<std::uint32_t>(hash_key(key));
  const std::scoped_lock lock{mutex_};
  if (is_past(windows_[current_], 1, now_ns)) {
    current_ = 1 - current_;
    windows_[current_] = {.begun_ns = now_ns};
  }
  std::array<Slot, kMost>& slots = windows_[current_].slots;
  Slot* rarest = &slots.front();
  for (Slot& slot : slots) {
    if (slot.hash == hash && slot.samples > 0 && slot.kind == kind && slot.text() == key) {
      ++slot.samples;
      return;
    }
    rarest = slot.samples < rarest->samples ? &slot : rarest;
  }
  rarest->error = rarest->samples++;
  rarest->hash = hash;
  rarest->kind = kind;
  rarest->bytes = static_cast<std::uint8_t>(key.size());
  std::copy(key.begin(), key.end(), rarest->key.begin());
}

std::vector<HotKeys::Count> HotKeys::counts(std::uint64_t now_ns) const {
  std::vector<Count> found;
  const std::scoped_lock lock{mutex_};
  for (const Window& window : windows_) {
    if (is_past(window, 2, now_ns)) {
      continue;
    }
    for (const Slot& slot : window.slots) {
      if (slot.samples == 0) {
        continue;
      }
      const auto known = std::ranges::find_if(
          found, [&slot](const Count& count) { return count.kind == slot.kind && count.key == slot.text(); });
      Count& count = known != found.end()
                         ? *known
                         : found.emplace_back(Count{.kind = slot.kind, .key = std::string{slot.text()}});
      count.samples += slot.samples;
      count.error += slot.error;
    }
  }
  return found;
}

void HotKeys::clear() {
  const std::scoped_lock lock{mutex_};
  for (Window& window : windows_) {
    window = {.begun_ns = window.begun_ns};
  }
}

}  // namespace mxkv::server
