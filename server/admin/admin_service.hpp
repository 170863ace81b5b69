// Administration by HTTP as a whole: the server, its pages, and what they know of the process. It is there before the
// data is recovered and until the last reply has gone, so that whoever asks hears how far it is.
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
  /// Answers from now on; without sockets there is no thread. `config`: what /config shows. `credentials`: who may log in
  /// where a listener asks for it. They and the log outlive this.
  AdminService(std::vector<ListenSocket> sockets, std::string config, Credentials& credentials,
               WarningSink& log);
  /// After the parts that it was told of have gone, as their tasks may still know it.
  ~AdminService();
  AdminService(const AdminService&) = delete;
  AdminService& operator=(const AdminService&) = delete;

  void recovering(const RecoveryProgress& progress);
  /// These may be looked at until detach().
  void attach(const ServingParts& parts);
  void serves();
  void drains();
  void detach();
  void set_config(std::string config);
  /// As HttpServer has it; none: it ends.
  void change(std::vector<HttpListener> listeners);
  /// As HttpServer has it.
  [[nodiscard]] std::vector<TlsDoor*> tls_doors() const;

 private:
  struct Pages;
  std::unique_ptr<Pages> pages_;
};

}  // namespace mxkv::server
