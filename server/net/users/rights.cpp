#include "server/net/users/rights.hpp"

#include <algorithm>
#include <array>

#include "protocol/point_request.hpp"

namespace mxkv::server {

namespace {

using protocol::least_role;
using protocol::verb;

/// Statistics that show keys or clients, or change something. The first word of the group decides.
bool is_for_administrators(std::string_view group) noexcept {
  constexpr std::array<std::string_view, 5> kGroups{"conns", "hot", "slow", "detail", "reset"};
  const std::string_view word = group.substr(0, group.find(' '));
  return std::ranges::find(kGroups, word) != kGroups.end();
}

least_role need_of(const protocol::Request& request) noexcept {
  const protocol::Command& command = protocol::command_of(request.op);
  if (request.op == verb::client && !request.argument.starts_with("name")) {
    return least_role::administrator;
  }
  if (request.op == verb::stats && is_for_administrators(request.argument)) {
    return least_role::administrator;
  }
  if (command.is_point() && !protocol::point_request(request).only_reads()) {
    return least_role::writer;  // mg may change an item by its flags
  }
  return command.needs;
}

bool has_role(const User& user, least_role wanted) noexcept {
  switch (wanted) {
    case least_role::anybody:
    case least_role::reader:
      return true;
    case least_role::writer:
      return user.may_write();
    case least_role::administrator:
      return user.may_administer();
  }
  return false;
}

bool may_use(const User& user, std::string_view key) noexcept {
  return std::ranges::any_of(user.options.prefixes,
                             [key](const std::string& prefix) { return key.starts_with(prefix); });
}

bool keys_permitted(const User& user, const protocol::Request& request) noexcept {
  if (protocol::is_range(request.op) || request.op == verb::meta_watch) {
    return std::ranges::any_of(user.options.prefixes, [&request](const std::string& prefix) {
      return lies_within(request.range, prefix);
    });
  }
  if (protocol::is_retrieval(request.op) && request.key_count > 1) {
    std::string_view keys = request.keys;
    for (std::string_view key = protocol::next_key(keys); !key.empty(); key = protocol::next_key(keys)) {
      if (!may_use(user, key)) {
        return false;
      }
    }
    return true;
  }
  return !protocol::command_of(request.op).is_point() || may_use(user, request.key);
}

}  // namespace

// The keys with a prefix have no greatest one. The first key behind all of them is the prefix without its
// trailing 255 bytes, with its last byte one higher.
bool lies_within(const protocol::RangeRequest& range, std::string_view prefix) noexcept {
  if (range.by_prefix) {
    return range.prefix.starts_with(prefix);
  }
  if (range.low.unbounded || range.high.unbounded || !range.low.key.starts_with(prefix)) {
    return false;
  }
  if (range.high.key.starts_with(prefix)) {
    return true;
  }
  const std::size_t last = prefix.find_last_not_of('\xff');
  const std::string_view end = range.high.key;
  return !range.high.inclusive && last != std::string_view::npos && end.size() == last + 1 &&
         end.substr(0, last) == prefix.substr(0, last) &&
         static_cast<unsigned char>(end[last]) == static_cast<unsigned char>(prefix[last]) + 1U;
}

bool may_change(const User& user, std::string_view key) noexcept {
  return user.may_write() && (!user.limits_keys() || may_use(user, key));
}

bool permits(const User& user, const protocol::Request& request) noexcept {
  return has_role(user, need_of(request)) && (!user.limits_keys() || keys_permitted(user, request));
}

}  // namespace mxkv::server
