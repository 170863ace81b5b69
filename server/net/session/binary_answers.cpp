#include "server/net/session/binary_answers.hpp"

#include <array>

#include "protocol/binary_reply.hpp"
#include "protocol/reply_codes.hpp"
#include "runtime/base/assert.hpp"

namespace mxkv::server {

using protocol::binary_status;
using protocol::BinaryForm;

namespace {

/// The reply to `stats` as packets: one for each line, and an empty one at the end.
std::string stat_packets(std::string_view text, BinaryForm form, bool more) {
  std::string packets;
  const auto add = [&packets, form](std::string_view name, std::string_view value) {
    std::array<char, protocol::kBinaryHeaderBytes> header;
    write_binary_header(header.data(), form, {.key = name.size(), .body = name.size() + value.size()});
    packets.append(header.data(), header.size()).append(name).append(value);
  };
  while (text.starts_with("STAT ")) {
    const std::string_view line = text.substr(5, text.find('\r') - 5);
    const std::size_t name = line.find(' ');
    add(line.substr(0, name), name == std::string_view::npos ? std::string_view{} : line.substr(name + 1));
    text.remove_prefix(5 + line.size() + protocol::kCrLf.size());
  }
  if (!more) {
    add({}, {});
  }
  return packets;
}

}  // namespace

std::string binary_text(const protocol::Request& request, std::string_view text, const AdminCursor& cursor) {
  const BinaryForm form = request.meta.binary;
  const binary_status status = status_of(cursor.code);
  if (status == binary_status::success && request.op == protocol::verb::stats) {
    return stat_packets(text, form, cursor.more);
  }
  std::array<char, protocol::kMostBinaryErrorBytes> answer;
  char* const end = status == binary_status::success ? write_binary_header(answer.data(), form, {})
                                                     : write_binary_error(answer.data(), form, status);
  return {answer.data(), end};
}

void answer_binary(SessionCore& core, BinaryForm form, binary_status status) {
  if (status == binary_status::success && form.quiet()) {
    return;
  }
  std::array<char, protocol::kMostBinaryErrorBytes> text;
  char* const end = status == binary_status::success ? write_binary_header(text.data(), form, {})
                                                     : write_binary_error(text.data(), form, status);
  core.answer({text.data(), static_cast<std::size_t>(end - text.data())});
}

void answer_binary_text(SessionCore& core, BinaryForm form, std::string_view text) {
  std::array<char, protocol::kMostBinaryErrorBytes> answered;
  MXKV_ASSERT(text.size() <= answered.size() - protocol::kBinaryHeaderBytes, "short texts are answered");
  char* const end =
      protocol::write_text(write_binary_header(answered.data(), form, {.body = text.size()}), text);
  core.answer({answered.data(), static_cast<std::size_t>(end - answered.data())});
}

}  // namespace mxkv::server
