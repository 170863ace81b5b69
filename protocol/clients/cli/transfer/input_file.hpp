// Bytes of a file, of standard input, or of memory, from the first to the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mxkv::cli {

/// Thread-safety: one thread.
class InputFile {
 public:
  /// Opens the file; `-` is standard input. Throws Failure (Outcome::file).
  explicit InputFile(const std::string& path);
  /// Reads memory; errors call it `name`.
  InputFile(std::string name, std::string bytes);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  /// Up to `bytes` bytes from the current place on; less only at the end. Valid until the next call.
  [[nodiscard]] std::string_view peek(std::size_t bytes);
  /// Up to and including the next LF; without one at the end. Valid until the next call.
  [[nodiscard]] std::string_view peek_line();
  void skip(std::size_t bytes) noexcept;

  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// 0 if the size is unknown, as of a pipe.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Rewinds to the beginning. Returns whether that is possible.
  [[nodiscard]] bool rewind();

 private:
  /// Returns false at the end.
  bool read_more();

  std::string name_;
  int descriptor_ = -1;
  std::string buffer_;
  std::size_t begin_ = 0;
  bool ended_ = false;
  std::uint64_t offset_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace mxkv::cli
