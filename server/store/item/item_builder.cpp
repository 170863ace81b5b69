#include "server/store/item/item_builder.hpp"

#include <algorithm>

#include "server/store/item/expiry.hpp"

namespace mxkv::server {

namespace {

/// The shape that an ms, or the binary protocol, adds to the shape of classic commands. An append makes an item
/// only with N.
void shape_for_meta(Item::Shape& shape, const protocol::MetaFlags& flags, const Moment& moment) noexcept {
  if (flags.mode == 'A' || flags.mode == 'P') {
    shape.expiry = expiry_from(flags.vivify_exptime, moment);
  }
  shape.marks = flags.binary_key ? std::uint32_t{Item::kBinary} : 0U;
  shape.cas_field = flags.cas != 0;
  shape.cas = flags.cas;
}

}  // namespace

ItemBuilder::ItemBuilder(runtime::Worker& worker, const protocol::Request& request)
    : value_bytes_(request.value_bytes),
      request_{.key = {},  // the item's, when there is one
               .terms = protocol::command_of(request.op).terms,
               .op = request.op,
               .exptime = request.exptime,
               .compare = request.cas} {
  build(worker, request);
}

ItemBuilder::ItemBuilder(runtime::Worker& worker, const protocol::Request& request, std::string_view value)
    : value_bytes_(request.value_bytes),
      request_{.key = {},
               .terms = protocol::command_of(request.op).terms,
               .op = request.op,
               .exptime = request.exptime,
               .compare = request.cas} {
  MXKV_DCHECK(value_bytes_ == value.size() && value_bytes_ <= kInlineValueBytes,
              "a large value comes in pieces");
  build(worker, request);
  if (item_ != nullptr) {
    std::copy_n(value.begin(), value.size(), item_->value_begin());
    filled_ = value_bytes_;
  }
}

void ItemBuilder::build(runtime::Worker& worker, const protocol::Request& request) {
  Item::Shape shape{.key = request.key,
                    .value_bytes = request.value_bytes,
                    .flags = request.flags,
                    .expiry = expiry_from(request.exptime, Moment{worker})};
  if (request.op == protocol::verb::meta_set || request.is_binary()) {
    request_.take(meta_.emplace(request.meta));
    shape_for_meta(shape, request.meta, Moment{worker});
  }
  item_ = Item::create(worker, shape);
  if (item_ == nullptr && worker.retired_objects() > 0) {
    worker.reclaim_now();
    item_ = Item::create(worker, shape);
  }
  if (item_ != nullptr && shape.large()) {
    ChunkList* list = ChunkList::create(worker, 4);
    if (list == nullptr) {
      abandon(worker);
    } else {
      item_->set_list(list);
    }
  }
  if (item_ != nullptr) {
    request_.key = item_->key();
  }
}

std::size_t ItemBuilder::append_to_list(runtime::Worker& worker, const char* data, std::size_t bytes) {
  std::size_t taken = 0;
  while (taken < bytes) {
    const std::span<char> room = space(worker);
    if (room.empty()) {
      break;
    }
    const std::size_t n = std::min(room.size(), bytes - taken);
    std::memcpy(room.data(), data + taken, n);
    advance(n);
    taken += n;
  }
  return taken;
}

std::span<char> ItemBuilder::space(runtime::Worker& worker) {
  if (item_ == nullptr || missing() == 0) {
    return {};
  }
  if (!item_->large()) {
    return {item_->value_begin() + filled_, static_cast<std::size_t>(missing())};
  }
  if (item_->list()->space().empty() && !grow(worker)) {
    return {};
  }
  const std::span<char> room = item_->list()->space();
  return room.first(static_cast<std::size_t>(std::min<std::uint64_t>(missing(), room.size())));
}

// When memory is full, only blocks of other large values become free. So the end of a value takes a whole
// block rather than wait for one of its own size.
bool ItemBuilder::grow(runtime::Worker& worker) {
  ChunkList* list = item_->list();
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(missing(), Chunk::kMaxBytes));
  bool grown = ChunkList::grow(worker, list, wanted) || ChunkList::grow(worker, list, Chunk::kMaxBytes);
  if (!grown && worker.retired_objects() > 0) {
    worker.reclaim_now();
    grown = ChunkList::grow(worker, list, Chunk::kMaxBytes);
  }
  item_->set_list(list);
  return grown;
}

void ItemBuilder::advance(std::size_t bytes) noexcept {
  MXKV_DCHECK(bytes <= missing(), "no more comes than was announced");
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
