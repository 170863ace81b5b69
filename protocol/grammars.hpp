// The functions that parse a line behind its first word, one for each family of commands. Not for users of
// the parser.
#pragma once

namespace mxkv::protocol {

struct CommandLine;
struct Parsed;

using Grammar = Parsed (*)(CommandLine) noexcept;

[[nodiscard]] Parsed parse_retrieval(CommandLine line) noexcept;      // get, gets
[[nodiscard]] Parsed parse_get_and_touch(CommandLine line) noexcept;  // gat, gats
[[nodiscard]] Parsed parse_storage(CommandLine line) noexcept;        // set .. cas
[[nodiscard]] Parsed parse_change(CommandLine line) noexcept;  // incr, decr, touch: <key> and operand_of()
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
[[nodiscard]] Parsed parse_bare(CommandLine line) noexcept;          // version quit mn: whatever follows
[[nodiscard]] Parsed parse_meta(CommandLine line) noexcept;          // mg md ma me
[[nodiscard]] Parsed parse_meta_set(CommandLine line) noexcept;      // ms
[[nodiscard]] Parsed parse_meta_range(CommandLine line) noexcept;    // mr mc mx mt
[[nodiscard]] Parsed parse_meta_watch(CommandLine line) noexcept;    // mw
[[nodiscard]] Parsed parse_meta_unwatch(CommandLine line) noexcept;  // mu
[[nodiscard]] Parsed parse_meta_batch(CommandLine line) noexcept;    // mb

}  // namespace mxkv::protocol
