// A daemon in the background has another directory than the one where it was started, so it needs absolute
// paths.
#pragma once

#include <filesystem>
#include <vector>

#include "config/options.hpp"

namespace mxkv::server {

/// Resolves relative paths of files and unix sockets against `directory`.
inline void make_absolute(config::DaemonOptions& options, const std::filesystem::path& directory) {
  const auto from_here = [&directory](std::string& path) {
    if (!path.empty()) {
      path = (directory / path).string();  // an absolute path stays as it is
    }
  };
  from_here(options.log.file);
  from_here(options.server.pid_file);
  from_here(options.server.auth_file);
  from_here(options.durability.directory);
  const auto certificates_from_here = [&from_here](config::TlsOptions& tls) {
    from_here(tls.certificate);
    from_here(tls.key);
    from_here(tls.client_ca);
  };
  certificates_from_here(options.cluster.tls);
  for (std::vector<config::ListenAddress>* listeners : {&options.listeners, &options.admin.listeners}) {
    for (config::ListenAddress& listener : *listeners) {
      from_here(listener.path);
      if (listener.tls) {
        certificates_from_here(*listener.tls);
      }
    }
  }
}

}  // namespace mxkv::server
