// The parser of command lines: bytes in, a Request or what to answer out. No I/O, no allocation, no
// exceptions.
//
// It reads command lines only. The data block of a storage command is the server's to receive: the parser
// says how long it is; its end (CR LF, possibly split) is checked with DataBlockEnd.
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
  bool delete_key = false;      ///< too large a set: the server deletes request.key first (rule 18)
  bool length_unknown = false;  ///< a data block may follow, but its length could not be read (rule 12)
  bool closes = false;  ///< close behind `error`: how many lines belong to the refused command is not known
};

/// How far an incomplete line was searched for its end, so that a long line that comes in pieces is not
/// searched anew. One a connection; reset by the parser itself.
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
  /// The same for a client that has to log in: of a set only the length counts, whatever stands in place of the
  /// key, the flags and the time.
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
  /// Of a value that nothing follows.
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

/// What a client speaks. Its first bytes tell, and they tell it for as long as the connection lasts.
enum class wire_protocol : std::uint8_t {
  undecided,  ///< more bytes are needed
  text,
  binary,
  tls,  ///< to a listener without TLS
};
[[nodiscard]] wire_protocol protocol_of(std::string_view first) noexcept;

/// What somebody speaks who was not answered (outcome::close); empty: none that we know.
[[nodiscard]] std::string_view foreign_protocol(std::string_view data) noexcept;

}  // namespace mxkv::protocol
