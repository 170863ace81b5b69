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
  const auto add = [&members](const char* name, const std::string& value) {
    if (!value.empty()) {
      members += std::string{",\""} + name + "\":\"" + json_text(value) + '"';
    }
  };
  add("about", event.subject.about());
  add("client", event.subject.client);
  add("user", event.subject.user);
  add("command", event.subject.command);
  if (event.subject.took_ns != 0) {
    members += ",\"took_ms\":" + std::to_string(event.subject.took_ns / 1'000'000);
  }
  return members;
}

}  // namespace mxkv::server
