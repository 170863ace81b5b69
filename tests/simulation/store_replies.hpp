// Reads the replies of a simulated store into the records of their requests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/simulation/store_requests.hpp"

namespace mxkv::simulation {

/// Thread-safety: one thread.
class StoreReplies {
 public:
  explicit StoreReplies(StoreKeys& keys) noexcept : keys_(keys) {}

  /// Reads the reply at the front of `received` into request.op. Returns its bytes; 0: it is not whole.
  [[nodiscard]] std::size_t read(std::string_view received, StoreRequest& request);
  /// Whether `received` begins with the reply of the quiet request, rather than with a later request's.
  [[nodiscard]] static bool is_of(std::string_view received, const StoreRequest& quiet);
  /// The first reply that could not be understood; empty: all could be.
  [[nodiscard]] const std::string& nonsense() const noexcept { return nonsense_; }

 private:
  void read_line(std::string_view line, std::string_view data, CommandLine& told_of);
  void read_page(const std::vector<std::string_view>& lines, StoreRequest& request);
  void read_classic_page(const std::vector<std::string_view>& lines, StoreRequest& request);
  /// Reads an item on a page behind the item with the key `last`.
  void read_shown(std::string_view key, std::uint64_t number, std::uint64_t cas, std::string_view last,
                  StoreRequest& request);
  /// The page ended with the last item that it shows.
  void cut_off(std::string_view last, StoreRequest& request) const;
  void read_batch(const std::vector<std::string_view>& lines, StoreRequest& request);
  void read_range_line(std::string_view line, Operation& op);
  void expect(bool good, std::string_view text);

  StoreKeys& keys_;
  std::string nonsense_;
};

}  // namespace mxkv::simulation
