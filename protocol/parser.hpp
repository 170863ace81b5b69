// The parser of command lines: bytes in, a Request or an error line out. No I/O, no allocation, no
// exceptions.
//
// It reads command lines only. The server receives the data block of a storage command: the parser says how
// long the block is, and DataBlockEnd checks its end (CR LF, possibly split).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/fast_lines.hpp"
#include "protocol/parser_limits.hpp"
#include "protocol/request.hpp"

namespace mxkv::protocol {

enum class outcome : std::uint8_t {
  need_more,  ///< no whole line yet
  request,    ///< `request` is filled
  error,  ///< answer `error` after swallowing `swallow` bytes; answer nothing if `error` is empty (noreply)
  close,  ///< close the connection without an answer
};

struct Parsed {
  outcome what = outcome::need_more;
  std::size_t consumed = 0;     ///< bytes of the command line, LF included
  std::uint64_t swallow = 0;    ///< bytes that follow and belong to the refused command
  std::string_view error;       ///< a whole reply line with CR LF
  bool too_large = false;       ///< the value is longer than the server takes
  bool delete_key = false;      ///< too_large, of a set: the server deletes request.key first (rule 18)
  bool length_unknown = false;  ///< a data block may follow, but its length could not be read (rule 12)
  bool closes = false;  ///< close behind `error`: the number of lines of the refused command is unknown
};

/// How far an incomplete line was searched for its end, so that a long line that comes in pieces is searched
/// only once. A connection has one; the parser resets it.
struct LineState {
  std::size_t searched = 0;
};

/// Parses the command at the front of [data, data + size). Thread-safety: any thread; const.
class Parser {
 public:
  explicit Parser(ParserLimits limits) noexcept : limits_(limits) {}
  [[nodiscard]] Parsed parse(const char* data, std::size_t size, LineState& line,
                             Request& request) const noexcept {
    Parsed parsed;
    if (line.searched == 0) [[likely]] {
      parsed.consumed = parse_fast_line(data, size, limits_, request);
    }
    if (parsed.consumed == 0) [[unlikely]] {
      return parse_any_line(data, size, line, request);
    }
    parsed.what = outcome::request;
    return parsed;
  }
  /// The same for a client that has to log in: only the length of a set counts, and key, flags and time are
  /// ignored.
  [[nodiscard]] Parsed parse_login(const char* data, std::size_t size, LineState& line,
                                   Request& request) const noexcept;
  [[nodiscard]] const ParserLimits& limits() const noexcept { return limits_; }

 private:
  [[nodiscard]] Parsed parse_any_line(const char* data, std::size_t size, LineState& line,
                                      Request& request) const noexcept;

  ParserLimits limits_;
};

/// Watches the two bytes behind a data block, which may come one at a time.
class DataBlockEnd {
 public:
  /// The end of a value without CR LF behind it.
  [[nodiscard]] static DataBlockEnd none() noexcept {
    DataBlockEnd end;
    end.seen_ = kBytes;
    return end;
  }
  /// Takes up to the missing bytes from the front; returns how many it took.
  std::size_t feed(std::string_view bytes) noexcept {
    std::size_t taken = 0;
    while (seen_ < kBytes && taken < bytes.size()) {
      good_ = good_ && bytes[taken] == (seen_ == 0 ? '\r' : '\n');
      ++seen_;
      ++taken;
    }
    return taken;
  }
  [[nodiscard]] bool complete() const noexcept { return seen_ == kBytes; }
  [[nodiscard]] std::size_t missing() const noexcept { return std::size_t{kBytes} - seen_; }
  /// Only when complete: whether the block ended in CR LF.
  [[nodiscard]] bool good() const noexcept { return good_; }

 private:
  static constexpr std::uint8_t kBytes = 2;

  std::uint8_t seen_ = 0;
  bool good_ = true;
};

/// A connection's protocol. Its first bytes decide it for as long as the connection lasts.
enum class wire_protocol : std::uint8_t {
  undecided,  ///< more bytes are needed
  text,
  binary,
  tls,  ///< a TLS handshake on a listener without TLS
};
[[nodiscard]] wire_protocol protocol_of(std::string_view first) noexcept;

/// The protocol of a client that was closed without an answer (outcome::close), for the log. Empty if
/// unknown.
[[nodiscard]] std::string_view foreign_protocol(std::string_view data) noexcept;

}  // namespace mxkv::protocol
