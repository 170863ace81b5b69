#include "server/cluster/binary_forward.hpp"

#include "protocol/binary_reply.hpp"
#include "protocol/reply_codes.hpp"
#include "server/cluster/reply_words.hpp"
#include "server/cluster/value_text.hpp"
#include "server/store/point/binary_reply.hpp"

namespace mxkv::server {

using protocol::BinaryForm;
using protocol::kBinaryHeaderBytes;
using protocol::MetaFlags;
using protocol::opcode;
using protocol::point_action;
using protocol::PointRequest;
using protocol::reply_code;

namespace {

constexpr std::uint8_t kFlagsBytes = 4;
constexpr std::size_t kNumberBytes = 8;

/// A meta reply of the owner.
struct MetaReply {
  reply_code code;
  std::uint32_t flags = 0;
  std::uint64_t cas = 0;
  std::string_view data{};
};

MetaReply read_reply(std::string_view text) noexcept {
  MetaReply reply{.code = protocol::read_reply_code(text)};
  std::uint64_t bytes = 0;
  each_word(text, [&](std::string_view word) {
    if (word.starts_with('f')) {
      reply.flags = static_cast<std::uint32_t>(number_in(word.substr(1)));
    } else if (word.starts_with('c')) {
      reply.cas = number_in(word.substr(1));
    } else if (!word.empty() && word.front() >= '0' && word.front() <= '9') {
      bytes = number_in(word);  // only the length has no letter
    }
  });
  if (reply.code == reply_code::value) {
    reply.data = text.substr(text.find(protocol::kCrLf) + protocol::kCrLf.size(), bytes);
  }
  return reply;
}

void write_value(ReplyQueue& queue, std::uint32_t ticket, BinaryForm form, std::string_view key,
                 const MetaReply& reply) {
  const std::string_view told = form.tells_key() ? key : std::string_view{};
  const std::size_t body = kFlagsBytes + told.size() + reply.data.size();
  char* out = queue.reserve(ticket, kBinaryHeaderBytes + kFlagsBytes + told.size());
  out = write_binary_header(out, form,
                            {.extras = kFlagsBytes, .key = told.size(), .body = body, .cas = reply.cas});
  queue.commit(ticket, protocol::write_text(protocol::write_big32(out, reply.flags), told));
  queue.append(ticket, reply.data);
}

void write_number(ReplyQueue& queue, std::uint32_t ticket, BinaryForm form, const MetaReply& reply) {
  char* const out = write_binary_header(queue.reserve(ticket, kBinaryHeaderBytes + kNumberBytes), form,
                                        {.body = kNumberBytes, .cas = reply.cas});
  queue.commit(ticket, protocol::write_big64(out, number_in(reply.data)));
}

bool counts(opcode code) noexcept {
  return code == opcode::increment || code == opcode::incrementq || code == opcode::decrement ||
         code == opcode::decrementq;
}

}  // namespace

void write_binary_request(std::string& out, const PointRequest& request, ItemBuilder* value,
                          runtime::Worker& worker) {
  MetaFlags flags = *request.flags;
  PointRequest meta = request;
  meta.flags = &flags;
  meta.op = protocol::meta_form_of(request.terms.action);
  flags.binary = {};
  flags.wanted_count = 0;
  const bool reads = request.terms.action == point_action::read;
  flags.value = request.terms.action == point_action::count || (reads && request.shows_item());
  if (reads) {
    flags.want('f');
  }
  if (request.terms.action != point_action::remove) {
    flags.want('c');
  }
  if (flags.has_exptime || (request.terms.action == point_action::store && flags.exptime != 0)) {
    flags.want('T');
  }
  if (flags.vivify) {
    flags.want('N');
  }
  write_request(out, meta, value, worker);
}

void write_binary_answer(ReplyQueue& queue, std::uint32_t ticket, BinaryForm form, std::string_view key,
                         std::string_view reply) {
  const MetaReply told = read_reply(reply);
  switch (told.code) {
    case reply_code::value:
      if (!counts(form.code)) {
        write_value(queue, ticket, form, key, told);
      } else if (!form.quiet()) {
        write_number(queue, ticket, form, told);
      }
      return;
    case reply_code::done:
      if (form.code == opcode::touch) {
        write_value(queue, ticket, form, key, told);  // memcached's reply to a touch has the flags
      } else {
        write_binary_success(queue, ticket, form, told.cas);
      }
      return;
    case reply_code::miss:
      write_binary_miss(queue, ticket, form, key);
      return;
    default:
      write_binary_error(queue, ticket, form, status_of(told.code, form.code));
  }
}

}  // namespace mxkv::server
