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

}  // namespace mxkv::server
