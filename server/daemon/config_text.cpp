#include "server/daemon/config_text.hpp"

#include <fnmatch.h>

#include <vector>

#include "config/describe.hpp"
#include "protocol/reply.hpp"
#include "runtime/base/nearest.hpp"
#include "server/daemon/reload.hpp"

namespace mxkv::server {

namespace {

bool fits(const std::string& path, const std::string& pattern) {
  return pattern.empty() || path == pattern || (path.starts_with(pattern) && path[pattern.size()] == '.') ||
         fnmatch(pattern.c_str(), path.c_str(), 0) == 0;
}

}  // namespace

std::string config_lines(const config::DaemonOptions& options, std::string_view pattern) {
  const std::string wanted{pattern};
  std::string text;
  std::vector<std::string> paths;
  for (const config::Setting& setting : config::settings(options)) {
    if (fits(setting.path, wanted)) {
      text.append("CONFIG ").append(setting.path);
      text.append(changes_while_running(setting.path) ? " now " : " start ");
      text.append(setting.value).append(" # ").append(setting.origin).append("\r\n");
    }
    paths.push_back(setting.path);
  }
  if (text.empty() && pattern.find_first_of("*?[") == std::string_view::npos) {
    const std::string near = runtime::nearest(pattern, paths);
    return "CLIENT_ERROR there is no such option" + (near.empty() ? "" : " (did you mean " + near + "?)") +
           "\r\n";
  }
  return text.append(protocol::kEnd);
}

}  // namespace mxkv::server
