// However and wherever a TLS connection ends: all bytes before the end are delivered, every later call reports the end, and
// no call asserts.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "server/net/tls/tls_stream.hpp"
#include "tests/unit/server/net/tls/scripted_peer.hpp"
#include "tests/unit/server/net/tls/tls_peer.hpp"

namespace mxkv::server::test {
namespace {

using outcome = TlsStream::outcome;

struct Driven {
  std::string text;
  outcome how;
};

/// Acts like a worker with a readable stream: reads small parts until the stream says why it stops.
Driven drive(TlsStream& stream) {
  std::string text;
  if (const outcome how = stream.shake_hands(true); how != outcome::done) {
    return {text, how};
  }
  std::array<char, 5> buffer{};
  for (;;) {
    const TlsStream::Moved got = stream.read(buffer, true);
    if (got.bytes == 0) {
      return {text, got.how};
    }
    text.append(buffer.data(), got.bytes);
  }
}

bool is_end(outcome how) {
  return how == outcome::ended || how == outcome::failed;
}

/// Every call reports the same end, in any order and as often as it is made.
void expect_over(TlsStream& stream, outcome end) {
  std::array<char, 16> buffer{};
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(stream.shake_hands(again == 0), end);
    const TlsStream::Moved got = stream.read(buffer, again == 0);
    EXPECT_EQ(got.bytes, 0U);
    EXPECT_EQ(got.how, end);
    static_cast<void>(stream.held_bytes());
    static_cast<void>(stream.give_buffers());
  }
  for (int again = 0; again < 2; ++again) {
    const TlsStream::Moved sent = stream.write(std::string_view{"END\r\n"});
    if (end == outcome::failed) {
      EXPECT_EQ(sent.how, outcome::failed);
    }
    if (sent.how == outcome::failed) {
      EXPECT_EQ(stream.read(buffer, true).how, outcome::failed)
          << "a write that failed is the end of reading, too";
      EXPECT_EQ(stream.shake_hands(true), outcome::failed);
    }
  }
  stream.end();
  EXPECT_EQ(ERR_peek_error(), 0U) << "the next call finds no old errors";
}

/// A stream and its peer, connected by a socket.
class TlsEnds : public testing::Test {
 protected:
  void begin() {
    finish();
    ends_ = sockets();
    stream_ = std::make_unique<TlsStream>(context_, ends_[1]);
    peer_ = std::make_unique<ScriptedPeer>(connecting_.get());
  }
  void begin_shaken() {
    begin();
    for (int round = 0; round < 10 && !(peer_->shook_hands() && shaken_); ++round) {
      peer_->hear(bytes_there(ends_[0]));
      send_bytes(ends_[0], peer_->shake_hands());
      shaken_ = stream_->shake_hands(false) == outcome::done;
    }
    ASSERT_TRUE(shaken_);
  }
  void finish() {
    stream_.reset();
    peer_.reset();
    shaken_ = false;
    for (int& end : ends_) {
      if (end >= 0) {
        ::close(std::exchange(end, -1));
      }
    }
  }
  void TearDown() override { finish(); }
  void expect_ended(const Driven& driven) {
    EXPECT_TRUE(is_end(driven.how)) << static_cast<int>(driven.how);
    expect_over(*stream_, driven.how);
  }

  Files files_{"ends"};
  std::shared_ptr<const TlsContext> context_ = files_.context();
  ConnectingContext connecting_;
  std::array<int, 2> ends_{-1, -1};
  std::unique_ptr<TlsStream> stream_;
  std::unique_ptr<ScriptedPeer> peer_;
  bool shaken_ = false;
};

TEST_F(TlsEnds, AHandshakeThatIsCutAtAnyByte) {
  begin();
  const std::size_t hello = peer_->shake_hands().size();
  ASSERT_GT(hello, 100U);
  for (const ending how : kEndings) {
    for (std::size_t at = 0; at <= hello; ++at) {
      SCOPED_TRACE(std::string{name_of(how)} + " behind " + std::to_string(at) + " bytes");
      begin();
      end_by(ends_[0], how, peer_->shake_hands().substr(0, at));
      expect_ended(drive(*stream_));
    }
  }
}

TEST_F(TlsEnds, AHandshakeWhoseLastBytesAreCutAnywhere) {
  std::size_t finish = 1;
  for (const ending how : kEndings) {
    for (std::size_t at = 0; at <= finish; at += 3) {
      SCOPED_TRACE(std::string{name_of(how)} + " behind " + std::to_string(at) + " bytes");
      begin();
      send_bytes(ends_[0], peer_->shake_hands());
      EXPECT_EQ(drive(*stream_).how, outcome::wants_input);
      peer_->hear(bytes_there(ends_[0]));
      const std::string last = peer_->shake_hands();
      finish = last.size();
      end_by(ends_[0], how, last.substr(0, at));
      expect_ended(drive(*stream_));
    }
  }
}

TEST_F(TlsEnds, WholeRecordsAreDeliveredBeforeTheEnd) {
  const std::string_view first = "get a\r\n";
  const std::string_view second = "get bb\r\n";
  begin_shaken();
  const std::size_t one = peer_->say(first).size();
  const std::size_t both = one + peer_->say(second).size();
  for (const ending how : kEndings) {
    for (std::size_t at = 0; at <= both; ++at) {
      SCOPED_TRACE(std::string{name_of(how)} + " behind " + std::to_string(at) + " bytes");
      begin_shaken();
      std::string records = peer_->say(first);
      records += peer_->say(second);
      ASSERT_EQ(records.size(), both);
      // The first byte of an alert may be the byte that a record lacks.
      const std::string sent = records.substr(0, at).append(last_bytes(how));
      end_by(ends_[0], how, records.substr(0, at));
      const Driven driven = drive(*stream_);
      EXPECT_EQ(driven.text, sent.starts_with(records)                  ? std::string{first}.append(second)
                             : sent.starts_with(records.substr(0, one)) ? std::string{first}
                                                                        : "");
      expect_ended(driven);
    }
  }
}

TEST_F(TlsEnds, AnErrorBehindAGoodRecordIsReportedByTheNextCall) {
  for (const bool writes : {false, true}) {
    begin_shaken();
    end_by(ends_[0], ending::junk_record, peer_->say("mn\r\n"));
    std::array<char, 100> buffer{};
    const TlsStream::Moved got = stream_->read(buffer, false);
    EXPECT_EQ(got.bytes, 4U);
    EXPECT_EQ(got.how, outcome::done) << "there is something behind it";
    if (writes) {
      EXPECT_EQ(stream_->write(std::string_view{"MN\r\n"}).how, outcome::failed);
    }
    EXPECT_EQ(stream_->read(buffer, false).how, outcome::failed);
    EXPECT_NE(stream_->reason(), "");
    expect_over(*stream_, outcome::failed);
  }
}

TEST_F(TlsEnds, ACloseNotifyIsReportedAfterItsBytesAndLeavesTheOtherDirectionOpen) {
  begin_shaken();
  send_bytes(ends_[0], peer_->say("get k\r\n"));
  send_bytes(ends_[0], peer_->say_end());
  const Driven driven = drive(*stream_);
  EXPECT_EQ(driven.text, "get k\r\n");
  EXPECT_EQ(driven.how, outcome::ended);
  EXPECT_EQ(stream_->write(std::string_view{"END\r\n"}).bytes, 5U);
  EXPECT_EQ(drive(*stream_).how, outcome::ended);
}

TEST_F(TlsEnds, AnEndIsSeenBeforeItIsReadAndOnlyWhereNothingIsUnread) {
  for (const ending how : kEndings) {
    for (const bool says : {false, true}) {
      SCOPED_TRACE(std::string{name_of(how)} + (says ? " behind a record" : ""));
      begin_shaken();
      EXPECT_FALSE(stream_->ends_now());
      end_by(ends_[0], how, says ? peer_->say("mn\r\n") : "");
      EXPECT_EQ(stream_->ends_now(), !says);
      const Driven driven = drive(*stream_);
      EXPECT_EQ(driven.text, says ? "mn\r\n" : "") << "to look takes nothing away";
      EXPECT_TRUE(stream_->ends_now());
      expect_ended(driven);
    }
  }
}

TEST_F(TlsEnds, ARecordThatWaitsForTheSocketWhenThePeerEnds) {
  const std::string record(TlsStream::kRecordBytes, 'r');
  for (const ending how : kEndings) {
    SCOPED_TRACE(name_of(how));
    begin_shaken();
    outcome sent = outcome::done;
    while ((sent = stream_->write(record).how) == outcome::done) {
    }
    ASSERT_EQ(sent, outcome::wants_output);
    end_by(ends_[0], how);
    const Driven driven = drive(*stream_);
    EXPECT_TRUE(is_end(driven.how));
    if (driven.how == outcome::failed) {
      expect_over(*stream_, outcome::failed);
    } else if (how == ending::half_close) {  // all replies may still reach it
      while ((sent = stream_->write(record).how) == outcome::wants_output) {
        peer_->hear(bytes_there(ends_[0]));
      }
      EXPECT_EQ(sent, outcome::done);
    }
  }
}

}  // namespace
}  // namespace mxkv::server::test
