// The answers of `stats` and its groups.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/clients/cli/connection/connection.hpp"

namespace mxkv::cli {

/// Names and values in the order of the answer.
class Stats {
 public:
  using Entry = std::pair<std::string, std::string>;

  void add(std::string name, std::string value) { entries_.emplace_back(std::move(name), std::move(value)); }
  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
  /// Empty if there is no statistic of this name.
  [[nodiscard]] std::string_view text(std::string_view name) const noexcept;
  /// 0 if there is no statistic of this name.
  [[nodiscard]] double number(std::string_view name) const noexcept;
  [[nodiscard]] bool has(std::string_view name) const noexcept;

 private:
  std::vector<Entry> entries_;
};

/// `group` may be empty. Throws Failure.
[[nodiscard]] Stats read_stats(Connection& server, const std::string& group);

}  // namespace mxkv::cli
