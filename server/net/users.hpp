// Users that may use the server: who each is, what it may do, and what it uses now.
//
// A User does not change: sessions hold it. When the file is read again there are new ones; what a user uses
// (Usage) stays with its name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/users.hpp"
#include "server/net/password.hpp"
#include "server/net/string_map.hpp"
#include "server/net/usage.hpp"

namespace mxkv::server {

/// One user, or what the lines of one name say of it. Thread-safety: does not change, but for what its usage says.
struct User {
  config::UserOptions options;          ///< without the password, unless that is a hash
  std::vector<PasswordDigest> digests;  ///< of passwords in clear text; each is good
  std::shared_ptr<Usage> usage;

  [[nodiscard]] bool limits_keys() const noexcept { return !options.prefixes.empty(); }
  [[nodiscard]] bool may_write() const noexcept { return options.role != config::user_role::reader; }
  [[nodiscard]] bool may_administer() const noexcept {
    return options.role == config::user_role::administrator;
  }
  /// Whether who is in as the other one stays in: same password, same rights.
  [[nodiscard]] bool lets_in_as(const User& other) const noexcept;
};

/// A connection of a user, counted for as long as this lives. Thread-safety: owner worker only.
class UserSeat {
 public:
  UserSeat() = default;
  /// It was counted.
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

  /// Null: nobody's.
  [[nodiscard]] const User* user() const noexcept { return user_.get(); }
  /// The same user as the file has it now.
  void renew(std::shared_ptr<const User> now) noexcept { user_ = std::move(now); }

 private:
  std::shared_ptr<const User> user_;
};

/// The users of one file, by name. Thread-safety: that of a plain value.
class Users {
 public:
  Users() = default;
  /// `before` gives what they use, where a name was known.
  Users(std::vector<config::UserOptions> options, const PasswordDigester& digester, const Users* before);

  /// Null: nobody of that name.
  [[nodiscard]] std::shared_ptr<const User> find(std::string_view name) const;
  [[nodiscard]] std::size_t size() const noexcept { return by_name_.size(); }
  /// Any hash of theirs; empty: there is none.
  [[nodiscard]] const std::string& some_hash() const noexcept { return some_hash_; }

 private:
  StringMap<std::shared_ptr<const User>> by_name_;
  std::string some_hash_;
};

}  // namespace mxkv::server
