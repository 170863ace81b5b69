// Administration by HTTP as a whole: the server, its pages, and the state of the process that they show. It
// exists before the data is recovered and until the last reply is sent, so that a client can see the progress
// of both.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/admin/http_server.hpp"
#include "server/admin/serving_parts.hpp"

namespace mxkv::server {

/// Thread-safety: the main thread.
class AdminService {
 public:
  /// Answers requests from now on. Without sockets it starts no thread. `config`: the text that /config
  /// shows. `credentials`: the users for listeners that ask for a login. They and the log outlive this.
  AdminService(std::vector<ListenSocket> sockets, std::string config, Credentials& credentials,
               WarningSink& log);
  /// Destroy this after the attached parts, because their tasks may still refer to it.
  ~AdminService();
  AdminService(const AdminService&) = delete;
  AdminService& operator=(const AdminService&) = delete;

  void recovering(const RecoveryProgress& progress);
  /// The pages may read these parts until detach().
  void attach(const ServingParts& parts);
  void serves();
  void drains();
  void detach();
  void set_config(std::string config);
  /// The ends of all listeners' certificates, which the pages show.
  void set_certificates(std::vector<CertificateEnd> certificates);
  /// See HttpServer::change(). An empty list ends the server.
  void change(std::vector<HttpListener> listeners);
  /// See HttpServer.
  [[nodiscard]] std::vector<TlsDoor*> tls_doors() const;

 private:
  struct Pages;
  std::unique_ptr<Pages> pages_;
};

}  // namespace mxkv::server
