// `mxkvd journal verify|dump|end DIR`: shows operators the contents of a data directory, and whether it is
// whole. It changes nothing, needs no runtime and no store, and a daemon may run meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace mxkv::server {

/// Takes a line, with its newline. False: the reader of the output is gone.
using LinePrinter = std::function<bool(std::string_view line)>;

struct ToolOutcome {
  enum class how : std::uint8_t {
    fine,     ///< no damage, or a tail that a crash has torn
    damaged,  ///< data that was on disk once is not whole
    refused,  ///< not a data directory
    failed,   ///< a file could not be read
  };
  how ended = how::fine;
  std::string complaint;  ///< a line for standard error; empty: none
};

/// Prints all segments, the records by type, the chain, the parts of the checkpoint, and the journal's end.
[[nodiscard]] ToolOutcome verify_journal(const std::string& directory, const LinePrinter& print);
/// Prints a line a record, from epoch `from` on; the format is for people and may change.
[[nodiscard]] ToolOutcome dump_journal(const std::string& directory, std::uint64_t from,
                                       const LinePrinter& print);
/// Prints the last whole epoch, its time, and the state of the bytes behind it.
[[nodiscard]] ToolOutcome show_journal_end(const std::string& directory, const LinePrinter& print);

}  // namespace mxkv::server
