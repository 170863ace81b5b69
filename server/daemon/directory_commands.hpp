// Commands about a data directory, instead of serving: show its journal, check it, and copy it. A daemon may
// run on it.
#pragma once

#include <cstdint>
#include <filesystem>

namespace mxkv::server {

/// `mxkvd journal verify|dump|end DIR`.
struct JournalCommand {
  enum class what : std::uint8_t { verify, dump, end };
  what asked = what::verify;
  std::filesystem::path directory;
  std::uint64_t from = 0;  ///< first epoch of a dump
};

/// `mxkvd checkpoint DIR`: writes a checkpoint of a directory without a server; with --to BACKUP copies the
/// directory.
struct CheckpointCommand {
  std::filesystem::path directory;
  std::filesystem::path to;  ///< empty: no copy
};

/// Each writes its output to standard output, or errors to standard error, and returns the exit code.
/// Thread-safety: the main thread.
[[nodiscard]] int run_command(const JournalCommand& command);
[[nodiscard]] int run_command(const CheckpointCommand& command);

}  // namespace mxkv::server
