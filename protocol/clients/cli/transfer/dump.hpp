// Items on their way to a file or out of one, in either of two forms: JSON lines (json_lines.hpp), which people and other
// programs can read, and blocks (block_file.hpp), which are smaller and faster. Both tell where they end, and carry
// checksums: of a file that was cut or changed nothing passes for whole.
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
  std::uint64_t unique = 0;   ///< 0: not told
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
  /// What is complete is in the file.
  virtual void flush() = 0;
  /// Writes the end. Nothing may be added then.
  virtual void finish(const DumpTotals& totals) = 0;
};

/// Thread-safety: one thread.
class DumpReader {
 public:
  DumpReader() = default;
  DumpReader(const DumpReader&) = delete;
  DumpReader& operator=(const DumpReader&) = delete;
  virtual ~DumpReader() = default;

  /// False: the end, and all was whole. Throws Failure (Outcome::file), with line or offset, where it is not.
  [[nodiscard]] virtual bool next(Item& item) = 0;
  /// Where the item lies that was handed out last.
  [[nodiscard]] virtual std::string place() const = 0;
  /// Bytes from the beginning that hold whole records, all of which were handed out.
  [[nodiscard]] virtual std::uint64_t whole_bytes() const = 0;
  /// What the file says it holds: prefix, bounds. Known after the first next().
  [[nodiscard]] virtual const std::string& range_text() const = 0;
};

enum class DumpForm { json_lines, blocks };

/// Begins a file; `range_text` says what it holds.
[[nodiscard]] std::unique_ptr<DumpWriter> begin_dump(DumpForm form, OutputFile& file,
                                                     const std::string& range_text, bool compressed);
/// Goes on behind `whole` bytes of a file that was cut; the rest is gone.
[[nodiscard]] std::unique_ptr<DumpWriter> resume_dump(DumpForm form, OutputFile& file, InputFile& before,
                                                      bool compressed);
/// Tells the form by the first bytes.
[[nodiscard]] std::unique_ptr<DumpReader> open_dump(InputFile& file);

/// What stands in a file that was not finished.
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
