#include "server/net/connection/client_commands.hpp"

#include "config/parse.hpp"
#include "protocol/command_table.hpp"
#include "protocol/reply.hpp"
#include "server/net/observe/connection_facts.hpp"
#include "server/store/watch/uri_key.hpp"

namespace mxkv::server {

namespace {

constexpr std::uint64_t kNsOfASecond = 1'000'000'000;

std::string in_uri(std::string_view text) {
  std::string out(3 * text.size(), '\0');
  out.resize(static_cast<std::size_t>(write_in_uri(out.data(), text) - out.data()));
  return out;
}

std::string name_of_last(const Client& client) {
  const std::optional<protocol::verb> last = client.last.load(std::memory_order_relaxed);
  return last ? std::string{protocol::name_of(*last)} : std::string{};
}

std::string seconds_since(std::uint64_t then_ns, std::uint64_t now_ns) {
  return std::to_string(now_ns > then_ns ? (now_ns - then_ns) / kNsOfASecond : 0);
}

}  // namespace

std::string list_clients(const ClientTable& clients, std::uint64_t now_ns, AdminCursor& cursor) {
  std::string text;
  cursor.after = clients.walk(cursor.after, [&](const Client& client) {
    const auto number = [](const auto& counter) {
      return std::to_string(counter.load(std::memory_order_relaxed));
    };
    text += "CLIENT id=" + std::to_string(client.id) + " cfd=" + std::to_string(client.socket) +
            " addr=" + client.peer + " listen=" + client.own + " name=" + in_uri(client.name) +
            " user=" + in_uri(client.user) + " age=" + seconds_since(client.opened_ns, now_ns) +
            " idle=" + seconds_since(client.read_ns.load(std::memory_order_relaxed), now_ns) +
            " requests=" + number(client.requests) + " read=" + number(client.read_bytes) +
            " written=" + number(client.written_bytes) + " worker=" + number(client.worker) +
            " cmd=" + name_of_last(client) + "\r\n";
  });
  cursor.more = cursor.after != 0;
  return cursor.more ? text : text.append(protocol::kEnd);
}

void kill_clients(ClientTable& clients, std::string_view which, AdminCursor& cursor) {
  if (const runtime::Result<std::uint64_t> id = config::parse_number(which)) {
    cursor.found += clients.kill_one(id.value()) ? 1 : 0;
    return;
  }
  cursor.after = clients.kill(cursor.after, [&](const Client& client) {
    const bool meant = is_peer(client.peer, which);
    cursor.found += meant ? 1 : 0;
    return meant;
  });
  cursor.more = cursor.after != 0;
}

}  // namespace mxkv::server
