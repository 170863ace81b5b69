// The only door to libzstd: blocks of a checkpoint, compressed each by itself.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace mxkv::server {

/// Thread-safety: one thread at a time.
class Compressor {
 public:
  Compressor();
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  /// Replaces `out`. False: it does not get smaller.
  [[nodiscard]] bool compress(std::string_view bytes, std::string& out);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

/// Thread-safety: one thread at a time.
class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  /// Replaces `out` by what was `raw_bytes` before. False: it is not.
  [[nodiscard]] bool decompress(std::string_view bytes, std::size_t raw_bytes, std::string& out);
  /// The same, of the first bytes only, as many as there are up to `most`.
  [[nodiscard]] bool begin_of(std::string_view bytes, std::size_t most, std::string& out);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace mxkv::server
