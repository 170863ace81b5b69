// Users that may use the server, where it is configured: those of a file as memcached's -Y has it, a line
// "user:password" each.
//
// A check compares with every entry, whole and without a branch on what is in it, so that the time that it
// takes tells nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace mxkv::server {

/// The users of one file. Thread-safety: that of a plain value.
class Users {
 public:
  static constexpr std::size_t kMost = 8;         ///< as memcached
  static constexpr std::size_t kMostBytes = 255;  ///< of user and password together

  /// Reads a file. Errors say file, line, and what is wrong there; never a password.
  [[nodiscard]] static runtime::Result<Users> read(const std::string& file);
  /// The same of a text; `file` is for errors.
  [[nodiscard]] static runtime::Result<Users> parse(std::string_view text, const std::string& file);

  [[nodiscard]] bool know(std::string_view user, std::string_view password) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  /// User, a byte that neither may hold, password; zeros behind.
  using Entry = std::array<std::uint8_t, kMostBytes + 2>;

  static Entry entry_of(std::string_view user, std::string_view password) noexcept;

  std::vector<Entry> entries_;
};

/// What sessions ask; the users may be replaced while they do. Thread-safety: any thread.
class Credentials {
 public:
  /// Longest block that can be a user and a password.
  static constexpr std::uint64_t kMostBytes = Users::kMostBytes + 1;

  /// From here on only these users are let in.
  void replace(Users users);
  /// Whether clients have to authenticate at all. Relaxed: settled before the first connection.
  [[nodiscard]] bool required() const noexcept { return required_.load(std::memory_order_relaxed); }
  /// The reply to a block of "user password", counted.
  [[nodiscard]] std::string_view judge(std::string_view block) noexcept;

  [[nodiscard]] std::uint64_t commands() const noexcept { return commands_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t errors() const noexcept { return errors_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;  ///< guards users_
  Users users_;
  std::atomic<bool> required_{false};
  std::atomic<std::uint64_t> commands_{0};  // relaxed: statistics
  std::atomic<std::uint64_t> errors_{0};
};

}  // namespace mxkv::server
