// Logins that wait for the thread that verifies passwords, with a queue for each address.
//
// One check takes tens of milliseconds, so a queue in order of arrival would let one address hold up everyone else. Here
// each address has a queue of its own, divided by the user that the login names:
//
//   queue ── address ── user ── logins by the time from which they may be checked
//
// Addresses take turns, and so do the users of one address. Every second check is reserved for addresses that
// gave no wrong password, if any of them waits. A newcomer's turn comes after those that already wait for
// theirs, so that connecting anew is no advantage.
//
// The queue is bounded. When it is full, the latest login of the user with the most logins, of the address
// with the most logins, loses its place. That need not be the newest login.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/net/users/string_map.hpp"

namespace mxkv::server {

class Login;

/// Thread-safety: none, as of a plain value.
class LoginQueue {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Waiting = std::shared_ptr<Login>;
  static constexpr std::size_t kMost = 4096;         ///< logins that wait
  static constexpr std::size_t kMostOfSuspect = 64;  ///< of an address that gave many wrong passwords
  enum class trust : std::uint8_t { clean, wrong_once, suspect };  ///< gave no wrong password; some; many

  /// Adds `login`, which may be checked from `due` on. Returns the login that loses its place for it, which
  /// may be `login` itself; null: none does.
  [[nodiscard]] Waiting put(Waiting login, const std::string& address, const std::string& user, Time due,
                            trust trusted);
  /// The address gave a wrong password. Returns the logins that lose their places.
  [[nodiscard]] std::vector<Waiting> distrust(std::string_view address, trust trusted);
  /// The next login to check, of those that are due; null: none is due.
  [[nodiscard]] Waiting take(Time now);
  /// Any login; the queue is not empty.
  [[nodiscard]] Waiting take_any();
  /// When the next login is due; none: the queue is empty.
  [[nodiscard]] std::optional<Time> next_due() const;
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

 private:
  struct User {
    std::uint64_t turn = 0;
    std::multimap<Time, Waiting> logins;
  };
  struct Address {
    std::uint64_t turn = 0;          ///< its next turn
    std::uint64_t turn_of_user = 0;  ///< the latest turn of its users
    std::size_t count = 0;           ///< logins of all its users
    trust trusted = trust::clean;
    StringMap<User> users;
    [[nodiscard]] Time due() const;
  };
  using At = StringMap<Address>::iterator;
  using UserAt = StringMap<User>::iterator;

  [[nodiscard]] At next_address(Time now, bool clean);
  [[nodiscard]] Waiting remove(At address, UserAt user, std::multimap<Time, Waiting>::iterator login);
  [[nodiscard]] Waiting drop_of(At address);

  StringMap<Address> addresses_;  ///< each has at least one login, and so has each of its users
  std::size_t count_ = 0;
  std::uint64_t turn_ = 0;  ///< the latest turn of an address
  bool next_is_clean_ = true;
};

}  // namespace mxkv::server
