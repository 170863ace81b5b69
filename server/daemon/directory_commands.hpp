// What mxkvd can be asked about a data directory instead of serving: what its journal holds, whether it is
// whole, and a copy of it. Beside a running daemon too.
#pragma once

#include <cstdint>
#include <filesystem>

namespace mxkv::server {

/// `mxkvd journal verify|dump|end DIR`.
struct JournalCommand {
  enum class what : std::uint8_t { verify, dump, end };
  what asked = what::verify;
  std::filesystem::path directory;
  std::uint64_t from = 0;  ///< epoch that a dump begins with
};

/// `mxkvd checkpoint DIR`: a checkpoint of what no process serves from; with --to BACKUP a copy in place of it.
struct CheckpointCommand {
  std::filesystem::path directory;
  std::filesystem::path to;  ///< empty: no copy
};

/// Each writes its answer to standard output, or what is wrong to standard error, and returns the exit code.
/// Thread-safety: the main thread.
[[nodiscard]] int run_command(const JournalCommand& command);
[[nodiscard]] int run_command(const CheckpointCommand& command);

}  // namespace mxkv::server
