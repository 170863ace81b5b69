// The connections that come first in some order, as one walk over all connections of a worker found them.
//
// A request that needs the first one may come often, and a walk costs time for each connection. So a walk is kept:
// the next requests take from its list, and check that what they take is still what they look for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace mxkv::server {

class Connection;

/// `Rank`: of connections, the greatest comes first. Thread-safety: owner worker only.
template <class Rank>
class Shortlist {
 public:
  static constexpr std::size_t kMost = 64;
  using Entry = std::pair<Rank, Connection*>;

  /// Keeps the first kMost of all that a walk found.
  void fill(std::vector<Entry> found) {
    list_ = std::move(found);
    is_cut_ = list_.size() > kMost;
    if (is_cut_) {
      std::ranges::nth_element(list_, list_.begin() + static_cast<std::ptrdiff_t>(kMost), std::greater{},
                               &Entry::first);
      list_.resize(kMost);
      list_.shrink_to_fit();
    }
    std::ranges::sort(list_, std::less{}, &Entry::first);
  }
  /// Takes the first one out; none: another walk is needed.
  [[nodiscard]] std::optional<Entry> take() {
    if (list_.empty()) {
      return std::nullopt;
    }
    const Entry first = list_.back();
    list_.pop_back();
    return first;
  }
  /// Whether kMost were taken since the last walk, which had found more.
  [[nodiscard]] bool used_up() const noexcept { return is_cut_ && list_.empty(); }
  /// Puts the one that take() returned last back.
  void put_back(const Entry& first) { list_.push_back(first); }
  /// The connection leaves this worker.
  void forget(const Connection& connection) noexcept {
    std::erase_if(list_, [&connection](const Entry& one) { return one.second == &connection; });
  }

 private:
  std::vector<Entry> list_;  ///< the first one is at its end
  bool is_cut_ = false;
};

}  // namespace mxkv::server
