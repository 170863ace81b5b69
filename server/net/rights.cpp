#include "server/net/rights.hpp"

#include <algorithm>
#include <array>

#include "protocol/point_request.hpp"

namespace mxkv::server {

namespace {

using protocol::verb;

enum class need : std::uint8_t { nothing, reader, writer, administrator };

/// Statistics that show keys or clients, or change something. The first word of the group is looked at.
bool is_for_administrators(std::string_view group) noexcept {
  constexpr std::array<std::string_view, 5> kGroups{"conns", "hot", "slow", "detail", "reset"};
  const std::string_view word = group.substr(0, group.find(' '));
  return std::ranges::find(kGroups, word) != kGroups.end();
}

// What is not named needs an administrator.
need need_of(const protocol::Request& request) noexcept {
  using protocol::is_one_of;
  const verb op = request.op;
  if (is_one_of(op, verb::version, verb::quit, verb::meta_noop) ||
      op == verb::meta_batch) {  // its lines are looked at
    return need::nothing;
  }
  if (op == verb::client) {
    return request.argument.starts_with("name") ? need::nothing : need::administrator;
  }
  if (op == verb::stats) {
    return is_for_administrators(request.argument) ? need::administrator : need::reader;
  }
  if (op == verb::meta_get) {
    return protocol::point_request(request).only_reads() ? need::reader : need::writer;
  }
  if (is_one_of(op, verb::get, verb::gets, verb::meta_debug) ||
      (protocol::is_range(op) && !protocol::changes_range(op))) {
    return need::reader;
  }
  const bool changes = protocol::is_retrieval(op) || protocol::takes_value(op) ||
                       protocol::changes_range(op) ||
                       is_one_of(op, verb::incr, verb::decr, verb::touch, verb::remove, verb::meta_delete,
                                 verb::meta_arithmetic);
  return changes ? need::writer : need::administrator;
}

bool has_role(const User& user, need wanted) noexcept {
  switch (wanted) {
    case need::nothing:
    case need::reader:
      return true;
    case need::writer:
      return user.may_write();
    case need::administrator:
      return user.may_administer();
  }
  return false;
}

bool may_use(const User& user, std::string_view key) noexcept {
  return std::ranges::any_of(user.options.prefixes,
                             [key](const std::string& prefix) { return key.starts_with(prefix); });
}

bool keys_permitted(const User& user, const protocol::Request& request) noexcept {
  if (protocol::is_range(request.op)) {
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
  const bool of_one_key = protocol::is_retrieval(request.op) || protocol::is_storage(request.op) ||
                          (protocol::is_meta(request.op) && request.op != verb::meta_noop) ||
                          protocol::is_one_of(request.op, verb::incr, verb::decr, verb::touch, verb::remove);
  return !of_one_key || may_use(user, request.key);
}

}  // namespace

// The last key that begins with the prefix has no end; the first that is greater and does not is the prefix with its
// last byte that is not 255 one higher, and nothing behind it.
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
