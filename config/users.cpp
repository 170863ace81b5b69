#include "config/users.hpp"

#include <crypt.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "config/reader.hpp"
#include "config/schema_forms.hpp"
#include "config/yaml.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::config {

namespace {

using runtime::Error;

constexpr std::array<std::string_view, 3> kRoleWords{"reader", "writer", "administrator"};
constexpr std::size_t kMostPrefixBytes = 250;  // as for keys
constexpr std::uint32_t kMostRate = 1'000'000'000;

/// Takes the next line from `text`, without its line end.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

bool is_yaml(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos || line[begin] == '#' || line == "---") {
      continue;
    }
    constexpr std::string_view kKey = "users:";
    if (!line.starts_with(kKey)) {
      return false;
    }
    const std::size_t behind = line.find_first_not_of(' ', kKey.size());
    return behind == std::string_view::npos || line[behind] == '[' || line[behind] == '#';
  }
  return false;
}

Mistake set_name(UserOptions& user, std::string_view text) {
  const bool wrong =
      std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; });
  if (text.empty() || wrong || text.size() > kMostLoginBytes) {
    return Error{"is not a valid user name (allowed: 1 to 255 bytes without spaces and control characters)"};
  }
  user.name = text;
  return {};
}

// Errors never quote the password.
Mistake set_password(UserOptions& user, std::string_view text) {
  user.password = text;
  user.hashed = text.starts_with('$');
  if (text.find('\0') != std::string_view::npos || (!user.hashed && text.size() > kMostLoginBytes)) {
    return Error{"is not a valid password (allowed: at most 255 bytes without a NUL)"};
  }
  const int known = user.hashed ? crypt_checksalt(user.password.c_str()) : CRYPT_SALT_OK;
  if (known != CRYPT_SALT_OK && known != CRYPT_SALT_TOO_CHEAP && known != CRYPT_SALT_METHOD_LEGACY) {
    return Error{
        "begins with $ but is not a hash that crypt(5) knows (allowed: the output of mxkvd hash-password)"};
  }
  return {};
}

void user_keys(SchemaVisitor& item, UserOptions& user, bool& has_password) {
  item.scalar("name", {.set = [&user](std::string_view text) { return set_name(user, text); }, .get = {}});
  item.scalar("password", {.set =
                               [&](std::string_view text) {
                                 has_password = true;
                                 return set_password(user, text);
                               },
                           .get = {}});
  choice(item, "role", user.role, kRoleWords);
  item.list("prefixes", {.least_items = 1,
                         .clear = [&user] { user.prefixes.clear(); },
                         .set_text = {},
                         .add_text = [&user](std::string_view text) -> Mistake {
                           if (text.empty() || text.size() > kMostPrefixBytes) {
                             return Error{"is not a valid prefix (allowed: 1 to 250 bytes)"};
                           }
                           user.prefixes.emplace_back(text);
                           return {};
                         },
                         .add_mapping = [](SchemaVisitor& /*inner*/) -> Mistake {
                           return Error{"is not a valid prefix (allowed: text)"};
                         },
                         .items = {}});
  ranged(item, "requests", user.requests, kCount, {1, kMostRate, "off"});
  ranged(item, "bytes", user.bytes, kSize, {1_KiB, 1_TiB, "off"});
  ranged(item, "connections", user.connections, kCount, {1, 1'000'000, "off"});
}

void show_users(SchemaVisitor& visitor, std::vector<UserOptions>& users) {
  std::unordered_set<std::string> names;
  const auto add = [&](SchemaVisitor& item) -> Mistake {
    UserOptions user;
    bool has_password = false;
    user_keys(item, user, has_password);
    if (user.name.empty() || !has_password) {
      return Error{user.name.empty() ? "has no name (allowed: name, password and more)"
                                     : "has no password (allowed: name, password and more)"};
    }
    if (!user.hashed && user.name.size() + user.password.size() + 1 > kMostLoginBytes) {
      return Error{"name and password are longer than 254 bytes together"};
    }
    if (user.role == user_role::administrator && !user.prefixes.empty()) {
      return Error{"an administrator has prefixes (allowed: prefixes of readers and writers)"};
    }
    if (!names.insert(user.name).second) {
      return Error{"a second user " + in_quotes(user.name) + " (allowed: one of each name)"};
    }
    if (users.size() == kMostUsers) {
      return Error{"one user too many (allowed: " + std::to_string(kMostUsers) + ")"};
    }
    users.push_back(std::move(user));
    return {};
  };
  visitor.list("users", {.least_items = 1,
                         .clear = [&users] { users.clear(); },
                         .set_text = {},
                         .add_text = {},
                         .add_mapping = add,
                         .items = {}});
}

/// Lines of the form "user:password".
std::vector<UserOptions> parse_lines(std::string_view text, const std::string& source, Findings& findings) {
  std::vector<UserOptions> users;
  for (std::uint32_t line = 1; !text.empty(); ++line) {
    const std::string_view entry = next_line(text);
    const std::size_t colon = entry.find(':');
    const auto wrong = [&](std::size_t at, const char* what) {
      findings.push_back({Origin{source, line, static_cast<std::uint32_t>(at + 1)}, "", what});
    };
    if (colon == std::string_view::npos || colon == 0) {
      wrong(0, "is not user:password");
    } else if (const std::size_t space = entry.substr(0, colon).find(' '); space != std::string_view::npos) {
      wrong(space, "the user's name contains a space");
    } else if (const std::size_t nul = entry.find('\0'); nul != std::string_view::npos) {
      wrong(nul, "holds a NUL");
    } else if (entry.size() > kMostLoginBytes) {
      wrong(kMostLoginBytes, "is longer than 255 bytes");
    } else if (users.size() == kMostUsers) {
      wrong(0, "is one user too many (allowed: 10000)");
      break;
    } else {
      users.push_back({.name = std::string{entry.substr(0, colon)},
                       .password = std::string{entry.substr(colon + 1)},
                       .hashed = false,
                       .role = user_role::administrator,
                       .prefixes = {}});
    }
  }
  return users;
}

}  // namespace

UsersFile parse_users(const std::string& whole, const std::string& source, Findings& findings) {
  const std::string text{runtime::without_byte_order_mark(whole)};
  UsersFile file;
  const std::size_t before = findings.size();
  if (is_yaml(text)) {
    Origins origins;
    apply(
        parse_yaml(text, source, places::lines, findings),
        [&file](SchemaVisitor& visitor) { show_users(visitor, file.users); }, origins, findings);
  } else {
    file.users = parse_lines(text, source, findings);
  }
  if (file.users.empty() && findings.size() == before) {
    findings.push_back({Origin{.source = source}, "",
                        "holds no user (allowed: `users:` and a list, or a line user:password each)"});
  }
  const auto clear = std::ranges::count(file.users, false, &UserOptions::hashed);
  if (clear > 0) {
    file.warnings.push_back(source + ": " +
                            (clear == 1 ? "a password is" : std::to_string(clear) + " passwords are") +
                            " in clear text (mxkvd hash-password makes a hash)");
  }
  return file;
}

UsersFile read_users(const std::string& file, Findings& findings) {
  const auto cannot = [&](int error) {
    findings.push_back({Origin{.source = file}, "", std::string{"cannot be read: "} + std::strerror(error)});
    return UsersFile{};
  };
  struct stat found{};
  if (::stat(file.c_str(), &found) != 0) {
    return cannot(errno);
  }
  errno = 0;
  std::ifstream stream{file, std::ios::binary};
  std::ostringstream text;
  if (stream) {
    text << stream.rdbuf();  // an iterator would throw on a read error, such as with a folder
  }
  if (!stream || stream.bad() || errno == EISDIR) {
    return cannot(errno != 0 ? errno : EIO);
  }
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    findings.push_back(
        {Origin{.source = file}, "", "other users of this machine may write to it (allowed: chmod go-w)"});
    return {};
  }
  UsersFile read = parse_users(text.str(), file, findings);
  if ((found.st_mode & S_IROTH) != 0) {
    read.warnings.insert(read.warnings.begin(),
                         file + ": every user of this machine may read it (better: chmod o-r)");
  }
  return read;
}

std::vector<std::string> crossed_prefixes(const std::vector<UserOptions>& users,
                                          const std::vector<PrefixOptions>& prefixes) {
  std::vector<std::string> warnings;
  for (const UserOptions& user : users) {
    for (const std::string& own : user.prefixes) {
      for (std::size_t i = 0; i < prefixes.size(); ++i) {
        const std::string& counted = prefixes[i].prefix;
        if (counted.size() > own.size() && counted.starts_with(own)) {
          warnings.push_back("user " + user.name + ": of its keys with the prefix " + in_quotes(own) +
                             ", only those with " + in_quotes(counted) + " count in prefixes[" +
                             std::to_string(i) + "]");
        }
      }
    }
  }
  return warnings;
}

}  // namespace mxkv::config
