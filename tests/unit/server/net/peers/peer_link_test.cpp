// A TLS connection to another node that ends in any way and anywhere: each request is answered or lost, exactly once, and
// the link connects again.
#include "server/net/peers/peer_link.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/server/net/sockets/loopback_listener.hpp"
#include "tests/unit/server/net/tls/scripted_peer.hpp"
#include "tests/unit/server/net/tls/tls_peer.hpp"

namespace mxkv::server::test {
namespace {

constexpr std::string_view kAsked = "get key\r\n";
constexpr std::string_view kReply = "END\r\n";

/// The stage at which a node stops: it has the bytes for the next step, and does not send them.
enum class node_stage { greets, answers, rests, never };

/// A node that replies to each request until the stage at which it stops.
class FalseNode {
 public:
  explicit FalseNode(const Files& files) : context_(context_of(files.options_of_node())) {
    EXPECT_EQ(::fcntl(listener_.socket(), F_SETFL, O_NONBLOCK), 0);
  }
  ~FalseNode() { forget(); }
  FalseNode(const FalseNode&) = delete;
  FalseNode& operator=(const FalseNode&) = delete;

  [[nodiscard]] std::string address() const { return listener_.address(); }
  void stop_at(node_stage at) { stops_at_ = at; }
  /// The bytes that it would send next; empty: it has not reached its last stage.
  [[nodiscard]] const std::optional<std::string>& next() const { return next_; }
  void end(ending how, std::size_t bytes) {
    end_by(socket_, how, next_->substr(0, bytes));
    next_.reset();
    stops_at_ = node_stage::never;
    peer_.reset();
  }
  /// Its connection has ended, so that it accepts the next one.
  void forget() {
    peer_.reset();
    next_.reset();
    heard_.clear();
    if (socket_ >= 0) {
      ::close(std::exchange(socket_, -1));
    }
  }
  void step() {
    if (peer_ == nullptr) {
      const int accepted = ::accept4(listener_.socket(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (accepted < 0) {
        return;
      }
      forget();
      socket_ = accepted;
      const int on = 1;
      ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      peer_ = std::make_unique<ScriptedPeer>(context_->get(), true);
    }
    const std::string came = bytes_there(socket_);
    if (came.empty() || next_) {
      return;
    }
    peer_->hear(came);
    if (!peer_->shook_hands()) {
      give(peer_->shake_hands(), node_stage::greets);
    }
    for (heard_ += peer_->understood(); heard_.starts_with(kAsked); heard_.erase(0, kAsked.size())) {
      give(peer_->say(kReply), node_stage::answers);
      if (stops_at_ == node_stage::rests) {
        next_ = peer_->say(kReply);
      }
    }
  }

 private:
  void give(const std::string& bytes, node_stage at) {
    if (bytes.empty()) {
      return;
    }
    if (stops_at_ == at) {
      next_ = bytes;
    } else {
      send_bytes(socket_, bytes);
    }
  }

  std::shared_ptr<const TlsContext> context_;
  LoopbackListener listener_;
  int socket_ = -1;
  std::unique_ptr<ScriptedPeer> peer_;
  std::string heard_;
  node_stage stops_at_ = node_stage::never;
  std::optional<std::string> next_;
};

class PeerLinkEnds : public testing::Test, public PeerLinkOwner {
 protected:
  void answered(std::unique_ptr<ForwardedRequest> /*request*/, std::string_view reply) override {
    EXPECT_EQ(reply, kReply);
    ++answered_;
  }
  void lost(std::unique_ptr<ForwardedRequest> /*request*/, bool /*sent*/) override { ++lost_; }
  void complained(const std::string& address, const std::string& why) override {
    EXPECT_EQ(address, node_.address());
    EXPECT_NE(why, "");
  }

  /// Another link, which has not connected.
  void begin() {
    node_.forget();
    link_.emplace(*this, events_, counters_, rules_, node_.address());
  }
  void ask() {
    auto request = std::make_unique<ForwardedRequest>();
    request->text = kAsked;
    now_ns_ += 10'000'000'000;  // every pause between attempts is over
    link_->send(std::move(request), now_ns_);
  }
  void step() {
    static_cast<void>(events_.take([](PeerLink& link, Readiness now) { link.became_ready(now); }));
    if (link_->ready()) {
      link_->read(now_ns_);
    }
    link_->flush(now_ns_);
    node_.step();
  }
  /// An upper bound on waiting, never a measure.
  template <class F>
  [[nodiscard]] bool step_until(const F& what) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{120};
    for (int steps = 0; !what(); ++steps) {
      if (std::chrono::steady_clock::now() > end) {
        return false;
      }
      step();
      if (steps % 8 == 7) {
        std::this_thread::sleep_for(std::chrono::microseconds{100});
      }
    }
    return true;
  }
  /// The link connects again and gets replies. The first requests may be lost if it has not noticed yet that the node left.
  void expect_answer() {
    node_.stop_at(node_stage::never);
    for (int tries = 0; tries < 10; ++tries) {
      const int answers = answered_;
      const int losses = lost_;
      ask();
      ASSERT_TRUE(step_until([&] { return answered_ + lost_ > answers + losses; }));
      EXPECT_FALSE(link_->busy());
      if (answered_ > answers) {
        return;
      }
    }
    FAIL() << "it does not connect again";
  }

  Files files_{"link"};
  TlsDoor tls_{files_.options_of_node(), context_of(files_.options_of_node())};
  FalseNode node_{files_};
  SocketEvents<PeerLink> events_;
  ForwardCounters counters_;
  PeerLinkRules rules_{
      .connect_ns = ~std::uint64_t{0} >> 1U, .answer_ns = ~std::uint64_t{0} >> 1U, .tls = &tls_};
  std::optional<PeerLink> link_;
  std::uint64_t now_ns_ = 1;
  int answered_ = 0;
  int lost_ = 0;
};

TEST_F(PeerLinkEnds, AnHonestNodeAnswers) {
  begin();
  for (int i = 0; i < 3; ++i) {
    expect_answer();
  }
  EXPECT_EQ(lost_, 0);
}

TEST_F(PeerLinkEnds, InAnyWayInTheHandshakeAndInAReply) {
  for (const node_stage at : {node_stage::greets, node_stage::answers}) {
    for (const ending how : kEndings) {
      std::size_t bytes = 0;
      for (std::size_t cut = 0; cut <= bytes; cut += cut < 2 ? 1 : 127) {
        SCOPED_TRACE(std::string{name_of(how)} + " at stage " + std::to_string(static_cast<int>(at)) +
                     ", byte " + std::to_string(cut));
        const int done = answered_ + lost_;
        begin();
        node_.stop_at(at);
        ask();
        ASSERT_TRUE(step_until([&] { return node_.next().has_value(); }));
        bytes = node_.next()->size();
        node_.end(how, cut);
        ASSERT_TRUE(step_until([&] { return answered_ + lost_ == done + 1; }));
        EXPECT_FALSE(link_->busy());
        ASSERT_NO_FATAL_FAILURE(expect_answer());
      }
    }
  }
}

// The next send may notice the end instead of a read.
TEST_F(PeerLinkEnds, InAnyWayWhereNothingIsOwed) {
  for (const ending how : kEndings) {
    for (const std::size_t cut : {0U, 3U, 10U}) {
      SCOPED_TRACE(std::string{name_of(how)} + " behind " + std::to_string(cut) + " bytes");
      const int done = answered_ + lost_;
      begin();
      node_.stop_at(node_stage::rests);
      ask();
      ASSERT_TRUE(step_until([&] { return answered_ + lost_ == done + 1 && node_.next().has_value(); }));
      node_.end(how, cut);
      ask();
      ASSERT_TRUE(step_until([&] { return answered_ + lost_ == done + 2; }));
      ASSERT_NO_FATAL_FAILURE(expect_answer());
    }
  }
}

}  // namespace
}  // namespace mxkv::server::test
