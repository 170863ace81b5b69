// The keys of the items that a start leaves out for lack of memory.
//
// Clients see that these keys are absent. So the journal must record each absence before the server serves:
// otherwise a later start with more room brings the old values back, even of keys deleted meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/journal/journal.hpp"

namespace mxkv::server {

/// Holds one byte more than each key. Thread-safety: none, like a plain value.
class LeftOutKeys {
 public:
  /// At most 255 bytes. Throws std::bad_alloc.
  void add(std::string_view key);
  void take(LeftOutKeys&& other);
  void clear() noexcept;

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Iterates over the keys.
  class Walk {
   public:
    explicit Walk(const LeftOutKeys& keys) noexcept : pieces_(keys.pieces_) {}
    /// False: there are no more keys.
    bool next(std::string_view& key) noexcept;

   private:
    const std::vector<std::string>& pieces_;
    std::size_t piece_ = 0;
    std::size_t at_ = 0;
  };

 private:
  std::vector<std::string> pieces_;  ///< a length byte before each key
  std::uint64_t size_ = 0;
};

/// Records all keys as evicted, with this order, in a journal that is open and not started. `order`: above
/// all orders that the start found. The caller flushes the journal before it serves. Start-up only.
void record_left_out(const LeftOutKeys& keys, std::uint64_t order, Journal& journal);

}  // namespace mxkv::server
