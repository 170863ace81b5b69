#include "server/admin/http_server.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "config/parse.hpp"
#include "server/admin/http_connection.hpp"

namespace mxkv::server {

namespace {
constexpr std::chrono::seconds kTick{1};
constexpr std::chrono::milliseconds kBackOff{100};
constexpr int kAcceptedAtOnce = 16;
std::string own_host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

struct HttpServer::Parts {
  /// One listening socket and the settings of its connections.
  struct Listening {
    Listening(const Executor& executor, ListenSocket listening)
        : socket(std::move(listening)), acceptor(executor, socket.release()), back_off(executor) {
      set_door(socket.tls());
    }
    void set_door(std::shared_ptr<const TlsContext> tls) {
      auto made = std::make_shared<HttpDoor>();
      made->asks_login = socket.address().auth == config::listener_auth::required;
      if (tls != nullptr) {
        made->tls = std::make_unique<TlsDoor>(*socket.address().tls, std::move(tls),
                                              config::format_listen(socket.address()));
      }
      door = std::move(made);
    }

    ListenSocket socket;  ///< the acceptor owns its descriptor
    Descriptor acceptor;
    Timer back_off;
    std::shared_ptr<const HttpDoor> door;
  };

  Parts(std::vector<ListenSocket> sockets, HttpPages& pages, HttpCounters& counters, Credentials& credentials,
        WarningSink& log_, const HttpLimits& limits_)
      : limits(limits_),
        log(log_),
        shared{.pages = pages,
               .counters = counters,
               .limits = limits,
               .credentials = credentials,
               .host_name = own_host_name()},
        ticker(context.get_executor()) {
    for (ListenSocket& socket : sockets) {
      listen(std::move(socket));
    }
    shared.reserve.refill();
    asio::post(context, [this] { tick(); });
    thread = std::jthread{[this] { context.run(); }};
    pthread_setname_np(thread.native_handle(), "mxkvd-admin");
  }
  ~Parts() {
    asio::post(context, [this] { close(); });
    thread.join();
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  void listen(ListenSocket socket) {
    wait(*listening.emplace_back(std::make_unique<Listening>(context.get_executor(), std::move(socket))));
  }
  // A listener that was removed has cancelled its waits, and its handlers do not touch it.
  void wait(Listening& at) {
    at.acceptor.async_wait(Descriptor::wait_read, [this, &at](const boost::system::error_code& error) {
      if (!error) {
        accept(at);
      }
    });
  }
  void accept(Listening& at) {
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
      const int socket = accept_one(at.acceptor.native_handle());
      if (socket >= 0) {
        take(socket, at.door);
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        at.back_off.expires_after(kBackOff);
        at.back_off.async_wait([this, &at](const boost::system::error_code& error) {
          if (!error) {
            wait(at);
          }
        });
        return;
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        break;
      }
    }
    wait(at);
  }
  /// If clients have taken all descriptors, accepts with one of the reserve. If the reserve is used up,
  /// closes one of our connections first.
  int accept_one(int listener) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0 || (errno != EMFILE && errno != ENFILE)) {
      return socket;
    }
    pollfd waiting{.fd = listener, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, 0) != 1) {
      errno = EAGAIN;  // the system reserves a descriptor before it looks for a connection
      return -1;
    }
    shared.reserve.refill();
    if (const int reserved = shared.reserve.accept(listener); reserved >= 0) {
      return reserved;
    }
    displace();
    return shared.reserve.accept(listener);
  }
  void take(int socket, const std::shared_ptr<const HttpDoor>& door) {
    int family = AF_INET;
    socklen_t bytes = sizeof family;
    ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &bytes);
    if (shared.open.size() >= limits.connections) {
      displace();
    }
    try {
      std::make_shared<HttpConnection>(context.get_executor(), family, socket, shared, door)->start();
    } catch (const std::bad_alloc&) {
      ::close(socket);
    }
  }
  /// Closes the connection that has waited longest.
  void displace() {
    if (!shared.open.empty()) {
      shared.open.front()->close();
      ++shared.counters.displaced;
    }
  }
  void change(std::vector<HttpListener> wanted) {
    std::vector<std::unique_ptr<Listening>> before = std::exchange(listening, {});
    for (HttpListener& one : wanted) {
      if (one.socket) {
        listen(*std::move(one.socket));
        continue;
      }
      Listening& kept = *listening.emplace_back(std::move(before[one.kept]));
      if (one.settings) {
        close_connections_of(*kept.door);
        kept.socket.take_settings(*one.settings);
        kept.set_door(std::move(one.tls));
      }
    }
    for (std::unique_ptr<Listening>& gone : before) {
      if (gone != nullptr) {
        close_connections_of(*gone->door);
        end(std::move(gone));
      }
    }
  }
  /// Destroys the listener after its cancelled waits have ended with an error.
  void end(std::unique_ptr<Listening> gone) {
    gone->socket.remove_file();
    boost::system::error_code ignored;
    gone->acceptor.close(ignored);
    gone->back_off.cancel();
    asio::post(context, [ended = std::shared_ptr<Listening>{std::move(gone)}] {});
  }
  void close_connections_of(const HttpDoor& door) {
    for (auto at = shared.open.begin(); at != shared.open.end();) {
      HttpConnection& one = **at++;  // close() removes it from the list
      if (one.door() == &door) {
        one.close();
      }
    }
  }
  void tick() {
    shared.pages.tick();
    tell();
    ticker.expires_after(kTick);
    ticker.async_wait([this](const boost::system::error_code& error) {
      if (!error) {
        tick();
      }
    });
  }
  void tell() {
    if (!shared.happenings.rung()) {
      return;
    }
    const auto seen = shared.happenings.take();
    for (const auto& [what, text] : {std::pair{happening::wrong_login, "wrong user or password from "},
                                     std::pair{happening::failed_handshake, "TLS handshake failed with "},
                                     std::pair{happening::foreign_protocol, "closed "}}) {
      const Happenings::Seen& one = seen[static_cast<std::size_t>(what)];
      if (one.times > 0) {
        log.warn("administration by HTTP: " + (text + one.subject.about()) +
                 (one.times > 1 ? " (and " + std::to_string(one.times - 1) + " more)" : ""));
      }
    }
  }
  void close() {
    for (std::unique_ptr<Listening>& gone : std::exchange(listening, {})) {
      end(std::move(gone));
    }
    ticker.cancel();
    while (!shared.open.empty()) {
      shared.open.front()->close();
    }
    tell();
  }

  HttpLimits limits;
  WarningSink& log;
  HttpShared shared;
  asio::io_context context{1};
  std::vector<std::unique_ptr<Listening>> listening;
  Timer ticker;
  std::jthread thread;
};

HttpServer::HttpServer(std::vector<ListenSocket> sockets, HttpPages& pages, HttpCounters& counters,
                       Credentials& credentials, WarningSink& log, const HttpLimits& limits)
    : parts_(std::make_unique<Parts>(std::move(sockets), pages, counters, credentials, log, limits)) {}

HttpServer::~HttpServer() = default;

void HttpServer::change(std::vector<HttpListener> listeners) {
  std::promise<void> changed;
  asio::post(parts_->context, [&] {
    parts_->change(std::move(listeners));
    changed.set_value();
  });
  changed.get_future().wait();
}

// Only change() modifies the listeners.
std::vector<TlsDoor*> HttpServer::tls_doors() const {
  std::vector<TlsDoor*> doors;
  for (const std::unique_ptr<Parts::Listening>& one : parts_->listening) {
    if (one->door->tls != nullptr) {
      doors.push_back(one->door->tls.get());
    }
  }
  return doors;
}

}  // namespace mxkv::server
