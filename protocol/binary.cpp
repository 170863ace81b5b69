#include "protocol/binary.hpp"

#include <array>
#include <bit>
#include <concepts>
#include <cstring>

#include "protocol/reply.hpp"

namespace mxkv::protocol {
namespace {

/// No value is longer. As in memcached, the server does not wait for the end of such a body, but closes.
constexpr std::uint32_t kMostBodyBytes = std::uint32_t{1} << 30U;
/// The expiration of Increment and Decrement that means: make no number where there is none.
constexpr std::uint32_t kMakesNothing = ~std::uint32_t{0};

enum class part : std::uint8_t { never, maybe, always };

/// The parts that a request of an opcode may have.
struct Layout {
  bool known = false;
  verb op = verb::meta_noop;
  std::uint8_t extras = 0;
  part key = part::never;
  bool value = false;
  bool extras_optional = false;
};

/// From the rows of the commands. A login has no row.
constexpr Layout layout_of(opcode code) noexcept {
  if (code == opcode::sasl_mechanisms) {
    return {true, verb::meta_noop};
  }
  if (code == opcode::sasl_auth || code == opcode::sasl_step) {
    return {true, verb::meta_noop, 0, part::always, true};
  }
  for (const Command& command : detail::kCommandTable) {
    const BinaryShape& shape = command.binary;
    if (shape.code != opcode::none && shape.code == plain_form_of(code)) {
      const part key = command.is_point()                    ? part::always
                       : shape.optional && shape.extras == 0 ? part::maybe
                                                             : part::never;
      return {
          true, command.op, shape.extras, key, takes_value(command.op), shape.optional && shape.extras != 0};
    }
  }
  return {};
}

constexpr std::size_t kOpcodes = 0x25;
constexpr std::array<Layout, kOpcodes> kLayouts = [] {
  std::array<Layout, kOpcodes> layouts{};
  for (std::size_t n = 0; n < kOpcodes; ++n) {
    layouts[n] = layout_of(static_cast<opcode>(n));
  }
  return layouts;
}();

template <std::unsigned_integral Number>
Number read_big(const char* at) noexcept {
  Number number = 0;
  std::memcpy(&number, at, sizeof number);
  if constexpr (std::endian::native == std::endian::little) {
    if constexpr (sizeof number == 2) {
      number = __builtin_bswap16(number);
    } else if constexpr (sizeof number == 4) {
      number = __builtin_bswap32(number);
    } else {
      number = __builtin_bswap64(number);
    }
  }
  return number;
}

struct Header {
  std::uint8_t code;
  std::uint8_t extras;
  std::uint16_t key;
  std::uint32_t body;
  std::uint64_t cas;

  explicit Header(const char* at) noexcept
      : code(static_cast<std::uint8_t>(at[1])),
        extras(static_cast<std::uint8_t>(at[4])),
        key(read_big<std::uint16_t>(at + 2)),
        body(read_big<std::uint32_t>(at + 8)),
        cas(read_big<std::uint64_t>(at + 16)) {}
  [[nodiscard]] std::uint32_t before_value() const noexcept { return std::uint32_t{extras} + key; }
};

bool fits(const Layout& layout, const Header& header) noexcept {
  const bool extras = header.extras == layout.extras || (layout.extras_optional && header.extras == 0);
  const bool key = layout.key == part::maybe || (header.key != 0) == (layout.key == part::always);
  return extras && key && (layout.value || header.body == header.before_value());
}

BinaryParsed refused_and_closed(binary_status error) noexcept {
  return {.what = outcome::error, .consumed = kBinaryHeaderBytes, .error = error, .closes = true};
}

/// Takes the terms that the verb does not say, such as a cas or a first number, into MetaFlags.
void take_terms(verb op, const char* extras, const Header& header, Request& request) noexcept {
  MetaFlags& flags = request.meta;
  flags.binary_key = !is_printable_key(request.key);
  if (header.cas != 0 && op != verb::get && op != verb::gat && op != verb::touch) {
    flags.has_compare = true;
    flags.compare = header.cas;
  }
  switch (op) {
    case verb::set:
    case verb::add:
    case verb::replace:
      request.flags = read_big<std::uint32_t>(extras);
      request.exptime = read_big<std::uint32_t>(extras + 4);
      flags.exptime = request.exptime;
      if (flags.has_compare) {
        request.op = verb::cas;  // with a cas, Set, Add and Replace are the same
      } else if (op != verb::set) {
        flags.mode = op == verb::add ? 'E' : 'R';
      }
      break;
    case verb::append:
    case verb::prepend:
      flags.mode = op == verb::append ? 'A' : 'P';
      break;
    case verb::incr:
    case verb::decr: {
      flags.mode = op == verb::decr ? 'D' : 'I';
      flags.delta = read_big<std::uint64_t>(extras);
      flags.initial = read_big<std::uint64_t>(extras + 8);
      const auto expiration = read_big<std::uint32_t>(extras + 16);
      if (expiration != kMakesNothing) {
        flags.vivify = true;
        flags.vivify_exptime = expiration;
        flags.want('N');
      }
      break;
    }
    case verb::touch:
    case verb::gat:
      request.exptime = read_big<std::uint32_t>(extras);
      flags.has_exptime = true;
      flags.exptime = request.exptime;
      break;
    default:
      break;
  }
}

}  // namespace

BinaryParsed parse_binary(const char* data, std::size_t size, const ParserLimits& limits,
                          Request& request) noexcept {
  if (size != 0 && *data != kBinaryRequestMagic) {
    return {.what = outcome::close};
  }
  if (size < kBinaryHeaderBytes) {
    return {};
  }
  const Header header{data};
  request.meta = {};
  request.meta.binary = {.code = static_cast<opcode>(header.code)};
  std::memcpy(request.meta.binary.opaque.data(), data + 12, request.meta.binary.opaque.size());
  if (header.before_value() > header.body) {
    return refused_and_closed(binary_status::unknown_command);
  }
  if (header.body > kMostBodyBytes || header.key > kMaxKeyBytes) {
    return refused_and_closed(binary_status::invalid);
  }
  const Layout layout = header.code < kOpcodes ? kLayouts[header.code] : Layout{};
  if (!layout.known) {
    return {.what = outcome::error,
            .consumed = kBinaryHeaderBytes,
            .swallow = header.body,
            .error = binary_status::unknown_command};
  }
  if (!fits(layout, header)) {
    return refused_and_closed(binary_status::invalid);
  }
  const std::size_t consumed = kBinaryHeaderBytes + header.before_value();
  if (size < consumed) {
    return {};
  }
  const char* const extras = data + kBinaryHeaderBytes;
  request.op = layout.op;
  request.key = {extras + header.extras, header.key};
  request.key_count = 1;
  request.argument = request.key;
  request.flags = 0;
  request.exptime = 0;
  request.value_bytes = header.body - header.before_value();
  if (layout.op == verb::flush_all && header.extras != 0) {
    request.exptime = read_big<std::uint32_t>(extras);
  } else if (layout.op == verb::verbosity) {
    request.verbosity = read_big<std::uint32_t>(extras);
  } else if (layout.key == part::always) {
    take_terms(layout.op, extras, header, request);
  }
  if (takes_value(layout.op) && request.value_bytes > limits.value_bytes) {
    return {.what = outcome::error,
            .consumed = consumed,
            .swallow = request.value_bytes,
            .error = binary_status::too_large,
            .delete_key = layout.op == verb::set};
  }
  return {.what = outcome::request, .consumed = consumed};
}

PlainLogin read_plain_login(std::string_view message) noexcept {
  const std::size_t user = message.find('\0');
  const std::size_t password = user == std::string_view::npos ? user : message.find('\0', user + 1);
  if (password == std::string_view::npos || message.find('\0', password + 1) != std::string_view::npos) {
    return {};
  }
  const std::string_view acts_as = message.substr(0, user);
  const std::string_view name = message.substr(user + 1, password - user - 1);
  return {.good = acts_as.empty() || acts_as == name, .user = name, .password = message.substr(password + 1)};
}

}  // namespace mxkv::protocol
