// The file of users: who may come, what each may do, and how much.
//
// It is YAML with the one key `users`, or, as memcached's -Y has it, a line "user:password" each. The second has no
// roles: whoever is in it may do everything. A file is YAML if its first line that is no comment begins with
// "users:" and nothing but a list or a comment follows there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/findings.hpp"

namespace mxkv::config {

/// What a user may do; each may do what those before it may.
enum class user_role : std::uint8_t {
  reader,         ///< ask for items
  writer,         ///< change them
  administrator,  ///< the server, too
};

/// A user as the file says.
struct UserOptions {
  std::string name;
  std::string password;  ///< a hash of crypt(5) if `hashed`, else the password itself
  bool hashed = false;
  user_role role = user_role::reader;
  std::vector<std::string> prefixes;  ///< of the keys that it may use; none: all
  std::uint32_t requests = 0;         ///< a second; 0: no limit
  std::size_t bytes = 0;              ///< a second, to and from it; 0: no limit
  std::uint32_t connections = 0;      ///< at once; 0: no limit
};

inline constexpr std::size_t kMostUsers = 10'000;
/// Of user and password together: more than a login may have.
inline constexpr std::size_t kMostLoginBytes = 255;

/// What a file of users holds, and what one should know of it.
struct UsersFile {
  std::vector<UserOptions> users;
  std::vector<std::string> warnings;
};

/// What `text` says; findings have places in `source`, and never a password. Thread-safety: any thread.
[[nodiscard]] UsersFile parse_users(const std::string& text, const std::string& source, Findings& findings);

/// The same of a file, whose mode is looked at: what others may write is refused. Thread-safety: any thread.
[[nodiscard]] UsersFile read_users(const std::string& file, Findings& findings);

}  // namespace mxkv::config
