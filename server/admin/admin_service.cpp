#include "server/admin/admin_service.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "server/admin/health.hpp"
#include "server/admin/http_server.hpp"
#include "server/admin/metrics.hpp"
#include "server/admin/page_files.hpp"
#include "server/admin/status_json.hpp"

namespace mxkv::server {

namespace {

constexpr std::string_view kYaml = "application/yaml; charset=utf-8";
constexpr std::string_view kJson = "application/json";
constexpr std::string_view kHtml = "text/html; charset=utf-8";
constexpr std::string_view kCss = "text/css; charset=utf-8";
constexpr std::string_view kScript = "text/javascript; charset=utf-8";
constexpr std::size_t kMostDelimiter = 16;
/// A finished count answers the same query again for so long after it was first shown.
constexpr std::chrono::seconds kCountHolds{1};

HttpReply wrong(unsigned status, std::string_view why) {
  return {.status = status, .type = kPlainText, .body = std::string{why} + "\n"};
}

}  // namespace

/// The pages. The main thread provides their data, and the server's thread shows it.
struct AdminService::Pages final : HttpPages {
  Pages(std::string config_text, Credentials& credentials_, WarningSink& log_)
      : credentials(credentials_), log(log_), config(std::move(config_text)) {}

  void serve(std::vector<ListenSocket> sockets) {
    recorder.forget();
    server.emplace(std::move(sockets), *this, counters, credentials, log);
  }

  // Pages that show keys or the configuration need the role that the same request of a client would need.
  [[nodiscard]] http_need need_of(std::string_view path) const override {
    if (path == "/livez" || path == "/readyz") {
      return http_need::nothing;
    }
    return path == "/config" || path == "/prefixes.json" ? http_need::administrator : http_need::user;
  }

  std::optional<HttpReply> answer(const HttpRequest& request) override {
    const std::scoped_lock lock{mutex};
    if (request.path == "/livez") {
      return livez();
    }
    if (request.path == "/readyz") {
      return readyz();
    }
    if (request.path == "/metrics") {
      return metrics(request);
    }
    if (request.path == "/config") {
      return HttpReply{.type = kYaml, .body = config};
    }
    if (request.path == "/") {
      return HttpReply{.type = kHtml, .body = std::string{kPageHtml}};
    }
    if (request.path == "/status.css") {
      return HttpReply{.type = kCss, .body = std::string{kPageCss}};
    }
    if (request.path == "/status.js") {
      return HttpReply{.type = kScript, .body = std::string{kPageScript}};
    }
    if (request.path == "/status.json") {
      return HttpReply{.type = kJson,
                       .body = status_json(health.state(), recorder, parts ? &*parts : nullptr, certificates,
                                           request.sees_keys)};
    }
    if (request.path == "/prefixes.json") {
      return prefixes(request.query);
    }
    return wrong(404, "there are /, /metrics, /livez, /readyz, /config, /status.json and /prefixes.json");
  }

  void tick() override {
    const std::scoped_lock lock{mutex};
    if (parts) {
      const auto now = std::chrono::steady_clock::now();
      Overloads::Found found = overloads.look(*parts, now);
      health.set_overloads(std::move(found.overloads), found.takes_clients, overloads.hangs_for_good(now));
      recorder.look(*parts);
    }
  }

  [[nodiscard]] HttpReply livez() const {
    const Health::State state = health.state();
    return {.status = state.alive() ? 200U : 503U,
            .type = kPlainText,
            .body = state.alive() ? "alive\n" : state.hangs + "\n"};
  }
  [[nodiscard]] HttpReply readyz() const {
    const Health::State state = health.state();
    return {.status = state.ready() ? 200U : 503U, .type = kPlainText, .body = state.text()};
  }
  [[nodiscard]] HttpReply metrics(const HttpRequest& request) {
    const Exposition::form form = Exposition::asked_for(request.accept);
    Exposition out{form};
    write_process(out, health.state(), counters);
    write_certificates(out, certificates);
    if (parts) {
      write_commands(out, *parts);
      write_network(out, *parts);
      write_memory(out, *parts);
      write_workers(out, *parts, recorder.idle());
      write_durability(out, *parts);
      write_watches(out, *parts);
      write_cluster(out, *parts);
    }
    return {.type = Exposition::content_type(form), .body = std::move(out).finish()};
  }

  /// The sizes of prefixes; none while a count runs, for this or another query.
  [[nodiscard]] std::optional<HttpReply> prefixes(std::string_view query) {
    if (!parts || health.state().now != serving::serves) {
      return wrong(503, "nothing is served");
    }
    PrefixSizes::Query asked{query_value(query, "prefix"), query_value(query, "delimiter")};
    if (asked.delimiter.empty()) {
      asked.delimiter = ":";
    }
    if (asked.prefix.size() > protocol::kMaxKeyBytes || asked.delimiter.size() > kMostDelimiter) {
      return wrong(400, "a prefix has 250 bytes at most, a delimiter 16");
    }
    const auto now = std::chrono::steady_clock::now();
    switch (sizes.now()) {
      case PrefixSizes::state::running:
        return std::nullopt;
      case PrefixSizes::state::failed:
        return wrong(503, "nothing is served any more");
      case PrefixSizes::state::done:
        if (sizes.query() == asked && now - shown_at.value_or(now) < kCountHolds) {
          shown_at = shown_at.value_or(now);
          return HttpReply{.type = kJson, .body = prefixes_json(sizes)};
        }
        break;
      case PrefixSizes::state::idle:
        break;
    }
    shown_at.reset();
    sizes.start(parts->store, std::move(asked), parts->runtime.clock().monotonic_ns());
    return std::nullopt;
  }

  Credentials& credentials;
  WarningSink& log;
  Health health;
  Recorder recorder;                                              ///< the server's thread
  PrefixSizes sizes;                                              ///< the server's thread, and tasks
  std::optional<std::chrono::steady_clock::time_point> shown_at;  ///< when the last count was first shown;
                                                                  ///< none: not yet
  Overloads overloads;                                            ///< the server's thread
  HttpCounters counters;                                          ///< the server's thread
  std::mutex mutex;  ///< guards the next three; held while a page is made
  std::optional<ServingParts> parts;
  std::string config;
  std::vector<CertificateEnd> certificates;
  std::optional<HttpServer> server;  ///< the last member: its thread uses the others until it ends; none: no
                                     ///< listener
};

AdminService::AdminService(std::vector<ListenSocket> sockets, std::string config, Credentials& credentials,
                           WarningSink& log)
    : pages_(std::make_unique<Pages>(std::move(config), credentials, log)) {
  if (!sockets.empty()) {
    pages_->serve(std::move(sockets));
  }
}

AdminService::~AdminService() = default;

void AdminService::recovering(const RecoveryProgress& progress) {
  pages_->health.set_recovery(progress);
}

void AdminService::attach(const ServingParts& parts) {
  const std::scoped_lock lock{pages_->mutex};
  pages_->parts.emplace(parts);
}

void AdminService::serves() {
  pages_->health.set(serving::serves);
}

void AdminService::drains() {
  pages_->health.set(serving::draining);
}

void AdminService::detach() {
  const std::scoped_lock lock{pages_->mutex};
  pages_->parts.reset();
  pages_->health.set(serving::draining);
}

void AdminService::set_config(std::string config) {
  const std::scoped_lock lock{pages_->mutex};
  pages_->config = std::move(config);
}

void AdminService::set_certificates(std::vector<CertificateEnd> certificates) {
  const std::scoped_lock lock{pages_->mutex};
  pages_->certificates = std::move(certificates);
}

void AdminService::change(std::vector<HttpListener> listeners) {
  if (listeners.empty()) {
    pages_->server.reset();
  } else if (pages_->server) {
    pages_->server->change(std::move(listeners));
  } else {
    std::vector<ListenSocket> sockets;
    for (HttpListener& one : listeners) {
      sockets.push_back(*std::move(one.socket));
    }
    pages_->serve(std::move(sockets));
  }
}

std::vector<TlsDoor*> AdminService::tls_doors() const {
  return pages_->server ? pages_->server->tls_doors() : std::vector<TlsDoor*>{};
}

}  // namespace mxkv::server
