// A connection to the server: sends requests, hands out replies in their order.
//
// A request may be larger than the server's buffers. So send() also receives, and client and server never
// wait for each other. After a failure, replies can no longer be matched with requests. The owner then drops
// the connection and connects again.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "protocol/clients/cli/connection/stream.hpp"
#include "protocol/clients/cli/wire/meta_reply.hpp"

namespace mxkv::cli {

/// Thread-safety: one thread.
class Connection {
 public:
  Connection(std::unique_ptr<Stream> stream, std::string server, Milliseconds patience);

  /// Sends all bytes. Throws Failure: unreachable, interrupted.
  void send(std::string_view bytes);

  /// The next line without its end. Good until the next call.
  [[nodiscard]] std::string_view line();
  /// The next reply of a meta command, with its value. Good until the next call. Throws Failure where the server sent
  /// something else.
  [[nodiscard]] MetaReply reply();
  /// The next `bytes` bytes. Good until the next call.
  [[nodiscard]] std::string_view data(std::size_t bytes);
  /// Waits at most `patience` for input. Returns whether there is any.
  [[nodiscard]] bool wait(Milliseconds patience);

  /// Whether no reply is outstanding and the server has not closed the connection.
  [[nodiscard]] bool idle_and_open();
  [[nodiscard]] const std::string& server() const noexcept { return server_; }
  [[nodiscard]] Milliseconds patience() const noexcept { return patience_; }

 private:
  /// Receives the bytes that have come. Returns false if there are none. Throws if the server closed the
  /// connection.
  bool take_in();
  void await_more();
  [[nodiscard]] std::string_view waiting() const noexcept;
  void release() noexcept;
  [[noreturn]] void lost();

  std::unique_ptr<Stream> stream_;
  std::string server_;
  Milliseconds patience_;
  std::string input_;      ///< received bytes, from begin_ to end_
  std::size_t begin_ = 0;  ///< the first byte not handed out
  std::size_t end_ = 0;
  std::size_t handed_ = 0;                              ///< bytes handed out by the last call
  Stream::Status wanted_ = Stream::Status::wants_read;  ///< the readiness that receiving waits for
};

}  // namespace mxkv::cli
