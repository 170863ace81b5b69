// Items on their way to a file or out of one, in either of two formats: JSON lines (json_lines.hpp), which people and other
// programs can read, and blocks (block_file.hpp), which are smaller and faster. Both mark their end and carry checksums, so
// that a truncated or changed file is never taken for a complete one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "protocol/clients/cli/transfer/input_file.hpp"
#include "protocol/clients/cli/transfer/output_file.hpp"

namespace mxkv::cli {

struct Item {
  std::string key{};
  std::string value{};
  std::uint32_t flags = 0;
  std::uint64_t expires = 0;  ///< unix time; 0: never
  std::uint64_t unique = 0;   ///< 0: not in the file
};

struct DumpTotals {
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;  ///< of keys and values
};

/// Thread-safety: one thread.
class DumpWriter {
 public:
  DumpWriter() = default;
  DumpWriter(const DumpWriter&) = delete;
  DumpWriter& operator=(const DumpWriter&) = delete;
  virtual ~DumpWriter() = default;

  virtual void add(const Item& item) = 0;
  /// Writes complete records and blocks to the file.
  virtual void flush() = 0;
  /// Writes the end. Call add() no more.
  virtual void finish(const DumpTotals& totals) = 0;
};

/// Thread-safety: one thread.
class DumpReader {
 public:
  DumpReader() = default;
  DumpReader(const DumpReader&) = delete;
  DumpReader& operator=(const DumpReader&) = delete;
  virtual ~DumpReader() = default;

  /// Returns false at the end of a complete file. Throws Failure (Outcome::file), with line or offset, if it is damaged.
  [[nodiscard]] virtual bool next(Item& item) = 0;
  /// The place of the last returned item.
  [[nodiscard]] virtual std::string place() const = 0;
  /// The length of the file's beginning whose records are complete and were all returned.
  [[nodiscard]] virtual std::uint64_t whole_bytes() const = 0;
  /// The range that the file says it holds: prefix, bounds. Known after the first next().
  [[nodiscard]] virtual const std::string& range_text() const = 0;
};

enum class DumpForm { json_lines, blocks };

/// Begins a file; `range_text` describes its range.
[[nodiscard]] std::unique_ptr<DumpWriter> begin_dump(DumpForm form, OutputFile& file,
                                                     const std::string& range_text, bool compressed);
/// Continues a truncated file behind its complete part; the rest is gone.
[[nodiscard]] std::unique_ptr<DumpWriter> resume_dump(DumpForm form, OutputFile& file, InputFile& before,
                                                      bool compressed);
/// Detects the format from the first bytes.
[[nodiscard]] std::unique_ptr<DumpReader> open_dump(InputFile& file);

/// The complete part of an unfinished file.
struct DumpSurvey {
  DumpTotals totals{};
  std::uint64_t whole_bytes = 0;
  std::string last_key{};
  std::string range_text{};
  DumpForm form = DumpForm::json_lines;
  bool finished = false;
};
[[nodiscard]] DumpSurvey survey_dump(InputFile& file);

}  // namespace mxkv::cli
