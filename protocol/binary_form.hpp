// The part of a binary request that its answer needs: opcode and opaque, which the answer repeats, and the
// properties of the opcode. Plain data.
#pragma once

#include <array>
#include <cstdint>

namespace mxkv::protocol {

/// First byte of each request.
inline constexpr char kBinaryRequestMagic = '\x80';

/// Opcodes with a letter q are quiet: they are answered only on failure, and a quiet get only on a hit.
enum class opcode : std::uint8_t {
  get = 0x00,
  set = 0x01,
  add = 0x02,
  replace = 0x03,
  remove = 0x04,  ///< Delete
  increment = 0x05,
  decrement = 0x06,
  quit = 0x07,
  flush = 0x08,
  getq = 0x09,
  noop = 0x0a,
  version = 0x0b,
  getk = 0x0c,
  getkq = 0x0d,
  append = 0x0e,
  prepend = 0x0f,
  stat = 0x10,
  setq = 0x11,
  addq = 0x12,
  replaceq = 0x13,
  removeq = 0x14,
  incrementq = 0x15,
  decrementq = 0x16,
  quitq = 0x17,
  flushq = 0x18,
  appendq = 0x19,
  prependq = 0x1a,
  verbosity = 0x1b,
  touch = 0x1c,
  gat = 0x1d,
  gatq = 0x1e,
  sasl_mechanisms = 0x20,
  sasl_auth = 0x21,
  sasl_step = 0x22,
  gatk = 0x23,
  gatkq = 0x24,
  none = 0xff,  ///< no request of this protocol
};

/// The form of the opcode that is not quiet and whose answer has no key.
[[nodiscard]] constexpr opcode plain_form_of(opcode code) noexcept {
  switch (code) {
    case opcode::getq:
    case opcode::getk:
    case opcode::getkq:
      return opcode::get;
    case opcode::gatq:
    case opcode::gatk:
    case opcode::gatkq:
      return opcode::gat;
    case opcode::setq:
      return opcode::set;
    case opcode::addq:
      return opcode::add;
    case opcode::replaceq:
      return opcode::replace;
    case opcode::removeq:
      return opcode::remove;
    case opcode::incrementq:
      return opcode::increment;
    case opcode::decrementq:
      return opcode::decrement;
    case opcode::quitq:
      return opcode::quit;
    case opcode::flushq:
      return opcode::flush;
    case opcode::appendq:
      return opcode::append;
    case opcode::prependq:
      return opcode::prepend;
    default:
      return code;
  }
}

struct BinaryForm {
  opcode code = opcode::none;
  std::array<char, 4> opaque{};  ///< as sent

  /// Whether the request came by the binary protocol.
  [[nodiscard]] constexpr bool given() const noexcept { return code != opcode::none; }
  /// Whether the request is answered only on failure, and a get only on a hit.
  [[nodiscard]] constexpr bool quiet() const noexcept {
    switch (code) {
      case opcode::getq:
      case opcode::getkq:
      case opcode::setq:
      case opcode::addq:
      case opcode::replaceq:
      case opcode::removeq:
      case opcode::incrementq:
      case opcode::decrementq:
      case opcode::quitq:
      case opcode::flushq:
      case opcode::appendq:
      case opcode::prependq:
      case opcode::gatq:
      case opcode::gatkq:
        return true;
      default:
        return false;
    }
  }
  /// Whether the answer has the key.
  [[nodiscard]] constexpr bool tells_key() const noexcept {
    return code == opcode::getk || code == opcode::getkq || code == opcode::gatk || code == opcode::gatkq;
  }
};
static_assert(sizeof(BinaryForm) == 5, "it goes into what is left of flags and of tasks");

}  // namespace mxkv::protocol
