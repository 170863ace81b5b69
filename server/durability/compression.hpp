// The only user of libzstd: compresses the blocks of a checkpoint, each by itself.
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

  /// Replaces `out`. False: the result would not be smaller.
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

  /// Replaces `out` by the `raw_bytes` original bytes. False: `bytes` are not valid.
  [[nodiscard]] bool decompress(std::string_view bytes, std::size_t raw_bytes, std::string& out);
  /// The same for the first bytes only, up to `most` of them.
  [[nodiscard]] bool begin_of(std::string_view bytes, std::size_t most, std::string& out);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace mxkv::server
