#include "server/store/point/binary_reply.hpp"

#include "server/store/item/value_reply.hpp"

namespace mxkv::server {

using protocol::binary_status;
using protocol::BinaryForm;
using protocol::kBinaryHeaderBytes;

namespace {

constexpr std::uint8_t kFlagsBytes = 4;
constexpr std::size_t kNumberBytes = 8;
/// Most bytes of a reply without its value.
constexpr std::size_t kMostBeforeValue = kBinaryHeaderBytes + kFlagsBytes + protocol::kMaxKeyBytes;

char* reserve(ReplyQueue& queue, std::uint32_t ticket, std::size_t value_bytes = 0) {
  return queue.reserve(ticket, kMostBeforeValue + value_bytes);
}

void write_number_reply(ReplyQueue& queue, std::uint32_t ticket, BinaryForm form,
                        const PointOutcome& outcome) {
  char* const out =
      write_binary_header(reserve(queue, ticket), form, {.body = kNumberBytes, .cas = outcome.shown->cas()});
  queue.commit(ticket, protocol::write_big64(out, outcome.number));
}

// As memcached does, the reply to a touch has the item's flags.
void write_touched(ReplyQueue& queue, std::uint32_t ticket, BinaryForm form, const Item& item) {
  char* const out = write_binary_header(reserve(queue, ticket), form,
                                        {.extras = kFlagsBytes, .body = kFlagsBytes, .cas = item.cas()});
  queue.commit(ticket, protocol::write_big32(out, item.flags()));
}

}  // namespace

void write_binary_error(ReplyQueue& queue, std::uint32_t ticket, BinaryForm form, binary_status status) {
  queue.commit(ticket, protocol::write_binary_error(queue.reserve(ticket, protocol::kMostBinaryErrorBytes),
                                                    form, status));
}

void write_binary_success(ReplyQueue& queue, std::uint32_t ticket, BinaryForm form, std::uint64_t cas) {
  if (!form.quiet()) {
    queue.commit(ticket, write_binary_header(reserve(queue, ticket), form, {.cas = cas}));
  }
}

void write_binary_value(ReplyQueue& queue, std::uint32_t ticket, BinaryForm form, const Item& item,
                        runtime::Worker& worker) {
  const std::string_view key = form.tells_key() ? item.key() : std::string_view{};
  const std::uint64_t bytes = item.value_bytes();
  const std::string_view value = item.large() ? std::string_view{} : item.value();
  char* out = reserve(queue, ticket, value.size());
  out = write_binary_header(out, form,
                            {.extras = kFlagsBytes,
                             .key = key.size(),
                             .body = kFlagsBytes + key.size() + bytes,
                             .cas = item.cas()});
  out = protocol::write_text(protocol::write_big32(out, item.flags()), key);
  queue.commit(ticket, protocol::write_text(out, value));
  if (item.large()) {
    write_data(queue, ticket, item, {}, worker);
  }
}

void write_binary_miss(ReplyQueue& queue, std::uint32_t ticket, BinaryForm form, std::string_view key) {
  if (form.quiet()) {
    return;
  }
  if (!form.tells_key()) {
    write_binary_error(queue, ticket, form, binary_status::key_missing);
    return;
  }
  char* const out =
      write_binary_header(reserve(queue, ticket), form,
                          {.status = binary_status::key_missing, .key = key.size(), .body = key.size()});
  queue.commit(ticket, protocol::write_text(out, key));
}

void write_binary_reply(ReplyQueue& queue, std::uint32_t ticket, const PointOutcome& outcome,
                        runtime::Worker& worker) {
  const BinaryForm form = outcome.request.flags->binary;
  switch (outcome.result) {
    case point_result::not_found:
      if (outcome.request.terms.action == protocol::point_action::read) {
        write_binary_miss(queue, ticket, form, outcome.request.key);
        return;
      }
      break;
    case point_result::value:
      write_binary_value(queue, ticket, form, *outcome.shown, worker);
      return;
    case point_result::touched:
      write_touched(queue, ticket, form, *outcome.shown);
      return;
    case point_result::deleted:
      write_binary_success(queue, ticket, form);
      return;
    case point_result::number:
      if (!form.quiet()) {
        write_number_reply(queue, ticket, form, outcome);
      }
      return;
    case point_result::stored:
      write_binary_success(queue, ticket, form, outcome.shown->cas());
      return;
    default:
      break;
  }
  write_binary_error(queue, ticket, form, status_of(outcome.result, form.code));
}

void answer_code(ConnectionTable& replies, const ReplyAddress& address, Seen seen, BinaryForm form,
                 protocol::reply_code code) {
  if (!form.given()) {
    replies.reply(address, seen, text_of(code));
  } else if (ReplyQueue* const queue = replies.find(address, seen); queue != nullptr) {
    if (const binary_status status = status_of(code); status == binary_status::success) {
      write_binary_success(*queue, address.ticket, form);
    } else {
      write_binary_error(*queue, address.ticket, form, status);
    }
    queue->close(address.ticket);
  }
}

}  // namespace mxkv::server
