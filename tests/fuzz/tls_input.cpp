// A peer by TLS that does what the input says: its records come in any parts, changed, dropped, with anything between them, and
// its socket ends anywhere. Whatever the stream then returns goes together, and no call asserts.
//
// The same input is the same run: random numbers are a sequence that begins anew with each input, and nothing asks for the time.
#include <openssl/rand.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/net/tls/openssl.hpp"
#include "server/net/tls/tls_stream.hpp"
#include "tests/fuzz/inputs.hpp"
#include "tests/unit/server/net/tls/certificate_files.hpp"
#include "tests/unit/server/net/tls/scripted_peer.hpp"

namespace mxkv::fuzz {
namespace {

using server::TlsContext;
using server::TlsStream;
using tls_outcome = TlsStream::outcome;

/// Numbers in place of OpenSSL's random ones, so that the same input makes the same records.
class CountedNumbers {
 public:
  static void begin() {
    static const bool installed = install();
    static_cast<void>(installed);
    state_ = 1;
  }

 private:
  static bool install() {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    static const RAND_METHOD method{nullptr, &fill, nullptr, nullptr, &fill, &ready};
    return RAND_set_rand_method(&method) == 1;
#pragma GCC diagnostic pop
  }
  static int ready() { return 1; }
  static int fill(unsigned char* to, int count) {
    for (int i = 0; i < count; ++i) {
      state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
      to[i] = static_cast<unsigned char>(state_ >> 56U);
    }
    return 1;
  }
  static inline std::uint64_t state_ = 1;
};

/// Certificates and contexts, made once.
struct Sides {
  Sides() {
    std::vector<server::TlsFlaw> flaws;
    std::vector<std::string> doubts;
    accepts = TlsContext::read(files.options(), flaws, doubts);
    connects = TlsContext::read(files.options_of_node(), flaws, doubts);
  }
  server::test::CertificateFiles files{"fuzz"};
  std::shared_ptr<const TlsContext> accepts;
  std::shared_ptr<const TlsContext> connects;  ///< of a node, which shows a certificate and asks for one
  server::test::ConnectingContext client;
};

class Script {
 public:
  Script(std::string_view input, const Sides& sides) : input_(input) {
    ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_.data());
    const bool connects = next() % 2 == 1;
    stream_ = std::make_unique<TlsStream>(connects ? sides.connects : sides.accepts, ends_[1],
                                          connects ? server::tls_side::connects : server::tls_side::accepts);
    peer_.emplace(connects ? sides.connects->get() : sides.client.get(), connects);
    const int small = 4096;
    ::setsockopt(ends_[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  }
  ~Script() {
    stream_.reset();
    close_peer();
    ::close(ends_[1]);
  }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  /// Takes all steps. Returns the first flaw, or nothing.
  std::string run() {
    constexpr int kMostSteps = 400;
    for (int step = 0; step < kMostSteps && !input_.empty() && wrong_.empty(); ++step) {
      act(next());
      if (ERR_peek_error() != 0) {
        wrong_ = "an error is left for the next call";
      }
    }
    return wrong_;
  }

 private:
  std::uint8_t next() {
    if (input_.empty()) {
      return 0;
    }
    const auto byte = static_cast<std::uint8_t>(input_.front());
    input_.remove_prefix(1);
    return byte;
  }
  void act(std::uint8_t what) {
    switch (what % 16) {
      case 0:
        deliver(pending_.size());
        break;
      case 1:
        deliver(next());
        break;
      case 2:
        if (const std::size_t at = next(); at < pending_.size()) {
          pending_[at] = static_cast<char>(static_cast<unsigned char>(pending_[at]) ^ (1U << (what >> 5U)));
        }
        break;
      case 3:
        pending_.erase(0, next());
        break;
      case 4: {
        const std::size_t bytes = std::min<std::size_t>(next(), input_.size());
        pending_.append(input_.substr(0, bytes));
        input_.remove_prefix(bytes);
        break;
      }
      case 5:
        say(next());
        break;
      case 6:
        pending_ += peer_->say_end();
        break;
      case 7:
        ::shutdown(ends_[0], SHUT_WR);
        break;
      case 8:
        close_peer();
        break;
      case 9:
        write(next());
        break;
      case 10:
        read(next());
        break;
      case 11:
        pending_ += peer_->shake_hands();
        break;
      case 12:
        shake_hands();
        break;
      case 13:
        hear();
        break;
      case 14:
        static_cast<void>(stream_->held_bytes());
        static_cast<void>(stream_->give_buffers());
        if (const bool ends = stream_->ends_now(); !ends && end_ != tls_outcome::done) {
          wrong_ = "a stream that is over says that more may come";
        }
        break;
      default:
        for (int round = 0; round < 4; ++round) {  // both are honest for a while
          pending_ += peer_->shake_hands();
          deliver(pending_.size());
          shake_hands();
          hear();
        }
        break;
    }
  }
  void deliver(std::size_t bytes) {
    bytes = std::min(bytes, pending_.size());
    if (ends_[0] >= 0) {
      server::test::send_bytes(ends_[0], std::string_view{pending_}.substr(0, bytes));
    }
    pending_.erase(0, bytes);
  }
  void close_peer() {
    if (ends_[0] >= 0) {
      ::close(std::exchange(ends_[0], -1));
    }
  }
  void hear() {
    if (ends_[0] >= 0) {
      peer_->hear(server::test::bytes_there(ends_[0]));
      heard_ += peer_->understood();
      if (!written_.starts_with(heard_)) {
        wrong_ = "the peer understood what was not said";
      }
    }
  }
  void say(std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes + 1; ++i) {
      text += static_cast<char>('a' + (said_.size() + i) % 26);
    }
    if (const std::string record = peer_->say(text); peer_->shook_hands()) {
      said_ += text;
      pending_ += record;
    }
  }
  /// What a call returns has to follow from what calls returned before.
  void judge(tls_outcome how) {
    if (end_ == tls_outcome::failed && how != tls_outcome::failed) {
      wrong_ = "a stream that failed goes on";
    }
    if (end_ == tls_outcome::ended && how != tls_outcome::ended && how != tls_outcome::failed) {
      wrong_ = "a stream that ended goes on";
    }
    if (how == tls_outcome::ended || how == tls_outcome::failed) {
      end_ = how;
    }
  }
  void shake_hands() { judge(stream_->shake_hands(true)); }
  void read(std::size_t room) {
    std::string buffer(room + 1, '\0');
    const TlsStream::Moved got = stream_->read(buffer, room % 2 == 0);
    judge(got.how);
    read_.append(buffer, 0, got.bytes);
    if (got.bytes == 0 && got.how == tls_outcome::done) {
      wrong_ = "a read of nothing says that there is more";
    }
    if (!said_.starts_with(read_)) {
      wrong_ = "what was read is not what was said";
    }
  }
  void write(std::size_t bytes) {
    // A record that waits for the socket is offered again, as it was.
    if (unsent_.empty()) {
      unsent_.assign(32 * (bytes + 1), static_cast<char>('A' + bytes % 26));
    }
    const TlsStream::Moved sent = stream_->write(unsent_);
    if (end_ == tls_outcome::failed || sent.how == tls_outcome::failed) {
      judge(sent.how);
    }
    if (sent.bytes > 0) {
      written_.append(unsent_, 0, sent.bytes);
      unsent_.clear();
    } else if (sent.how != tls_outcome::wants_output) {
      unsent_.clear();
    }
  }

  std::string_view input_;
  std::array<int, 2> ends_{-1, -1};
  std::unique_ptr<TlsStream> stream_;
  std::optional<server::test::ScriptedPeer> peer_;
  std::string pending_;  ///< of the peer's, that are not delivered
  std::string said_;
  std::string read_;
  std::string written_;
  std::string unsent_;
  std::string heard_;
  tls_outcome end_ = tls_outcome::done;
  std::string wrong_;
};

}  // namespace

std::string check_tls_input(std::string_view input) {
  CountedNumbers::begin();
  static const Sides sides;
  CountedNumbers::begin();
  return Script{input, sides}.run();
}

}  // namespace mxkv::fuzz
