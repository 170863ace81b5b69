// A connection to the server: sends requests, hands out replies in their order.
//
// What is sent may be more than the server takes at once: while sending it also takes in what comes, so that neither
// side waits for the other. A failure on the way leaves replies that nobody can tell apart: the connection is of no
// use then, and its owner dials again.
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

  /// All of it. Throws Failure: unreachable, interrupted.
  void send(std::string_view bytes);

  /// The next line without its end. Good until the next call.
  [[nodiscard]] std::string_view line();
  /// The next reply of a meta command, with its value. Good until the next call. Throws Failure where the server sent
  /// something else.
  [[nodiscard]] MetaReply reply();
  /// The next `bytes` bytes. Good until the next call.
  [[nodiscard]] std::string_view data(std::size_t bytes);
  /// Whether something is there without waiting longer than `patience`. False: not in time.
  [[nodiscard]] bool wait(Milliseconds patience);

  /// Nothing is owed to anybody, and the server has not closed it.
  [[nodiscard]] bool idle_and_open();
  [[nodiscard]] const std::string& server() const noexcept { return server_; }
  [[nodiscard]] Milliseconds patience() const noexcept { return patience_; }

 private:
  /// Takes in what is there; false: nothing is. Throws when the server closed.
  bool take_in();
  void await_more();
  [[nodiscard]] std::string_view waiting() const noexcept;
  void release() noexcept;
  [[noreturn]] void lost();

  std::unique_ptr<Stream> stream_;
  std::string server_;
  Milliseconds patience_;
  std::string input_;      ///< what came, from begin_ to end_
  std::size_t begin_ = 0;  ///< the first byte not handed out
  std::size_t end_ = 0;
  std::size_t handed_ = 0;                              ///< bytes handed out by the last call
  Stream::Status wanted_ = Stream::Status::wants_read;  ///< what receiving waits for
};

}  // namespace mxkv::cli
