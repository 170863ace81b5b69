// A server over a std::map for tests of the client: right by default, with faults on demand.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace mxkv::bench::testing {

/// Serves one connection at a time with get, set and scan, in a thread of its own.
class MapServer {
 public:
  using Store = std::map<std::string, std::string>;
  /// May change any reply before it is sent; an empty reply closes the connection.
  using Fault = std::function<void(const std::string& command, std::string& reply)>;

  MapServer() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_, 16) != 0) {
      throw std::runtime_error("no port to listen on");
    }
    socklen_t length = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  MapServer(const MapServer&) = delete;
  MapServer& operator=(const MapServer&) = delete;
  ~MapServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Between runs only: then the thread serves no connection.
  Store& store() { return store_; }
  void set_fault(Fault fault) { fault_ = std::move(fault); }

 private:
  void serve() {
    for (int client = 0; (client = ::accept(listener_, nullptr, nullptr)) >= 0;) {
      std::string input;
      while (answer_lines(client, input)) {
        char bytes[4096];
        const ssize_t received = ::recv(client, bytes, sizeof bytes, 0);
        if (received <= 0) {
          break;
        }
        input.append(bytes, static_cast<std::size_t>(received));
      }
      ::close(client);
    }
  }

  /// Answers every whole request in one send; false closes the connection.
  bool answer_lines(int client, std::string& input) {
    std::string output;
    bool open = true;
    while (open && answer_first(input, output, open)) {
    }
    return ::send(client, output.data(), output.size(), MSG_NOSIGNAL) >= 0 && open;
  }

  /// Appends the reply to the first request. Returns whether the request was whole. A fault may clear `open`.
  bool answer_first(std::string& input, std::string& output, bool& open) {
    const std::size_t end = input.find("\r\n");
    if (end == std::string::npos) {
      return false;
    }
    std::istringstream line(input.substr(0, end));
    std::string command;
    std::string key;
    line >> command >> key;
    std::string reply;
    std::size_t whole = end + 2;
    if (command == "set") {
      std::size_t flags = 0;
      std::size_t exptime = 0;
      std::size_t bytes = 0;
      line >> flags >> exptime >> bytes;
      whole += bytes + 2;
      if (input.size() < whole) {
        return false;
      }
      store_[key] = input.substr(end + 2, bytes);
      reply = "STORED\r\n";
    } else {
      std::size_t count = 1;
      line >> count;
      reply = items(key, command == "get" ? 1 : count, command == "get") + "END\r\n";
    }
    input.erase(0, whole);
    if (fault_) {
      fault_(command, reply);
    }
    open = !reply.empty();
    output += reply;
    return true;
  }

  [[nodiscard]] std::string items(const std::string& from, std::size_t count, bool exact) const {
    std::string out;
    for (auto at = store_.lower_bound(from); at != store_.end() && count > 0; ++at, --count) {
      if (exact && at->first != from) {
        break;
      }
      out += "VALUE " + at->first + " 0 " + std::to_string(at->second.size()) + "\r\n" + at->second + "\r\n";
    }
    return out;
  }

  int listener_;
  std::uint16_t port_ = 0;
  Store store_;
  Fault fault_;
  std::thread thread_;
};

}  // namespace mxkv::bench::testing
