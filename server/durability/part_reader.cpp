#include "server/durability/part_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "server/commit/record_reader.hpp"
#include "server/durability/apart_blocks.hpp"
#include "server/journal/hash.hpp"

namespace mxkv::server {

namespace {

using runtime::Error;
using runtime::Result;

constexpr std::string_view kBlockMagic = "MXB1";
constexpr std::size_t kMostBeforeValue = kRecordHeaderBytes + 8 + 4 + 4 + 8 + kMostKeyBytes;

/// The fields of a block's header that are read before it is validated.
struct Glance {
  std::uint32_t payload_bytes;
  std::uint64_t hash;
  std::uint32_t records;
  block_kind kind;
};

bool glance_at(std::string_view file, std::uint64_t offset, Glance& out) {
  if (offset > file.size() || file.size() - offset < kBlockHeaderBytes ||
      file.substr(offset, kBlockMagic.size()) != kBlockMagic) {
    return false;
  }
  const char* at = file.data() + offset;
  out.payload_bytes = load_number<std::uint32_t>(at + 4);
  out.hash = load_number<std::uint64_t>(at + 8);
  out.records = load_number<std::uint32_t>(at + 24);
  out.kind = static_cast<block_kind>(load_number<std::uint16_t>(at + 28));
  return out.payload_bytes <= file.size() - offset - kBlockHeaderBytes;
}

bool may_be_key(std::string_view key) noexcept {
  return !key.empty() && key.size() <= index::kMaxKeyBytes;
}

/// The key of the put at the beginning of `bytes`; empty: there is none. The put's value may be cut off.
std::string_view first_key_of(std::string_view bytes) {
  if (bytes.size() < kRecordHeaderBytes + 4 || static_cast<record_type>(bytes.front()) != record_type::put) {
    return {};
  }
  const std::string_view key = KeyRecord::of({}, 0, 0, record_type::put, bytes.data()).key();
  const bool inside = key.data() + key.size() <= bytes.data() + bytes.size();
  return inside && may_be_key(key) ? key : std::string_view{};
}

}  // namespace

std::string Part::damage(std::uint64_t offset, std::string_view what) const {
  return fmt::format("{}: damaged at byte {}: {}", path_, offset, what);
}

Result<Part> Part::open(Disk& disk, const std::string& path, const DirectoryId& directory,
                        std::uint64_t begun, std::uint32_t number) {
  Part part;
  part.path_ = path;
  if (const int error = disk.read(path, part.bytes_); error != 0) {
    return Error{disk.text(path, error)};
  }
  Result<CheckpointHeader> header = read_checkpoint_header(part.bytes());
  if (!header) {
    return Error{path + ": " + header.error().message};
  }
  part.header_ = std::move(header).value();
  if (part.header_.directory != directory || part.header_.begun != begun || part.header_.part != number) {
    return Error{path + ": belongs to another checkpoint"};
  }
  part.seed_ = checkpoint_seed(directory, begun, number);
  std::string wrong = part.find_blocks();
  if (!wrong.empty()) {
    return Error{std::move(wrong)};
  }
  return part;
}

std::string Part::find_blocks() {
  const std::string_view file = bytes();
  Decompressor decompressor;
  std::uint64_t chain = begin_group_chain(0, header_.begun);
  std::uint64_t offset = kPageBytes;
  for (std::uint32_t count = 0;; ++count) {
    Glance seen{};
    if (!glance_at(file, offset, seen)) {
      return damage(offset, "a block is cut off");
    }
    if (seen.kind == block_kind::footer) {
      BlockView block;
      const char* wrong = read_block(file, offset, seed_, block);
      wrong = wrong != nullptr ? wrong : read_footer(block.payload, footer_);
      if (wrong == nullptr && (footer_.chain != chain || footer_.blocks != count || footer_.bytes != offset ||
                               offset + block.header.bytes() != file.size())) {
        wrong = "the footer does not match the blocks before it";
      }
      return wrong != nullptr ? damage(offset, wrong) : std::string{};
    }
    const std::string_view payload = file.substr(offset + kBlockHeaderBytes, seen.payload_bytes);
    if (seen.kind != block_kind::value) {
      std::string wrong = add_block(decompressor, offset, payload, seen.kind, seen.records);
      if (!wrong.empty()) {
        return wrong;
      }
    }
    chain = chain_on(chain, seen.hash);
    offset += kBlockHeaderBytes + payload.size();
  }
}

std::string Part::add_block(Decompressor& decompressor, std::uint64_t offset, std::string_view payload,
                            block_kind kind, std::uint32_t records) {
  std::string begin;
  if (kind == block_kind::records_zstd) {
    if (!decompressor.begin_of(payload, kMostBeforeValue, begin)) {
      return damage(offset, "a block cannot be decompressed");
    }
  } else if (kind == block_kind::records) {
    begin = payload.substr(0, kMostBeforeValue);
  } else {
    return damage(offset, "a block of an unknown kind");
  }
  const std::string_view key = first_key_of(begin);
  if (key.empty() || (!blocks_.empty() && key <= blocks_.back().first_key)) {
    return damage(offset, "keys are not in order");
  }
  blocks_.push_back({offset, records, std::string{key}});
  return {};
}

PartItems::PartItems(std::span<const Part> parts, std::string_view from, std::string_view to)
    : parts_(parts), to_(to) {
  // Finds the last part that begins at or before `from`, and its last block that does.
  while (part_ + 1 < parts.size() &&
         (parts[part_ + 1].blocks().empty() || parts[part_ + 1].blocks().front().first_key <= from)) {
    ++part_;
  }
  while (part_ > 0 && parts[part_].blocks().empty()) {
    --part_;
  }
  if (!parts.empty()) {
    const auto& blocks = parts[part_].blocks();
    const auto behind =
        std::upper_bound(blocks.begin(), blocks.end(), from,
                         [](std::string_view key, const PartBlock& block) { return key < block.first_key; });
    block_ = behind == blocks.begin() ? 0 : static_cast<std::size_t>(behind - blocks.begin()) - 1;
  }
  do {
    next();
  } while (!ended_ && item_.put.key < from);
}

void PartItems::next() {
  MXKV_ASSERT(!ended_, "there is nothing behind the last item");
  while (!ended_ && records_.empty()) {
    if (!open_block()) {
      ended_ = true;
      return;
    }
  }
  ended_ = ended_ || !read_item() || (!to_.empty() && item_.put.key >= to_);
}

void PartItems::fail(std::string_view what) {
  MXKV_ASSERT(block_ > 0 && error_.empty(), "the first thing that is wrong is in a block that was opened");
  const Part& part = parts_[part_];
  error_ = part.damage(part.blocks()[block_ - 1].offset, what);
}

bool PartItems::open_block() {
  MXKV_ASSERT(records_.empty(), "the block before was read to its end");
  while (part_ < parts_.size() && block_ == parts_[part_].blocks().size()) {
    ++part_;
    block_ = 0;
  }
  if (part_ == parts_.size()) {
    return false;
  }
  const Part& part = parts_[part_];
  const PartBlock& place = part.blocks()[block_];
  if (!to_.empty() && place.first_key >= to_) {
    return false;
  }
  ++block_;
  BlockView block;
  if (const char* wrong = read_block(part.bytes(), place.offset, part.seed(), block)) {
    fail(wrong);
    return false;
  }
  last_key_ = {};
  records_ = block.payload;
  behind_ = block.payload.data() + block.payload.size();
  if (block.header.kind == block_kind::records_zstd) {
    if (!decompressor_.decompress(block.payload, block.header.raw_bytes, raw_)) {
      fail("a block cannot be decompressed");
      return false;
    }
    records_ = raw_;
  }
  return true;
}

bool PartItems::read_item() {
  RecordReader reader{records_};
  const auto record = reader.next();
  const auto* const put = record ? std::get_if<PutRecord>(&*record) : nullptr;
  if (put == nullptr || !may_be_key(put->key) || put->key <= last_key_) {
    fail(reader.wrong() != nullptr ? reader.wrong() : "a record is no put, or its key is not in order");
    return false;
  }
  last_key_ = put->key;
  item_.put = *put;
  item_.apart = behind_;
  records_.remove_prefix(reader.position());
  if (put->apart_bytes != 0) {
    const std::string_view file = parts_[part_].bytes();
    const auto offset = static_cast<std::uint64_t>(behind_ - file.data());
    const char* const wrong = check_apart_blocks(file, offset, parts_[part_].seed(), put->apart_bytes);
    if (wrong != nullptr || !records_.empty()) {
      fail(wrong != nullptr ? wrong : "a value apart is not behind its record");
      return false;
    }
  }
  return true;
}

Result<std::uint64_t> verify_part(const Part& part) {
  PartItems items{{&part, 1}, {}, {}};
  std::uint64_t count = 0;
  std::string last;
  for (; items.at() != nullptr; items.next(), ++count) {
    last = items.at()->put.key;
  }
  if (!items.error().empty()) {
    return Error{items.error()};
  }
  if (count != part.footer().items || last != part.footer().last) {
    return Error{part.damage(part.footer().bytes, "the footer counts other items")};
  }
  return count;
}

}  // namespace mxkv::server
