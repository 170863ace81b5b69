#include "server/net/credentials.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "protocol/reply.hpp"

namespace mxkv::server {

using runtime::Error;
using runtime::Result;

namespace {

Error wrong(const std::string& file, std::size_t line, const std::string& what) {
  return Error{file + ":" + std::to_string(line) + ": " + what};
}

}  // namespace

Result<Users> Users::read(const std::string& file) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (in) {
    text << in.rdbuf();  // an iterator would throw where reading fails, as it does of a folder
  }
  if (!in || in.bad() || errno == EISDIR) {
    return Error{file + ": cannot be read" + (errno == 0 ? "" : std::string(": ") + std::strerror(errno))};
  }
  return parse(text.str(), file);
}

Result<Users> Users::parse(std::string_view text, const std::string& file) {
  Users users;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view entry = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (entry.ends_with('\r')) {
      entry.remove_suffix(1);
    }
    const std::size_t colon = entry.find(':');
    if (colon == std::string_view::npos || colon == 0) {
      return wrong(file, line, "is not user:password");
    }
    if (entry.find('\0') != std::string_view::npos ||
        entry.substr(0, colon).find(' ') != std::string_view::npos) {
      return wrong(file, line, "the user holds a space, or the line a NUL");
    }
    if (entry.size() > kMostBytes) {
      return wrong(file, line, "is longer than " + std::to_string(kMostBytes) + " bytes");
    }
    if (users.entries_.size() == kMost) {
      return wrong(file, line, "is one user too many (allowed: " + std::to_string(kMost) + ")");
    }
    users.entries_.push_back(entry_of(entry.substr(0, colon), entry.substr(colon + 1)));
  }
  if (users.entries_.empty()) {
    return Error{file + ": holds no user (allowed: a line user:password each)"};
  }
  return users;
}

Users::Entry Users::entry_of(std::string_view user, std::string_view password) noexcept {
  Entry entry{};
  auto* const at = std::copy(user.begin(), user.end(), entry.begin());
  *at = 0;  // in no line of the file
  std::copy(password.begin(), password.end(), at + 1);
  entry.back() = static_cast<std::uint8_t>(user.size() + password.size());
  return entry;
}

bool Users::know(std::string_view user, std::string_view password) const noexcept {
  if (user.size() + password.size() + 1 > kMostBytes) {
    return false;
  }
  const Entry asked = entry_of(user, password);
  unsigned found = 0;
  for (const Entry& entry : entries_) {
    unsigned difference = 0;
    for (std::size_t i = 0; i < entry.size(); ++i) {
      difference |= static_cast<unsigned>(entry[i] ^ asked[i]);
    }
    found |= static_cast<unsigned>(difference == 0);
  }
  return found != 0;
}

void Credentials::replace(Users users) {
  const std::scoped_lock lock{mutex_};
  users_ = std::move(users);
  required_.store(true, std::memory_order_relaxed);
}

std::string_view Credentials::judge(std::string_view block) noexcept {
  const std::size_t space = block.find(' ');
  if (space == std::string_view::npos) {
    return protocol::kBadLogin;
  }
  commands_.fetch_add(1, std::memory_order_relaxed);
  const std::scoped_lock lock{mutex_};
  if (users_.know(block.substr(0, space), block.substr(space + 1))) {
    return protocol::kStored;
  }
  errors_.fetch_add(1, std::memory_order_relaxed);
  return protocol::kWrongLogin;
}

}  // namespace mxkv::server
