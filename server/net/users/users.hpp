// The users of the server: their names, rights, and current usage.
//
// A User never changes, because sessions hold it. When the file is read again, there are new User objects;
// the usage (Usage) stays with the name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/options.hpp"
#include "config/users.hpp"
#include "server/net/users/password.hpp"
#include "server/net/users/string_map.hpp"
#include "server/net/users/usage.hpp"

namespace mxkv::server {

/// One user, from all lines with its name. Thread-safety: immutable, except its usage.
struct User {
  config::UserOptions options;          ///< without the password, unless that is a hash
  std::vector<PasswordDigest> digests;  ///< of passwords in clear text; each one is accepted
  std::shared_ptr<Usage> usage;

  [[nodiscard]] bool limits_keys() const noexcept { return !options.prefixes.empty(); }
  [[nodiscard]] bool may_write() const noexcept { return options.role != config::user_role::reader; }
  /// No login leads to it: it has the role of its listener.
  [[nodiscard]] bool is_visitor() const noexcept { return options.name.empty(); }
  [[nodiscard]] bool may_administer() const noexcept {
    return options.role == config::user_role::administrator;
  }
  /// Whether a session of `other` may continue as this user: same passwords, same rights.
  [[nodiscard]] bool lets_in_as(const User& other) const noexcept;
};

/// Who comes by a listener with this role without a login: a user without a name. Null: it may do everything.
[[nodiscard]] std::shared_ptr<const User> visitor_of(config::listener_role role);

/// A connection of a user; it counts for as long as this object lives. Thread-safety: owner worker only.
class UserSeat {
 public:
  UserSeat() = default;
  /// The connection is already counted.
  explicit UserSeat(std::shared_ptr<const User> user) noexcept : user_(std::move(user)) {}
  UserSeat(UserSeat&& other) noexcept = default;
  UserSeat& operator=(UserSeat&& other) noexcept {
    std::swap(user_, other.user_);
    return *this;
  }
  UserSeat(const UserSeat&) = delete;
  UserSeat& operator=(const UserSeat&) = delete;
  ~UserSeat() {
    if (user_ != nullptr) {
      user_->usage->end_connection();
    }
  }

  /// Null: no user.
  [[nodiscard]] const User* user() const noexcept { return user_.get(); }
  /// Replaces the user by its current version.
  void renew(std::shared_ptr<const User> now) noexcept { user_ = std::move(now); }

 private:
  std::shared_ptr<const User> user_;
};

/// The users of one file, by name. Thread-safety: as a plain value.
class Users {
 public:
  Users() = default;
  /// Users that `before` knows keep their usage.
  Users(std::vector<config::UserOptions> options, const PasswordDigester& digester, const Users* before);

  /// Null: no user has that name.
  [[nodiscard]] std::shared_ptr<const User> find(std::string_view name) const;
  [[nodiscard]] std::size_t size() const noexcept { return by_name_.size(); }
  /// Any user's hash; empty: no user has one.
  [[nodiscard]] const std::string& some_hash() const noexcept { return some_hash_; }

 private:
  StringMap<std::shared_ptr<const User>> by_name_;
  std::string some_hash_;
};

}  // namespace mxkv::server
