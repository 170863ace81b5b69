// Takes lines of the text protocol: requests, and what stands in their place before a login and in a batch.
#pragma once

#include <cstddef>
#include <string_view>

#include "protocol/parser.hpp"
#include "protocol/point_request.hpp"
#include "server/net/session/session_parts.hpp"
#include "server/reply/block_pool.hpp"

namespace mxkv::server {

/// Functions that take input return how many bytes they used; 0: the line is not complete, or has to wait.
/// Thread-safety: owner worker only.
class TextIntake {
 public:
  std::size_t take_line(SessionParts& parts, std::string_view data);
  /// Goes on with a line of many keys.
  std::size_t take_keys(SessionParts& parts, std::string_view data);
  static std::size_t take_batch_line(SessionParts& parts, std::string_view data);
  static std::size_t take_login(SessionParts& parts, std::string_view data);
  /// The bytes are no line of our protocol and cannot become one: notes that, and drains.
  static void leave(SessionCore& core, std::string_view data);

 private:
  /// A line of many keys.
  struct KeysLine {
    protocol::PointRequest each;  ///< the request for each key
    std::size_t bytes = 0;        ///< of the keys that are left
    std::size_t end_bytes = 0;    ///< between the last key and the next line
  };

  /// A request with a value of up to so many bytes waits in a small block of input for its end.
  static constexpr std::size_t kMostHeldWhole = BlockPool::kSmallBlockRoom;

  [[nodiscard]] static bool waits_for_rest(const protocol::Request& request, const protocol::Parsed& parsed,
                                           std::string_view data) noexcept;
  static std::size_t take_usual(SessionParts& parts, std::string_view data);
  static std::size_t take_gets(SessionParts& parts, std::string_view data);
  static std::size_t take_sets(SessionParts& parts, std::string_view data);
  std::size_t take_keys_of_get(SessionParts& parts, std::string_view line);
  static std::size_t take_error(SessionParts& parts, const protocol::Parsed& parsed);
  static std::size_t forbid(SessionParts& parts, const protocol::Request& request, std::size_t consumed);
  [[nodiscard]] static bool is_line(SessionParts& parts, const protocol::Parsed& parsed,
                                    std::string_view data);
  /// False: the request must be taken again later.
  [[nodiscard]] bool dispatch(SessionParts& parts, const protocol::Request& request);
  void begin_keys(SessionParts& parts, const protocol::Request& request);

  KeysLine keys_;
};

}  // namespace mxkv::server
