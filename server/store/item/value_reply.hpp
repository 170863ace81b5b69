// Writes items into replies: small values are copied, large ones are sent from their chunks.
#pragma once

#include "protocol/reply.hpp"
#include "server/reply/reply_queue.hpp"
#include "server/store/item/item.hpp"

namespace mxkv::server {

/// The parts of a reply around a value.
struct ReplyForm {
  bool with_cas = false;
  bool end_line = false;  ///< END follows, as the retrieval has one key
  bool meta = false;      ///< for mg with v alone: no key, flags or END
};

/// Most bytes of a reply beside its inline or large value.
inline constexpr std::size_t kAroundValue =
    protocol::kMaxHeaderBytes + protocol::kCrLf.size() + protocol::kEnd.size();

inline constexpr std::string_view kMetaValue = "VA ";

/// Writes the VALUE line, data and, if asked for, END of an item that is not large. Needs the value's bytes
/// and kAroundValue.
[[gnu::always_inline]] inline char* write_inline_value(char* out, std::string_view key,
                                                       const Item::View& item, ReplyForm form) noexcept {
  const std::string_view value = item.value();
  const std::uint64_t cas = form.with_cas ? item.item().cas() : 0;
  out = protocol::write_value_header(out, key, item.flags(), value.size(), form.with_cas ? &cas : nullptr);
  out = protocol::write_text(protocol::write_short_text(out, value), protocol::kCrLf);
  return form.end_line ? protocol::write_text(out, protocol::kEnd) : out;
}

/// The same for a plain item, without a cas. The value has at most kMostMiddling bytes.
[[gnu::always_inline]] inline char* write_plain_value(char* out, const Item::PlainView& item,
                                                      bool end_line) noexcept {
  const std::string_view value = item.value();
  out = protocol::write_short_text(protocol::write_text(out, "VALUE "), item.key());
  out = protocol::write_number(protocol::write_text(out, " 0 "), value.size());
  out = protocol::write_text(out, protocol::kCrLf);
  out = protocol::write_middling_text(out, value);
  std::memcpy(out, protocol::kCrLfEnd.data(), protocol::kCrLfEnd.size());
  return out + (end_line ? protocol::kCrLfEnd : protocol::kCrLf).size();
}

/// The same in the style of mg with v alone.
[[gnu::always_inline]] inline char* write_plain_meta_value(char* out, const Item::PlainView& item) noexcept {
  const std::string_view value = item.value();
  out = protocol::write_number(protocol::write_text(out, kMetaValue), value.size());
  out = protocol::write_text(out, protocol::kCrLf);
  out =
      value.size() > 64 ? protocol::write_middling_text(out, value) : protocol::write_short_text(out, value);
  return protocol::write_text(out, protocol::kCrLf);
}

/// The part of write_value() for large items.
void write_large_value(ReplyQueue& queue, std::uint32_t ticket, std::string_view key, const Item::View& item,
                       ReplyForm form, runtime::Worker& worker);
/// Writes an item of any kind, which must be safe to read; the ticket stays open. `key`: the item's key, or
/// its encoded form.
[[gnu::always_inline]] inline void write_value(ReplyQueue& queue, std::uint32_t ticket, std::string_view key,
                                               const Item::View& item, ReplyForm form,
                                               runtime::Worker& worker) {
  if (item.large()) [[unlikely]] {
    write_large_value(queue, ticket, key, item, form, worker);
    return;
  }
  char* const out = queue.reserve(ticket, kAroundValue + item.value().size());
  queue.commit(ticket, write_inline_value(out, key, item, form));
}
/// The same in the style of mg with v alone.
void write_meta_value(ReplyQueue& queue, std::uint32_t ticket, const Item& item, runtime::Worker& worker);
/// Writes the value of an item of any kind, and `end` behind it.
void write_data(ReplyQueue& queue, std::uint32_t ticket, const Item& item, std::string_view end,
                runtime::Worker& worker);
/// Writes the answer to a miss: END, EN or nothing.
void write_miss(ReplyQueue& queue, std::uint32_t ticket, ReplyForm form);

}  // namespace mxkv::server
