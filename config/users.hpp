// The file of users: the users who may log in, their rights and their limits.
//
// It is YAML with the one key `users`, or, like the file of memcached's -Y, has a line "user:password" for
// each user. The second form has no roles: each of its users has all rights. A file is YAML if its first line
// that is no comment begins with "users:", followed only by a list or a comment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/findings.hpp"
#include "config/options.hpp"

namespace mxkv::config {

/// The rights of a user; each role includes the roles before it.
enum class user_role : std::uint8_t {
  reader,         ///< read items
  writer,         ///< change items
  administrator,  ///< also change the server
};

/// A user in the file.
struct UserOptions {
  std::string name;
  std::string password;  ///< a hash of crypt(5) if `hashed`, else the password itself
  bool hashed = false;
  user_role role = user_role::reader;
  std::vector<std::string> prefixes;  ///< of the keys that the user may use; none: all
  std::uint32_t requests = 0;         ///< a second; 0: no limit
  std::size_t bytes = 0;              ///< a second, in both directions; 0: no limit
  std::uint32_t connections = 0;      ///< at once; 0: no limit
};

inline constexpr std::size_t kMostUsers = 10'000;
/// Limit of user and password together, above the longest login.
inline constexpr std::size_t kMostLoginBytes = 255;

/// The contents of a file of users, and warnings about it.
struct UsersFile {
  std::vector<UserOptions> users;
  std::vector<std::string> warnings;
};

/// The users in `text`; findings have places in `source`, and never a password. Thread-safety: any thread.
[[nodiscard]] UsersFile parse_users(const std::string& text, const std::string& source, Findings& findings);

/// The same for a file; a file that other users may write to is refused. Thread-safety: any thread.
[[nodiscard]] UsersFile read_users(const std::string& file, Findings& findings);

/// Warnings about users of whose keys some count in a configured prefix, and others do not. Thread-safety: any thread.
[[nodiscard]] std::vector<std::string> crossed_prefixes(const std::vector<UserOptions>& users,
                                                        const std::vector<PrefixOptions>& prefixes);

}  // namespace mxkv::config
