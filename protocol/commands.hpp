// Inside the parser: the line being parsed, and one function for each family of commands. Not for users of
// the parser.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/parser.hpp"
#include "protocol/reply.hpp"
#include "protocol/tokens.hpp"

namespace mxkv::protocol {

/// What a family's function works on. `tokens` stands behind the verb; `request.op` is set.
struct CommandLine {
  Tokens& tokens;
  Request& request;
  const ParserLimits& limits;
};

[[nodiscard]] inline Parsed accepted() noexcept {
  Parsed parsed;
  parsed.what = outcome::request;
  return parsed;
}

[[nodiscard]] inline Parsed refused(std::string_view error, std::uint64_t swallow = 0) noexcept {
  Parsed parsed;
  parsed.what = outcome::error;
  parsed.swallow = swallow;
  parsed.error = error;
  return parsed;
}

/// Refuses a command with a data block whose length cannot be read.
[[nodiscard]] inline Parsed refused_length(std::string_view error) noexcept {
  Parsed parsed = refused(error);
  parsed.length_unknown = true;
  return parsed;
}

/// Lengths beyond this count as unparsable, as in memcached: nobody waits for so long a block to be swallowed.
inline constexpr std::uint64_t kLongestValue = 0x7FFF'FFFF - kCrLf.size();

inline constexpr std::string_view kNoreply = "noreply";

/// Refuses a command that knows noreply: in silence if that is the line's last word (rule 23), unless it is
/// what stands in the place of the key (`key`; data outside the line for commands without).
[[nodiscard]] inline Parsed refused_aloud_or_not(const Tokens& tokens, std::string_view key,
                                                 std::string_view error, std::uint64_t swallow = 0) noexcept {
  const std::string_view last = tokens.last();
  const bool silent = last == kNoreply && last.data() != key.data();
  return refused(silent ? std::string_view() : error, swallow);
}

/// Takes an optional noreply from the end; false if anything else is left.
[[nodiscard]] inline bool take_noreply(Tokens& tokens, Request& request) noexcept {
  if (tokens.done()) {
    return true;
  }
  request.noreply = tokens.next().text == kNoreply;
  return request.noreply && tokens.done();
}

/// The same for commands without keys: one word that is not noreply means nothing, two are an error, aloud.
[[nodiscard]] inline bool take_last_word(Tokens& tokens, Request& request) noexcept {
  request.noreply = !tokens.done() && tokens.next().text == kNoreply;
  return tokens.done();
}

[[nodiscard]] Parsed parse_retrieval(CommandLine line) noexcept;      // get, gets
[[nodiscard]] Parsed parse_get_and_touch(CommandLine line) noexcept;  // gat, gats
[[nodiscard]] Parsed parse_storage(CommandLine line) noexcept;        // set .. cas
[[nodiscard]] Parsed parse_arithmetic(CommandLine line) noexcept;     // incr, decr
[[nodiscard]] Parsed parse_touch(CommandLine line) noexcept;
[[nodiscard]] Parsed parse_delete(CommandLine line) noexcept;
[[nodiscard]] Parsed parse_range(CommandLine line) noexcept;  // scan .. pscans
[[nodiscard]] Parsed parse_stats(CommandLine line) noexcept;
[[nodiscard]] Parsed parse_verbosity(CommandLine line) noexcept;
[[nodiscard]] Parsed parse_cache_memlimit(CommandLine line) noexcept;
[[nodiscard]] Parsed parse_shutdown(CommandLine line) noexcept;
[[nodiscard]] Parsed parse_debugtime(CommandLine line) noexcept;
[[nodiscard]] Parsed parse_config(CommandLine line) noexcept;  // config get, config set
[[nodiscard]] Parsed parse_refresh_certs(CommandLine line) noexcept;
[[nodiscard]] Parsed parse_lru_crawler(CommandLine line) noexcept;
[[nodiscard]] Parsed parse_lru(CommandLine line) noexcept;
[[nodiscard]] Parsed parse_client(CommandLine line) noexcept;
[[nodiscard]] Parsed parse_watch(CommandLine line) noexcept;
[[nodiscard]] Parsed parse_slabs(CommandLine line) noexcept;
[[nodiscard]] Parsed parse_flush_all(CommandLine line) noexcept;
[[nodiscard]] Parsed parse_version(CommandLine line) noexcept;     // whatever follows
[[nodiscard]] Parsed parse_quit(CommandLine line) noexcept;        // the same
[[nodiscard]] Parsed parse_meta(CommandLine line) noexcept;        // mg md ma me
[[nodiscard]] Parsed parse_meta_set(CommandLine line) noexcept;    // ms
[[nodiscard]] Parsed parse_meta_range(CommandLine line) noexcept;  // mr mc mx mt
[[nodiscard]] Parsed parse_meta_batch(CommandLine line) noexcept;  // mb

}  // namespace mxkv::protocol
