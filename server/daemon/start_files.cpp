#include "server/daemon/start_files.hpp"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "server/daemon/log.hpp"

namespace mxkv::server {

namespace {

config::Finding at(const config::DaemonOptions& options, const std::string& path, std::string what) {
  const config::Origin* origin = config::find_origin(options.origins, path);
  return {origin == nullptr ? config::Origin{} : *origin, path, std::move(what)};
}

/// `path`: where the options have `tls`. `ca`: their name for its authorities.
std::shared_ptr<const TlsContext> read_one(const config::DaemonOptions& options,
                                           const config::TlsOptions& tls, const std::string& path,
                                           const char* ca, config::Findings& findings,
                                           config::Findings& doubts) {
  std::vector<TlsFlaw> flaws;
  std::vector<std::string> said;
  std::shared_ptr<const TlsContext> read = TlsContext::read(tls, flaws, said);
  for (TlsFlaw& flaw : flaws) {
    findings.push_back(at(options, path + (flaw.key == "client_ca" ? ca : flaw.key), std::move(flaw.what)));
  }
  for (std::string& doubt : said) {
    doubts.push_back(at(options, path + "certificate", std::move(doubt)));
  }
  return read;
}

}  // namespace

// Whether the daemon's own user may use them is not known here: another user may check the file.
void look_at_paths(const config::DaemonOptions& options, config::Findings& doubts) {
  const std::string& directory = options.durability.directory;
  std::error_code unknown;  // what cannot be looked at is not doubted
  const std::filesystem::file_status found = std::filesystem::status(directory, unknown);
  if (std::filesystem::exists(found) && !std::filesystem::is_directory(found)) {
    doubts.push_back(at(options, "durability.directory", directory + " is not a directory"));
  }
  for (const auto& [path, file] : {std::pair{"durability.directory", directory},
                                   std::pair{"server.pid_file", options.server.pid_file}}) {
    if (const std::string lack = lack_of_folder(file); !file.empty() && !lack.empty()) {
      doubts.push_back(at(options, path, lack + ", and mxkvd does not create it"));
    }
  }
}

std::optional<config::UsersFile> read_start_files(const config::DaemonOptions& options,
                                                  config::Findings& findings) {
  if (!options.log.file.empty()) {
    if (const std::string lack = lack_of_folder(options.log.file); !lack.empty()) {
      findings.push_back(at(options, "log.file", lack + " (allowed: a file in a folder that exists)"));
    }
  }
#ifndef MXKV_KAFKA
  if (!options.cluster.name.empty()) {
    findings.push_back(at(options, "cluster.name",
                          "this mxkvd was built without librdkafka, so it cannot be a node of a cluster "
                          "(allowed: none)"));
  }
#endif
  std::optional<config::UsersFile> users;
  if (!options.server.auth_file.empty()) {
    config::Findings of_file;
    users = config::read_users(options.server.auth_file, of_file);
    for (config::Finding& finding : of_file) {
      // An error of the whole file is reported at the option that names the file.
      findings.push_back(finding.origin.line != 0 ? std::move(finding)
                                                  : at(options, "server.auth_file", to_string(finding)));
    }
  }
  return users;
}

std::vector<std::shared_ptr<const TlsContext>> read_certificates(
    const config::DaemonOptions& options, const std::vector<config::ListenAddress>& listeners,
    const std::string& path, config::Findings& findings, config::Findings& doubts) {
  std::vector<std::shared_ptr<const TlsContext>> read(listeners.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (listeners[i].tls) {
      read[i] = read_one(options, *listeners[i].tls, path + "[" + std::to_string(i) + "].tls.", "client_ca",
                         findings, doubts);
    }
  }
  return read;
}

StartCertificates read_certificates(const config::DaemonOptions& options, config::Findings& findings,
                                    config::Findings& doubts) {
  StartCertificates all{
      .listeners = read_certificates(options, options.listeners, "listeners", findings, doubts),
      .admin = read_certificates(options, options.admin.listeners, "admin.listeners", findings, doubts),
      .nodes = nullptr};
  if (!options.cluster.name.empty() && options.cluster.tls.given()) {
    all.nodes = read_one(options, options.cluster.tls, "cluster.tls.", "ca", findings, doubts);
  }
  return all;
}

}  // namespace mxkv::server
