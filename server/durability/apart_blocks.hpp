// A value apart from its put: blocks of kind `value` right behind the block whose last record is the put, in
// journals and in checkpoints alike.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/journal/block.hpp"

namespace mxkv::server {

/// Reads the pieces of the value in order. The blocks were checked before. Thread-safety: one thread.
class ApartBlocks {
 public:
  /// `block`: the first block. `bytes`: of the whole value.
  ApartBlocks(const char* block, std::uint64_t bytes) noexcept : block_(block), left_(bytes) {}

  /// The next piece; empty after the last.
  [[nodiscard]] std::string_view next() noexcept {
    if (left_ == 0) {
      return {};
    }
    const std::string_view piece{block_ + kBlockHeaderBytes, load_number<std::uint32_t>(block_ + 4)};
    block_ += kBlockHeaderBytes + piece.size();
    left_ -= piece.size();
    return piece;
  }

 private:
  const char* block_;
  std::uint64_t left_;
};

/// Validates the blocks of a value of `bytes` at `offset` of a file. Returns the damage; null: none.
[[nodiscard]] inline const char* check_apart_blocks(std::string_view file, std::uint64_t offset,
                                                    std::uint64_t seed, std::uint64_t bytes) noexcept {
  while (bytes > 0) {
    BlockView block;
    if (const char* wrong = read_block(file, offset, seed, block)) {
      return wrong;
    }
    if (block.header.kind != block_kind::value || block.payload.empty() || block.payload.size() > bytes) {
      return "a value apart is not as long as its record says";
    }
    bytes -= block.payload.size();
    offset += block.header.bytes();
  }
  return nullptr;
}

}  // namespace mxkv::server
