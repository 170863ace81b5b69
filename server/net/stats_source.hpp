// Where sessions get the text of `stats` from: the seam between net/ and stats/.
#pragma once

#include <string>
#include <string_view>

namespace mxkv::server {

/// `text(context, group)` is the whole reply to `stats <group>`. Thread-safety: called on any worker.
struct StatsSource {
  void* context = nullptr;
  std::string (*text)(void* context, std::string_view group) = nullptr;
};

}  // namespace mxkv::server
