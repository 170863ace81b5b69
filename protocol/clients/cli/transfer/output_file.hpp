// A file that has its name only when it is whole: until then it is PATH.part. Or standard output, or memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mxkv::cli {

/// Thread-safety: one thread.
class OutputFile {
 public:
  /// Empty: standard output. What PATH.part holds beyond `keep` bytes is cut off. Throws Failure (Outcome::file).
  explicit OutputFile(const std::string& path, std::uint64_t keep = 0);
  /// Into memory.
  struct Memory {};
  explicit OutputFile(Memory /*where*/) : memory_(true) {}
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::string_view bytes);
  /// To the system; what was written before outlives this program then.
  void flush();
  /// All of it is on disk, and the file gets its name.
  void commit();

  [[nodiscard]] const std::string& bytes() const noexcept { return buffer_; }  ///< of memory

 private:
  std::string path_;
  std::string part_;
  int descriptor_ = -1;
  bool memory_ = false;
  bool to_terminal_ = false;  ///< which gets no escape sequences
  std::string buffer_;
};

/// Where a file lies until it is whole.
[[nodiscard]] std::string part_name(const std::string& path);

}  // namespace mxkv::cli
