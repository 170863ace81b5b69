#include "server/net/users/users.hpp"

#include <algorithm>
#include <utility>

namespace mxkv::server {

bool User::lets_in_as(const User& other) const noexcept {
  return options.role == other.options.role && options.prefixes == other.options.prefixes &&
         options.hashed == other.options.hashed && options.password == other.options.password &&
         digests == other.digests;
}

Users::Users(std::vector<config::UserOptions> options, const PasswordDigester& digester,
             const Users* before) {
  StringMap<std::shared_ptr<User>> made;
  for (config::UserOptions& each : options) {
    std::shared_ptr<User>& user = made[each.name];
    if (user == nullptr) {
      user = std::make_shared<User>();
      const std::shared_ptr<const User> known = before == nullptr ? nullptr : before->find(each.name);
      user->usage = known == nullptr ? std::make_shared<Usage>() : known->usage;
      user->usage->requests.set(each.requests);
      user->usage->bytes.set(each.bytes);
    }
    if (each.hashed) {
      some_hash_ = each.password;
    } else {
      user->digests.push_back(digester.digest(each.password));
      wipe(each.password);
    }
    user->options = std::move(each);
  }
  for (auto& [name, user] : made) {
    by_name_.emplace(name, std::move(user));
  }
}

std::shared_ptr<const User> Users::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : at->second;
}

std::shared_ptr<const User> visitor_of(config::listener_role role) {
  static_assert(static_cast<int>(config::listener_role::writer) ==
                static_cast<int>(config::user_role::writer));
  if (role == config::listener_role::administrator) {
    return nullptr;
  }
  auto visitor = std::make_shared<User>();
  visitor->options.role = static_cast<config::user_role>(role);
  visitor->usage = std::make_shared<Usage>();
  return visitor;
}

}  // namespace mxkv::server
