#include "server/store/item_builder.hpp"

#include <algorithm>

#include "server/store/expiry.hpp"

namespace mxkv::server {

ItemBuilder ItemBuilder::begin(runtime::Worker& worker, const protocol::Request& request) {
  ItemBuilder builder;
  builder.op_ = request.op;
  builder.value_bytes_ = request.value_bytes;
  builder.cas_unique_ = request.cas_unique;
  const Item::Shape shape{.key = request.key,
                          .value_bytes = request.value_bytes,
                          .flags = request.flags,
                          .expiry = expiry_from(request.exptime, worker.now_us())};
  builder.item_ = Item::create(worker, shape);
  if (builder.item_ == nullptr && worker.retired_objects() > 0) {
    worker.reclaim_now();
    builder.item_ = Item::create(worker, shape);
  }
  if (builder.item_ != nullptr && shape.large()) {
    ChunkList* list = ChunkList::create(worker, 4);
    if (list == nullptr) {
      builder.abandon(worker);
    } else {
      builder.item_->set_list(list);
    }
  }
  return builder;
}

bool ItemBuilder::append(runtime::Worker& worker, const char* data, std::size_t bytes) {
  if (item_ == nullptr) {
    return false;
  }
  if (!item_->large()) {
    std::memcpy(item_->value_begin() + filled_, data, bytes);
    filled_ += bytes;
    return true;
  }
  while (bytes > 0) {
    const std::span<char> room = space(worker);
    if (room.empty()) {
      return false;
    }
    const std::size_t n = std::min(room.size(), bytes);
    std::memcpy(room.data(), data, n);
    advance(n);
    data += n;
    bytes -= n;
  }
  return true;
}

std::span<char> ItemBuilder::space(runtime::Worker& worker) {
  if (item_ == nullptr || missing() == 0) {
    return {};
  }
  if (!item_->large()) {
    return {item_->value_begin() + filled_, static_cast<std::size_t>(missing())};
  }
  ChunkList* list = item_->list();
  if (list->space().empty()) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(missing(), Chunk::kMaxBytes));
    bool grown = ChunkList::grow(worker, list, wanted);
    if (!grown && worker.retired_objects() > 0) {
      worker.reclaim_now();
      grown = ChunkList::grow(worker, list, wanted);
    }
    item_->set_list(list);
    if (!grown) {
      abandon(worker);
      return {};
    }
  }
  return list->space();
}

void ItemBuilder::advance(std::size_t bytes) noexcept {
  filled_ += bytes;
  if (item_->large()) {
    item_->list()->fill(bytes);
  }
}

void ItemBuilder::abandon(runtime::Worker& worker) noexcept {
  if (item_ != nullptr) {
    Item::destroy(worker, std::exchange(item_, nullptr));
  }
}

}  // namespace mxkv::server
