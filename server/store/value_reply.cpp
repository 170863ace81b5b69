#include "server/store/value_reply.hpp"

#include "protocol/reply.hpp"

namespace mxkv::server {

namespace {

void release_list(void* context, void* object) noexcept {
  ChunkList::drop(*static_cast<runtime::Worker*>(context), static_cast<ChunkList*>(object));
}

}  // namespace

void write_value(ReplyQueue& queue, std::uint32_t ticket, const Item& item, ReplyForm form,
                 runtime::Worker& worker) {
  write_value_as(queue, ticket, item.key(), item, form, worker);
}

void write_value_as(ReplyQueue& queue, std::uint32_t ticket, std::string_view key, const Item& item,
                    ReplyForm form, runtime::Worker& worker) {
  const std::uint64_t cas = item.cas();
  const std::uint64_t* unique = form.with_cas ? &cas : nullptr;
  constexpr std::size_t kAround = protocol::kMaxHeaderBytes + protocol::kCrLf.size() + protocol::kEnd.size();
  if (!item.large()) [[likely]] {
    const std::string_view value = item.value();
    char* out = queue.reserve(ticket, kAround + value.size());
    out = protocol::write_value_header(out, key, item.flags(), value.size(), unique);
    out = protocol::write_text(out, value);
    out = protocol::write_text(out, protocol::kCrLf);
    if (form.end_line) {
      out = protocol::write_text(out, protocol::kEnd);
    }
    queue.commit(ticket, out);
    return;
  }
  ChunkList* list = item.list();
  char* header = queue.reserve(ticket, kAround);
  queue.commit(ticket, protocol::write_value_header(header, key, item.flags(), list->bytes(), unique));
  for (Chunk* chunk : list->pieces()) {
    list->reference();
    queue.append_owned(ticket, chunk->data(), chunk->bytes, OwnerRef{list, &worker, &release_list});
  }
  char* tail = queue.reserve(ticket, kAround);
  char* end = protocol::write_text(tail, protocol::kCrLf);
  if (form.end_line) {
    end = protocol::write_text(end, protocol::kEnd);
  }
  queue.commit(ticket, end);
}

void write_miss(ReplyQueue& queue, std::uint32_t ticket, ReplyForm form) {
  if (form.end_line) {
    char* out = queue.reserve(ticket, protocol::kEnd.size());
    queue.commit(ticket, protocol::write_text(out, protocol::kEnd));
  }
}

}  // namespace mxkv::server
