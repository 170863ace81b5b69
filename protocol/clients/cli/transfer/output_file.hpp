// A file that gets its name when it is complete; until then it is PATH.part. Or standard output, or memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mxkv::cli {

/// Thread-safety: one thread.
class OutputFile {
 public:
  /// An empty path is standard output. Bytes of PATH.part behind `keep` are cut off. Throws Failure (Outcome::file).
  explicit OutputFile(const std::string& path, std::uint64_t keep = 0);
  /// Writes into memory.
  struct Memory {};
  explicit OutputFile(Memory /*where*/) : memory_(true) {}
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::string_view bytes);
  /// Hands all written bytes to the operating system, so that they outlive this program.
  void flush();
  /// Flushes the file to disk, and then gives it its name.
  void commit();

  [[nodiscard]] const std::string& bytes() const noexcept {
    return buffer_;
  }  ///< the written bytes, if into memory

 private:
  std::string path_;
  std::string part_;
  int descriptor_ = -1;
  bool memory_ = false;
  bool to_terminal_ = false;  ///< a terminal gets no escape sequences
  std::string buffer_;
};

/// The name of an unfinished file.
[[nodiscard]] std::string part_name(const std::string& path);

}  // namespace mxkv::cli
