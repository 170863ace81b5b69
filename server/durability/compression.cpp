#include "server/durability/compression.hpp"

#include <zstd.h>

#include <new>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

namespace {
constexpr int kLevel = 1;  // fast: a checkpoint competes with requests
}

struct Compressor::Context {
  ZSTD_CCtx* zstd;
};

Compressor::Compressor() : context_(std::make_unique<Context>(Context{ZSTD_createCCtx()})) {
  if (context_->zstd == nullptr) {
    throw std::bad_alloc{};
  }
}

Compressor::~Compressor() {
  ZSTD_freeCCtx(context_->zstd);
}

bool Compressor::compress(std::string_view bytes, std::string& out) {
  out.resize(ZSTD_compressBound(bytes.size()));
  const std::size_t made =
      ZSTD_compressCCtx(context_->zstd, out.data(), out.size(), bytes.data(), bytes.size(), kLevel);
  MXKV_ASSERT(ZSTD_isError(made) != 0 || made <= out.size(), "what is compressed stays in its room");
  const bool smaller = ZSTD_isError(made) == 0 && made < bytes.size();
  out.resize(smaller ? made : 0);
  return smaller;
}

struct Decompressor::Context {
  ZSTD_DCtx* zstd;
};

Decompressor::Decompressor() : context_(std::make_unique<Context>(Context{ZSTD_createDCtx()})) {
  if (context_->zstd == nullptr) {
    throw std::bad_alloc{};
  }
}

Decompressor::~Decompressor() {
  ZSTD_freeDCtx(context_->zstd);
}

bool Decompressor::decompress(std::string_view bytes, std::size_t raw_bytes, std::string& out) {
  out.resize(raw_bytes);
  return ZSTD_decompressDCtx(context_->zstd, out.data(), out.size(), bytes.data(), bytes.size()) == raw_bytes;
}

bool Decompressor::begin_of(std::string_view bytes, std::size_t most, std::string& out) {
  out.resize(most);
  ZSTD_DCtx_reset(context_->zstd, ZSTD_reset_session_only);
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  while (to.pos < to.size) {
    const std::size_t before = in.pos + to.pos;
    const std::size_t left = ZSTD_decompressStream(context_->zstd, &to, &in);
    MXKV_ASSERT(to.pos <= most && in.pos <= bytes.size(), "zstd stays in the room that it is given");
    if (ZSTD_isError(left) != 0) {
      return false;
    }
    if (left == 0 || in.pos + to.pos == before) {
      break;
    }
  }
  out.resize(to.pos);
  return true;
}

}  // namespace mxkv::server
