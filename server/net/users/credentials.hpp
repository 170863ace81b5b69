// Verifies logins for sessions: takes a user's name and password, and gives a verdict at once or later.
//
// A password in clear text, and one that was verified before, is recognized by its digest at once. Otherwise,
// if any user has a hash, a separate thread verifies the password: a hash of crypt takes milliseconds, in
// which a worker answers thousands of requests. Wrong logins take that way, too, so that their time does not
// tell which names are users'. Clients that gave wrong passwords wait first (login_delays.hpp). The waiting
// logins are ordered fairly between addresses (login_queue.hpp). The thread starts with the first login that
// needs it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "server/net/users/login_delays.hpp"
#include "server/net/users/login_queue.hpp"
#include "server/net/users/password.hpp"
#include "server/net/users/users.hpp"

namespace mxkv::server {

/// Called when a waiting login was judged. Thread-safety: any thread.
class LoginBell {
 public:
  LoginBell() = default;
  LoginBell(const LoginBell&) = delete;
  LoginBell& operator=(const LoginBell&) = delete;

  virtual void login_judged() noexcept = 0;

 protected:
  ~LoginBell() = default;
};

enum class login_verdict : std::uint8_t {
  accepted,
  wrong,
  busy,  ///< too many logins are waiting, or the server ends: the password was not checked
};

/// One attempt to log in. Thread-safety: any thread may read the verdict once it has seen judged().
class Login {
 public:
  struct Claim {
    std::string user;
    std::string password;
    std::string client;          ///< the client's address without the port; empty: unknown, or this machine
    std::uint32_t failures = 0;  ///< of this connection so far
  };
  explicit Login(Claim claim) noexcept : claim_(std::move(claim)) {}

  [[nodiscard]] bool judged() const noexcept { return judged_.load(std::memory_order_acquire); }
  [[nodiscard]] login_verdict verdict() const noexcept { return verdict_; }
  /// The accepted user; null: none.
  [[nodiscard]] const std::shared_ptr<const User>& user() const noexcept { return user_; }
  [[nodiscard]] const std::string& name() const noexcept { return claim_.user; }

 private:
  friend class Credentials;

  Claim claim_;
  LoginBell* bell_ = nullptr;
  login_verdict verdict_ = login_verdict::wrong;
  std::shared_ptr<const User> user_;
  std::atomic<bool> judged_{false};  // the release in judge() pairs with the acquire in judged()
};

/// The users may be replaced while sessions ask. Thread-safety: any thread.
class Credentials {
 public:
  /// Longest block that can hold a user and a password.
  static constexpr std::uint64_t kMostBytes = config::kMostLoginBytes + 1;

  explicit Credentials(const LoginRules& rules = {}) noexcept : rules_(rules), delays_(rules) {}
  ~Credentials() { stop(); }
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;

  /// From now on only these users may log in.
  void replace(std::vector<config::UserOptions> users);
  /// Whether clients have to log in at all. Relaxed: settled before the first connection.
  [[nodiscard]] bool required() const noexcept { return required_.load(std::memory_order_relaxed); }
  /// Splits a block "user password". False: it has no space.
  [[nodiscard]] static bool split(std::string_view block, Login::Claim& claim);
  /// Starts a login, and counts it. If the verdict comes later, rings `bell` then, until stop(). `bell` null:
  /// blocks until there is a verdict.
  [[nodiscard]] std::shared_ptr<const Login> log_in(Login::Claim claim, LoginBell* bell);
  void count_crowded() noexcept { crowded_.fetch_add(1, std::memory_order_relaxed); }
  void count_forbidden() noexcept { forbidden_.fetch_add(1, std::memory_order_relaxed); }
  /// The current user that a session logged in as `user` continues as; null: it must leave.
  [[nodiscard]] std::shared_ptr<const User> still(const User& user) const;
  [[nodiscard]] const LoginRules& rules() const noexcept { return rules_; }
  [[nodiscard]] std::size_t users() const;

  /// From now on, waiting logins, and new ones that would have to wait, get the verdict busy.
  void hurry() noexcept;
  /// Rings no bell any more. Waiting logins get the verdict busy, which their sessions find by themselves.
  void stop() noexcept;

  [[nodiscard]] std::uint64_t commands() const noexcept { return commands_.load(std::memory_order_relaxed); }
  /// Logins refused because the user had too many connections.
  [[nodiscard]] std::uint64_t crowded() const noexcept { return crowded_.load(std::memory_order_relaxed); }
  /// Requests refused because the user may not make them.
  [[nodiscard]] std::uint64_t forbidden() const noexcept {
    return forbidden_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t errors() const noexcept { return errors_.load(std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;
  enum class look : std::uint8_t { accepted, wrong, slow };

  [[nodiscard]] look compare(const Login& login, std::shared_ptr<const User>& user) const;
  void enqueue(const std::shared_ptr<Login>& login, std::uint32_t delay_ms, std::uint64_t now_ms);
  void turn_away(const std::shared_ptr<Login>& login);
  [[nodiscard]] LoginQueue::trust trust_in(const std::string& client, std::uint64_t now_ms) const;
  void verify(Login& login);
  void judge(Login& login, login_verdict verdict, std::shared_ptr<const User> user);
  void run();

  const LoginRules rules_;
  const PasswordDigester digester_;
  std::atomic<bool> required_{false};
  std::atomic<std::uint64_t> commands_{0};  // relaxed: statistics
  std::atomic<std::uint64_t> errors_{0};
  std::atomic<std::uint64_t> forbidden_{0};
  std::atomic<std::uint64_t> crowded_{0};

  mutable std::mutex mutex_;  ///< guards what follows
  Users users_;
  StringMap<PasswordDigest> verified_;  ///< hash to digest of its password
  LoginDelays delays_;
  LoginQueue waiting_;
  std::condition_variable called_;
  bool hurries_ = false;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace mxkv::server
