// The replies that a stream of requests is owed: one each, in their order. The parser tells the requests
// apart. It has a fuzzer of its own; here it gets the whole stream at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.hpp"
#include "protocol/parser.hpp"
#include "server/net/users/credentials.hpp"

namespace mxkv::fuzz {

/// The reply to one request.
struct Owed {
  enum class form : std::uint8_t {
    literal,    ///< this text
    bad_block,  ///< this text, or an error for lack of memory: then the block is not checked
    shaped,     ///< a reply that its verb may get, see reply_shapes.hpp
    stream,     ///< this text, then any bytes until the end
  };
  form how = form::literal;
  std::string text;

  // Of a shaped one.
  protocol::verb op{};
  std::string key;   ///< decoded
  std::string keys;  ///< of a retrieval, as sent
  std::uint32_t key_count = 0;
  protocol::MetaFlags meta;
  // Of a range.
  bool reverse = false;
  bool base64 = false;  ///< keys come in it
  bool keys_only = false;
  bool with_cas = false;
  bool by_delimiter = false;  ///< mc: by group
  bool locked = false;        ///< at one point in time
  // Of a batch.
  std::vector<Owed> lines{};   ///< the reply that each good line is owed
  std::uint64_t bad_line = 0;  ///< the first bad one, owed `text`; 0: none
};

/// The server's answers to administrators' commands in these tests. Empty: the connection is closed.
[[nodiscard]] std::string administer(const protocol::Request& request);

/// The first line of every reply to `version`.
inline constexpr std::string_view kVersionLine = "VERSION 1.2.3\r\n";

/// The replies that `stream` is owed. `credentials`: null, or the login that a client must give first.
[[nodiscard]] std::vector<Owed> owed_for(std::string_view stream, const config::LimitOptions& limits,
                                         server::Credentials* credentials);

}  // namespace mxkv::fuzz
