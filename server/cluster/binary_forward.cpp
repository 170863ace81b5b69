#include "server/cluster/binary_forward.hpp"

#include <algorithm>

#include "protocol/binary_reply.hpp"
#include "protocol/numbers.hpp"
#include "protocol/reply.hpp"
#include "server/cluster/value_text.hpp"
#include "server/store/point/binary_reply.hpp"

namespace mxkv::server {

using protocol::binary_status;
using protocol::BinaryForm;
using protocol::kBinaryHeaderBytes;
using protocol::MetaFlags;
using protocol::opcode;
using protocol::point_action;
using protocol::PointRequest;
using protocol::verb;

namespace {

constexpr std::uint8_t kFlagsBytes = 4;
constexpr std::size_t kNumberBytes = 8;

/// A meta reply: its first word, the values of its flags f and c, and its data.
struct MetaReply {
  std::string_view code;
  std::uint32_t flags = 0;
  std::uint64_t cas = 0;
  std::string_view data;
};

std::string_view next_word(std::string_view& line) noexcept {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

MetaReply read_reply(std::string_view text) noexcept {
  const std::size_t end = text.find(protocol::kCrLf);
  std::string_view line = text.substr(0, end);
  MetaReply reply{.code = next_word(line), .data = {}};
  if (reply.code == "VA") {
    std::uint64_t bytes = 0;
    static_cast<void>(protocol::read_u64(next_word(line), bytes));
    reply.data = text.substr(end + protocol::kCrLf.size(), bytes);
  }
  while (!line.empty()) {
    const std::string_view word = next_word(line);
    std::uint64_t number = 0;
    if (word.empty() || !protocol::read_u64(word.substr(1), number)) {
      continue;
    }
    if (word.front() == 'f') {
      reply.flags = static_cast<std::uint32_t>(number);
    } else if (word.front() == 'c') {
      reply.cas = number;
    }
  }
  return reply;
}

/// The status that corresponds to a line that is no meta reply.
binary_status status_of(std::string_view line) noexcept {
  if (line.starts_with("SERVER_ERROR out of memory")) {
    return binary_status::no_memory;
  }
  if (line.starts_with("SERVER_ERROR object too large")) {
    return binary_status::too_large;
  }
  if (line.starts_with("CLIENT_ERROR cannot increment or decrement")) {
    return binary_status::not_a_number;
  }
  return line.starts_with("SERVER_ERROR outcome unknown") ? binary_status::internal_error
                                                          : binary_status::refused;
}

verb meta_verb(point_action action) noexcept {
  switch (action) {
    case point_action::store:
      return verb::meta_set;
    case point_action::count:
      return verb::meta_arithmetic;
    case point_action::remove:
      return verb::meta_delete;
    case point_action::read:
    case point_action::inspect:
      break;
  }
  return verb::meta_get;
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
  std::uint64_t number = 0;
  static_cast<void>(protocol::read_u64(reply.data, number));
  char* const out = write_binary_header(queue.reserve(ticket, kBinaryHeaderBytes + kNumberBytes), form,
                                        {.body = kNumberBytes, .cas = reply.cas});
  queue.commit(ticket, protocol::write_big64(out, number));
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
  meta.op = meta_verb(request.terms.action);
  flags.binary = {};
  flags.wanted_count = 0;
  const bool reads = request.terms.action == point_action::read;
  flags.value = request.terms.action == point_action::count || (reads && request.op != verb::touch);
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
  if (told.code == "VA" && !counts(form.code)) {
    write_value(queue, ticket, form, key, told);
  } else if (told.code == "VA") {
    if (!form.quiet()) {
      write_number(queue, ticket, form, told);
    }
  } else if (told.code == "HD" && form.code == opcode::touch) {
    write_value(queue, ticket, form, key, told);  // memcached's reply to a touch has the flags
  } else if (told.code == "HD") {
    write_binary_success(queue, ticket, form, told.cas);
  } else if (told.code == "EN") {
    if (form.code == opcode::touch) {
      write_binary_error(queue, ticket, form, binary_status::key_missing);
    } else {
      write_binary_miss(queue, ticket, form, key);
    }
  } else if (told.code == "NF") {
    write_binary_error(queue, ticket, form, binary_status::key_missing);
  } else if (told.code == "EX") {
    write_binary_error(queue, ticket, form, binary_status::key_exists);
  } else if (told.code == "NS") {
    write_binary_error(queue, ticket, form, binary_not_stored(form.code));
  } else {
    write_binary_error(queue, ticket, form, status_of(reply));
  }
}

}  // namespace mxkv::server
