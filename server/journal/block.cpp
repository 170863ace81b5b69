#include "server/journal/block.hpp"

#include "runtime/base/assert.hpp"
#include "server/journal/hash.hpp"

namespace mxkv::server {
namespace {

constexpr std::uint32_t kBlockMagic = 0x3142'584D;  // "MXB1"
constexpr std::size_t kHashedFrom = 16;

void write_block_header(char* out, const BlockHeader& header) noexcept {
  out = store_number(out, kBlockMagic);
  out = store_number(out, header.payload_bytes);
  out = store_number(out, header.hash);
  out = store_number(out, header.epoch);
  out = store_number(out, header.records);
  out = store_number(out, static_cast<std::uint16_t>(header.kind));
  out = store_number(out, header.worker);
  out = store_number(out, header.raw_bytes);
  out = store_number(out, header.index);
  store_number(out, header.offset);
}

BlockHeader block_header_at(const char* at) noexcept {
  BlockHeader header;
  header.payload_bytes = load_number<std::uint32_t>(at + 4);
  header.hash = load_number<std::uint64_t>(at + 8);
  header.epoch = load_number<std::uint64_t>(at + 16);
  header.records = load_number<std::uint32_t>(at + 24);
  header.kind = static_cast<block_kind>(load_number<std::uint16_t>(at + 28));
  header.worker = load_number<std::uint16_t>(at + 30);
  header.raw_bytes = load_number<std::uint32_t>(at + 32);
  header.index = load_number<std::uint32_t>(at + 36);
  header.offset = load_number<std::uint64_t>(at + 40);
  return header;
}

std::string_view hashed_part(const char* header) noexcept {
  return {header + kHashedFrom, kBlockHeaderBytes - kHashedFrom};
}

}  // namespace

void seal_block(char* out, BlockHeader& header, std::span<const std::string_view> pieces,
                std::uint64_t seed) noexcept {
  std::size_t bytes = 0;
  for (const std::string_view piece : pieces) {
    bytes += piece.size();
  }
  MXKV_ASSERT(bytes <= kMostPayloadBytes, "a block is no larger than readers take");
  header.payload_bytes = static_cast<std::uint32_t>(bytes);
  if (header.raw_bytes == 0) {
    header.raw_bytes = header.payload_bytes;
  }
  write_block_header(out, header);
  Hasher hasher(seed);
  hasher.add(hashed_part(out));
  for (const std::string_view piece : pieces) {
    hasher.add(piece);
  }
  header.hash = hasher.value();
  store_number(out + 8, header.hash);
}

void seal_block(char* out, BlockHeader& header, std::string_view payload, std::uint64_t seed) noexcept {
  seal_block(out, header, std::span{&payload, 1}, seed);
}

const char* look_at_block(std::string_view file, std::uint64_t offset, BlockView& block) noexcept {
  if (offset > file.size() || file.size() - offset < kBlockHeaderBytes) {
    return "the file ends where a block begins";
  }
  const char* const at = file.data() + offset;
  if (load_number<std::uint32_t>(at) != kBlockMagic) {
    return "no block begins there";
  }
  block.header = block_header_at(at);
  if (block.header.payload_bytes > kMostPayloadBytes || block.header.bytes() > file.size() - offset) {
    return "a block is longer than it can be";
  }
  block.payload = {at + kBlockHeaderBytes, block.header.payload_bytes};
  return nullptr;
}

const char* read_block(std::string_view file, std::uint64_t offset, std::uint64_t seed, BlockView& block,
                       std::uint64_t base) noexcept {
  if (const char* const wrong = look_at_block(file, offset, block)) {
    return wrong;
  }
  const std::string_view hashed{file.data() + offset + kHashedFrom, block.header.bytes() - kHashedFrom};
  if (hash_of(hashed, seed) != block.header.hash) {
    return "a block does not match its hash";
  }
  if (block.header.offset != base + offset) {
    return "a block belongs to another place";
  }
  return nullptr;
}

void seal_commit(char* out, BlockHeader& header, const CommitMark& commit, std::uint64_t seed) noexcept {
  char* at = out + kBlockHeaderBytes;
  at = store_number(at, commit.group_bytes);
  at = store_number(at, commit.blocks);
  at = store_number(at, commit.wall_ahead_s);
  at = store_number(at, commit.durable);
  at = store_number(at, commit.ceiling);
  at = store_number(at, commit.unix_us);
  store_number(at, commit.chain);
  header.kind = block_kind::commit;
  header.index = 0;
  seal_block(out, header, std::string_view{out + kBlockHeaderBytes, CommitMark::kBytes}, seed);
}

const char* read_commit(std::string_view file, std::uint64_t offset, std::uint64_t seed, BlockHeader& header,
                        CommitMark& commit, std::uint64_t base) noexcept {
  BlockView block;
  if (const char* const wrong = read_block(file, offset, seed, block, base)) {
    return wrong;
  }
  if (block.header.kind != block_kind::commit || block.payload.size() != CommitMark::kBytes) {
    return "a group does not begin with a commit block";
  }
  header = block.header;
  const char* const at = block.payload.data();
  commit.group_bytes = load_number<std::uint64_t>(at);
  commit.blocks = load_number<std::uint32_t>(at + 8);
  commit.wall_ahead_s = load_number<std::int32_t>(at + 12);
  commit.durable = load_number<std::uint64_t>(at + 16);
  commit.ceiling = load_number<std::uint64_t>(at + 24);
  commit.unix_us = load_number<std::uint64_t>(at + 32);
  commit.chain = load_number<std::uint64_t>(at + 40);
  return nullptr;
}

std::uint64_t begin_group_chain(std::uint64_t chain_before, std::uint64_t epoch) noexcept {
  return chain_on(chain_before, epoch);
}

}  // namespace mxkv::server
