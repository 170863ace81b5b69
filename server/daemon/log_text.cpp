#include "server/daemon/log_text.hpp"

#include <nlohmann/json.hpp>

#include "runtime/base/readable.hpp"

namespace mxkv::server {

std::string json_text(std::string_view text) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  const nlohmann::json document(text);
  std::string quoted = document.dump(-1, ' ', false, kReplace);
  if (!runtime::is_readable(quoted)) {
    quoted = document.dump(-1, ' ', true, kReplace);  // all but ASCII as \uXXXX
  }
  return quoted.substr(1, quoted.size() - 2);
}

std::string json_members(std::string_view text, const LogEvent& event) {
  std::string members = "\"message\":\"" + json_text(text) + '"';
  if (!event.name.empty()) {
    members += ",\"event\":\"" + std::string{event.name} + "\",\"times\":" + std::to_string(event.times);
  }
  if (!event.about.empty()) {
    members += ",\"about\":\"" + json_text(event.about) + '"';
  }
  return members;
}

}  // namespace mxkv::server
