#include "server/daemon/start_files.hpp"

#include <string>
#include <utility>

#include "server/daemon/log.hpp"

namespace mxkv::server {

namespace {

config::Finding at(const config::DaemonOptions& options, const char* path, std::string what) {
  const config::Origin* origin = config::find_origin(options.origins, path);
  return {origin == nullptr ? config::Origin{} : *origin, path, std::move(what)};
}

}  // namespace

std::optional<Users> read_start_files(const config::DaemonOptions& options, config::Findings& findings) {
  if (!options.log.file.empty()) {
    if (const std::string lack = lack_of_folder(options.log.file); !lack.empty()) {
      findings.push_back(at(options, "log.file", lack + " (allowed: a file in a folder that exists)"));
    }
  }
  std::optional<Users> users;
  if (!options.server.auth_file.empty()) {
    runtime::Result<Users> read = Users::read(options.server.auth_file);
    if (read) {
      users = std::move(read).value();
    } else {
      findings.push_back(at(options, "server.auth_file", read.error().message));
    }
  }
  return users;
}

}  // namespace mxkv::server
