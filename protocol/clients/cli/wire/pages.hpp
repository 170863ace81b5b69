// The items of a range, page after page. Only this class follows cursors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "protocol/clients/cli/connection/connection.hpp"
#include "protocol/clients/cli/wire/request_text.hpp"

namespace mxkv::cli {

struct Record {
  std::string key{};
  std::string value{};
  std::uint32_t flags = 0;
  std::int64_t seconds = -1;  ///< to live; -1: for ever
  std::uint64_t unique = 0;
  std::uint64_t bytes = 0;  ///< of the value
};

/// The parts of each item to request besides its key.
struct Wanted {
  bool value = false;
  bool flags = false;
  bool seconds = false;
  bool unique = false;
  bool bytes = false;
};

struct PageOptions {
  std::uint64_t limit = UINT64_MAX;  ///< most items in all
  std::uint64_t page_items = 1000;
  bool ahead = true;  ///< asks for the next page while this one is worked on
};

/// Thread-safety: one thread. Until the last page it needs the connection for itself.
class Pages {
 public:
  Pages(Connection& connection, const Range& range, const Wanted& wanted, const PageOptions& options);

  /// The next item, good until the next call, or null at the end.
  [[nodiscard]] const Record* next();
  /// Whether the next call begins a page.
  [[nodiscard]] bool page_done() const noexcept { return at_ == count_; }

 private:
  void ask();
  void read_page();

  Connection& connection_;
  std::string line_;
  PageOptions options_;
  std::vector<Record> records_;  ///< reused from page to page, with the memory of their strings
  std::size_t count_ = 0;
  std::size_t at_ = 0;
  std::uint64_t left_;  ///< items that may still come
  std::string cursor_;
  bool more_ = true;
  bool asked_ = false;
};

}  // namespace mxkv::cli
