// Checkpointer's functions: the parts of a checkpoint, which its thread writes from the buffers that scans fill.
#include <algorithm>

#include "runtime/base/assert.hpp"
#include "server/durability/checkpointer.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kMostAheadNs =
    50'000'000;  ///< of the rate: bytes that were not written may be caught up

std::uint64_t items_of(const Store& store) noexcept {
  const std::uint64_t removed = store.total(counter::items_removed);
  const std::uint64_t added = store.total(counter::items_added);
  return added > removed ? added - removed : 0;
}

}  // namespace

std::string Checkpointer::open_part(std::size_t i) {
  MXKV_ASSERT(i == writers_.size() && i < entry_.parts, "parts are opened one after the other");
  const auto number = static_cast<std::uint32_t>(i);
  const Manifest manifest = manifest_.get();
  const CheckpointHeader header{.directory = manifest.directory,
                                .begun = entry_.begun,
                                .created_us = entry_.made_us,
                                .part = number,
                                .parts = entry_.parts,
                                .incarnation = manifest.incarnation,
                                .compressed = options_.compress,
                                .has_no_end = scans_[i].to().empty(),
                                .from = scans_[i].from(),
                                .to = scans_[i].to()};
  const std::string path = checkpoint_part_path(entry_.begun, number);
  const int error = writers_.emplace_back(std::make_unique<PartWriter>())->begin(disk_, path, header);
  return error == 0 ? std::string{} : disk_.text(path, error);
}

std::string Checkpointer::write_buffer(std::size_t i) {
  MXKV_ASSERT(scans_[i].now() == PartScan::state::filled, "a buffer is written when its scan has ended");
  const CheckpointBuffer& buffer = scans_[i].buffer();
  PartWriter& writer = *writers_[i];
  const std::uint64_t before = writer.bytes();
  const std::uint64_t items = writer.items();
  int error = 0;
  std::size_t from = 0;
  for (const FilledBlock& block : buffer.blocks()) {
    error = error != 0 ? error
                       : writer.add(buffer.bytes(from, block.end), block.records, block.first, block.last);
    from = block.end;
    if (error == 0 && block.value != nullptr) {
      std::vector<std::string_view> pieces;
      for (const Chunk* chunk : block.value->pieces()) {
        pieces.emplace_back(chunk->data(), chunk->bytes);
      }
      error = writer.add_value(pieces);
    }
  }
  const std::uint64_t written = writer.bytes() - before;
  if (options_.rate_bytes != 0) {
    const std::uint64_t now = store_.tree().runtime().clock().monotonic_ns();
    const std::uint64_t takes = written * kNsPerSecond / options_.rate_bytes;
    free_at_ns_ = std::max(free_at_ns_, now > kMostAheadNs ? now - kMostAheadNs : 0) + takes;
  }
  const std::scoped_lock lock{mutex_};
  status_.items += writer.items() - items;
  status_.bytes += written;
  const auto all = static_cast<double>(std::max<std::uint64_t>(items_of(store_), 1));
  status_.fraction = std::min(static_cast<double>(status_.items) / all, 1.0);
  return error == 0 ? std::string{}
                    : disk_.text(checkpoint_part_path(entry_.begun, static_cast<std::uint32_t>(i)), error);
}

std::string Checkpointer::end_part(std::size_t i) {
  MXKV_ASSERT(writers_[i] != nullptr, "a part ends once");
  const int error = writers_[i]->end();
  entry_.items += writers_[i]->items();
  entry_.bytes += writers_[i]->bytes();
  writers_[i].reset();
  return error == 0 ? std::string{}
                    : disk_.text(checkpoint_part_path(entry_.begun, static_cast<std::uint32_t>(i)), error);
}

}  // namespace mxkv::server
