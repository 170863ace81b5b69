#include "server/durability/left_out_keys.hpp"

#include <iterator>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;

}  // namespace

void LeftOutKeys::add(std::string_view key) {
  MXKV_ASSERT(key.size() <= kMostKeyBytes, "the length of a key fits in a byte");
  if (pieces_.empty() || pieces_.back().size() + 1 + key.size() > kPieceBytes) {
    pieces_.emplace_back().reserve(kPieceBytes);
  }
  std::string& piece = pieces_.back();
  piece.push_back(static_cast<char>(key.size()));
  piece.append(key);
  ++size_;
}

void LeftOutKeys::take(LeftOutKeys&& other) {
  pieces_.insert(pieces_.end(), std::make_move_iterator(other.pieces_.begin()),
                 std::make_move_iterator(other.pieces_.end()));
  size_ += other.size_;
  other.clear();
}

bool LeftOutKeys::Walk::next(std::string_view& key) noexcept {
  if (piece_ == pieces_.size()) {
    return false;
  }
  const std::string_view piece = pieces_[piece_];
  MXKV_ASSERT(at_ < piece.size(), "a piece ends behind a key");
  key = piece.substr(at_ + 1, static_cast<std::uint8_t>(piece[at_]));
  at_ += 1 + key.size();
  if (at_ == piece.size()) {
    ++piece_;
    at_ = 0;
  }
  return true;
}

void LeftOutKeys::clear() noexcept {
  pieces_.clear();
  size_ = 0;
}

void record_left_out(const LeftOutKeys& keys, std::uint64_t order, Journal& journal) {
  MXKV_ASSERT(order != 0, "a removed item has an order");
  LeftOutKeys::Walk walk{keys};
  journal.record_alone([&](RecordBuffer& buffer) {
    std::string_view key;
    if (!walk.next(key)) {
      return false;
    }
    buffer.append(GoneRecord{.order = order, .key = key, .reason = gone_reason::evicted});
    return true;
  });
}

}  // namespace mxkv::server
