// What `mxkvd journal verify|dump|end DIR` print: for people who want to know what a data directory holds, and
// whether it is whole. Nothing is changed, no runtime and no store are needed, and a daemon may run meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace mxkv::server {

/// Takes a line, with its newline. False: nobody reads any more.
using LinePrinter = std::function<bool(std::string_view line)>;

struct ToolOutcome {
  enum class how : std::uint8_t {
    fine,     ///< nothing is wrong, or a crash has torn the tail
    damaged,  ///< what was on disk once is not whole
    refused,  ///< not a data directory
    failed,   ///< the system could not read
  };
  how ended = how::fine;
  std::string complaint;  ///< a line for standard error; empty: nothing to say
};

/// All segments, the records by type, the chain, the parts of the checkpoint, and how it ends.
[[nodiscard]] ToolOutcome verify_journal(const std::string& directory, const LinePrinter& print);
/// A line a record, of epochs from `from` on; the format is for people and may change.
[[nodiscard]] ToolOutcome dump_journal(const std::string& directory, std::uint64_t from,
                                       const LinePrinter& print);
/// The last whole epoch, its time, and what stands behind it.
[[nodiscard]] ToolOutcome show_journal_end(const std::string& directory, const LinePrinter& print);

}  // namespace mxkv::server
