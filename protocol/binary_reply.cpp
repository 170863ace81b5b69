#include "protocol/binary_reply.hpp"

#include "protocol/reply.hpp"

namespace mxkv::protocol {
namespace {

constexpr char kResponseMagic = '\x81';

template <class Number>
char* write_big(char* out, Number value) noexcept {
  for (unsigned shift = 8 * sizeof value; shift > 0; shift -= 8) {
    *out++ = static_cast<char>(static_cast<unsigned char>(value >> (shift - 8)));
  }
  return out;
}

}  // namespace

char* write_big32(char* out, std::uint32_t value) noexcept {
  return write_big(out, value);
}

char* write_big64(char* out, std::uint64_t value) noexcept {
  return write_big(out, value);
}

char* write_binary_header(char* out, BinaryForm form, const BinaryAnswer& answer) noexcept {
  *out++ = kResponseMagic;
  *out++ = static_cast<char>(form.code);
  out = write_big(out, static_cast<std::uint16_t>(answer.key));
  *out++ = static_cast<char>(answer.extras);
  *out++ = 0;  // data type: raw bytes
  out = write_big(out, static_cast<std::uint16_t>(answer.status));
  out = write_big32(out, static_cast<std::uint32_t>(answer.body));
  out = write_text(out, {form.opaque.data(), form.opaque.size()});
  return write_big64(out, answer.cas);
}

std::string_view text_of(binary_status status) noexcept {
  switch (status) {
    case binary_status::key_missing:
      return "Not found";
    case binary_status::key_exists:
      return "Data exists for key.";
    case binary_status::too_large:
      return "Too large.";
    case binary_status::invalid:
      return "Invalid arguments";
    case binary_status::not_stored:
      return "Not stored.";
    case binary_status::not_a_number:
      return "Non-numeric server-side value for incr or decr";
    case binary_status::auth_error:
      return "Auth failure.";
    case binary_status::unknown_command:
      return "Unknown command";
    case binary_status::no_memory:
      return "Out of memory";
    case binary_status::internal_error:
      return "Internal error";
    case binary_status::refused:
      return "Temporary failure";
    case binary_status::success:
      break;
  }
  return {};
}

char* write_binary_error(char* out, BinaryForm form, binary_status status) noexcept {
  const std::string_view text = text_of(status);
  out = write_binary_header(out, form, {.status = status, .body = text.size()});
  return write_text(out, text);
}

}  // namespace mxkv::protocol
