#include "server/store/item/value_reply.hpp"

namespace mxkv::server {

namespace {

void release_list(void* context, void* object) noexcept {
  ChunkList::drop_by_reply(*static_cast<runtime::Worker*>(context), static_cast<ChunkList*>(object));
}

std::string_view piece_of_list(const void* object, std::uint32_t index) noexcept {
  const Chunk& chunk = *static_cast<const ChunkList*>(object)->pieces()[index];
  return {chunk.data(), chunk.bytes};
}

}  // namespace

void write_large_value(ReplyQueue& queue, std::uint32_t ticket, std::string_view key, const Item::View& item,
                       ReplyForm form, runtime::Worker& worker) {
  const std::uint64_t cas = item.item().cas();
  char* header = queue.reserve(ticket, kAroundValue);
  queue.commit(ticket, protocol::write_value_header(header, key, item.flags(), item.value_bytes(),
                                                    form.with_cas ? &cas : nullptr));
  write_data(queue, ticket, item.item(), form.end_line ? protocol::kCrLfEnd : protocol::kCrLf, worker);
}

void write_meta_value(ReplyQueue& queue, std::uint32_t ticket, const Item& item, runtime::Worker& worker) {
  char* out = queue.reserve(ticket, kAroundValue);
  out = protocol::write_number(protocol::write_text(out, kMetaValue), item.value_bytes());
  queue.commit(ticket, protocol::write_text(out, protocol::kCrLf));
  write_data(queue, ticket, item, protocol::kCrLf, worker);
}

void write_data(ReplyQueue& queue, std::uint32_t ticket, const Item& item, std::string_view end,
                runtime::Worker& worker) {
  if (item.large()) {
    ChunkList* list = item.list();
    list->reference_by_reply();
    queue.append_pieces(ticket, list->bytes(), OwnerRef{list, &worker, &release_list, &piece_of_list});
  } else {
    queue.append(ticket, item.value());
  }
  queue.append(ticket, end);
}

void write_miss(ReplyQueue& queue, std::uint32_t ticket, ReplyForm form) {
  if (form.end_line) {
    const std::string_view text = form.meta ? protocol::kMetaMiss : protocol::kEnd;
    char* out = queue.reserve(ticket, text.size());
    queue.commit(ticket, protocol::write_text(out, text));
  }
}

}  // namespace mxkv::server
