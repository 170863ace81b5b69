// TLS over real sockets in one process: OpenSSL's memory, and records that arrive and leave in parts.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "server/net/tls/openssl.hpp"
#include "server/net/tls/tls_stream.hpp"
#include "tests/unit/server/net/tls/tls_peer.hpp"

namespace mxkv::server::test {
namespace {

/// Counts the bytes that OpenSSL has allocated. One thread.
class Count {
 public:
  /// Call before anything of OpenSSL ran.
  static bool install() { return CRYPTO_set_mem_functions(&take, &change, &give) == 1; }
  Count() { counts_ = true; }
  ~Count() { counts_ = false; }
  Count(const Count&) = delete;
  Count& operator=(const Count&) = delete;

  static void clear() { now_ = most_ = 0; }
  static long now() { return now_; }
  static long most() { return most_; }

 private:
  static void note(long bytes) {
    now_ += counts_ ? bytes : 0;
    most_ = std::max(most_, now_);
  }
  static long bytes_of(void* block) { return static_cast<long>(::malloc_usable_size(block)); }
  static void* take(std::size_t bytes, const char* /*file*/, int /*line*/) {
    void* const block = std::malloc(bytes);
    note(bytes_of(block));
    return block;
  }
  static void* change(void* old, std::size_t bytes, const char* /*file*/, int /*line*/) {
    note(-bytes_of(old));
    void* const block = std::realloc(old, bytes);
    note(bytes_of(block));
    return block;
  }
  static void give(void* block, const char* /*file*/, int /*line*/) {
    note(-bytes_of(block));
    std::free(block);
  }
  static inline bool counts_ = false;
  static inline long now_ = 0;
  static inline long most_ = 0;
};

const bool counted = Count::install();

/// Both ends of a connection after the handshake.
struct Pair {
  explicit Pair(const Files& files, const char* suites = "") : Pair(files, sockets(), suites) {}
  Pair(const Files& files, std::array<int, 2> ends, const char* suites)
      : own(ends[1]), stream(files.context(), own), peer(ends[0], suites) {
    for (int round = 0; round < 10; ++round) {
      const bool there = peer.shake_hands();
      done = stream.shake_hands(false) == TlsStream::outcome::done;
      if (there && done) {
        break;
      }
    }
    EXPECT_TRUE(done);
  }
  ~Pair() { ::close(own); }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  int own;
  TlsStream stream;
  Peer peer;
  bool done = false;
};

TEST(TlsStream, ReadsAllRecordsThatAreThereInOneCallAndKnowsThatNoMoreIs) {
  const Files files;
  Pair pair{files};
  for (int i = 0; i < 100; ++i) {
    pair.peer.send("12345");
  }
  std::array<char, 4096> buffer{};
  const TlsStream::Moved got = pair.stream.read(buffer, false);
  EXPECT_EQ(got.bytes, 500U);
  EXPECT_EQ(got.how, TlsStream::outcome::wants_input);
  EXPECT_EQ(pair.stream.held_bytes(), 0U);
  EXPECT_EQ(pair.stream.read(buffer, false).how, TlsStream::outcome::wants_input);
}

TEST(TlsStream, SaysThatThereIsMoreWhereTheRoomIsFull) {
  const Files files;
  Pair pair{files};
  pair.peer.send("1234567890");
  std::array<char, 4> buffer{};
  const TlsStream::Moved first = pair.stream.read(buffer, false);
  EXPECT_EQ(first.bytes, 4U);
  EXPECT_EQ(first.how, TlsStream::outcome::done);
  EXPECT_GT(pair.stream.held_bytes(), 0U);
  EXPECT_EQ(pair.stream.read(buffer, false).bytes, 4U);
  const TlsStream::Moved last = pair.stream.read(buffer, false);
  EXPECT_EQ(last.bytes, 2U);
  EXPECT_EQ(last.how, TlsStream::outcome::wants_input);
}

TEST(TlsStream, ARecordThatTheSocketDoesNotTakeIsOfferedAgain) {
  const Files files;
  Pair pair{files};
  const int small = 4096;
  ::setsockopt(pair.own, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  const std::string record(TlsStream::kRecordBytes, 'r');
  std::size_t taken = 0;
  for (bool takes = true; takes;) {
    const TlsStream::Moved sent = pair.stream.write(record);
    takes = sent.how == TlsStream::outcome::done;
    taken += sent.bytes;
    ASSERT_LT(taken, std::size_t{1} << 24U);
    if (!takes) {
      EXPECT_EQ(sent.how, TlsStream::outcome::wants_output);
      EXPECT_EQ(sent.bytes, 0U);
    }
  }
  std::string all = pair.peer.received();
  while (all.size() < taken + record.size()) {
    if (const TlsStream::Moved again = pair.stream.write(record); again.how == TlsStream::outcome::done) {
      EXPECT_EQ(again.bytes, record.size());
      taken += again.bytes;
      all += pair.peer.received();
      break;
    }
    all += pair.peer.received();
  }
  EXPECT_EQ(all.size(), taken);
}

TEST(TlsStream, AnOrderlyEndDiffersFromAFailure) {
  const Files files;
  std::array<char, 16> buffer{};
  {
    Pair pair{files};
    ::shutdown(pair.own, SHUT_RD);
    EXPECT_EQ(pair.stream.read(buffer, true).how, TlsStream::outcome::ended) << "without a word";
  }
  Pair pair{files};
  pair.stream.end();
  EXPECT_EQ(pair.peer.received(), "");
}

TEST(TlsStream, BytesThatAreNoHandshakeFail) {
  const Files files;
  const std::array<int, 2> ends = sockets();
  TlsStream stream{files.context(), ends[1]};
  EXPECT_EQ(stream.shake_hands(false), TlsStream::outcome::wants_input);
  ASSERT_EQ(::send(ends[0], "get k\r\nget k\r\n", 14, 0), 14);
  EXPECT_EQ(stream.shake_hands(false), TlsStream::outcome::failed);
  EXPECT_NE(stream.reason(), "");
  EXPECT_EQ(ERR_peek_error(), 0U) << "the next call finds no old errors";
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(TlsStream, TakesNoMoreMemoryThanIsCountedForIt) {
  ASSERT_TRUE(counted);
  const Files files;
  const auto context = files.context();
  const Pair once{files};  // OpenSSL's one-time allocations exist now
  const std::array<int, 2> ends = sockets();
  Peer peer{ends[0]};
  Count::clear();
  std::unique_ptr<TlsStream> stream;
  std::array<char, 100> buffer{};
  const auto own = [](const auto& call) {
    const Count counting;
    return call();
  };
  own([&] { return (stream = std::make_unique<TlsStream>(context, ends[1])) != nullptr; });
  for (int round = 0; round < 10; ++round) {
    const bool there = peer.shake_hands();
    if (own([&] { return stream->shake_hands(false); }) == TlsStream::outcome::done && there) {
      break;
    }
  }
  EXPECT_LE(Count::most(), static_cast<long>(TlsStream::kHandshakeBytes));
  EXPECT_GE(Count::most(), static_cast<long>(TlsStream::kHandshakeBytes / 3)) << "it is no wild guess";
  peer.send("get k\r\n");
  own([&] { return stream->read(buffer, false).bytes; });
  own([&] { return stream->write(std::string_view{"END\r\n"}).bytes; });
  const long busy = Count::now();
  EXPECT_LE(busy, static_cast<long>(TlsStream::kIdleBytes + TlsStream::kBuffersBytes));
  EXPECT_TRUE(own([&] { return stream->give_buffers(); }));
  EXPECT_LE(Count::now(), static_cast<long>(TlsStream::kIdleBytes));
  EXPECT_GE(Count::now(), static_cast<long>(TlsStream::kIdleBytes / 3));
  EXPECT_LE(busy - Count::now(), static_cast<long>(TlsStream::kBuffersBytes));
  EXPECT_GE(busy - Count::now(), static_cast<long>(TlsStream::kBuffersBytes / 3 * 2));
  std::printf("idle %ld, busy %ld, handshake %ld\n", Count::now(), busy, Count::most());
  peer.send("get k\r\n");
  EXPECT_EQ(own([&] { return stream->read(buffer, false).bytes; }), 7U)
      << "they are there when they are needed";
  own([&] { return stream.reset(), 0; });
  EXPECT_LE(Count::now(), 0);
  ::close(ends[1]);
}

TEST(TlsStream, KeepsBuffersThatHoldSomething) {
  const Files files;
  Pair pair{files};
  pair.peer.send("1234567890");
  std::array<char, 4> buffer{};
  EXPECT_EQ(pair.stream.read(buffer, false).bytes, 4U);
  EXPECT_FALSE(pair.stream.give_buffers()) << "the rest of the record";
  EXPECT_EQ(pair.stream.read(buffer, false).bytes, 4U);
  EXPECT_EQ(std::string(buffer.data(), 4), "5678");
  EXPECT_EQ(pair.stream.read(buffer, false).bytes, 2U);
  EXPECT_TRUE(pair.stream.give_buffers());
  EXPECT_TRUE(pair.stream.give_buffers()) << "there are none any more";
  const int small = 4096;
  ::setsockopt(pair.own, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  const std::string record(TlsStream::kRecordBytes, 'r');
  std::size_t records = 0;
  for (; pair.stream.write(record).how == TlsStream::outcome::done; ++records) {
    ASSERT_LT(records, 1000U);
  }
  EXPECT_FALSE(pair.stream.give_buffers()) << "what is not sent";
  std::string all = pair.peer.received();
  while (pair.stream.write(record).how != TlsStream::outcome::done) {
    all += pair.peer.received();
  }
  for (all += pair.peer.received(); all.size() < (records + 1) * record.size(); all += pair.peer.received()) {
  }
  EXPECT_EQ(all, std::string(all.size(), 'r'));
  EXPECT_TRUE(pair.stream.give_buffers());
}

TEST(TlsStream, TheShortKeyGoesFirstWhereTheClientLikesOthersAsMuch) {
  constexpr const char* kShort = "TLS_AES_128_GCM_SHA256";
  constexpr const char* kChaCha = "TLS_CHACHA20_POLY1305_SHA256";
  const Files files;
  for (const auto& [wants, gets] : {std::pair{"TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256", kShort},
                                    {"TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"},
                                    {"TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256", kChaCha}}) {
    const Pair pair{files, wants};
    EXPECT_EQ(pair.stream.facts().cipher, gets) << wants;
  }
}

TEST(TlsStream, FactsTellVersionAndCipher) {
  const Files files;
  Pair pair{files};
  const TlsFacts facts = pair.stream.facts();
  EXPECT_EQ(facts.version, "TLSv1.3");
  EXPECT_NE(facts.cipher, "");
  EXPECT_EQ(facts.subject, "");
}

TEST(TlsContext, WrongFilesAreReportedByTheirKey) {
  const Files files;
  const Files none;
  config::TlsOptions wrong = files.options();
  wrong.key = wrong.certificate;
  wrong.client_ca = "/nonexistent/ca.pem";
  std::vector<TlsFlaw> flaws;
  std::vector<std::string> doubts;
  EXPECT_EQ(TlsContext::read(wrong, flaws, doubts), nullptr);
  ASSERT_EQ(flaws.size(), 2U);
  EXPECT_EQ(flaws[0].key, "key");
  EXPECT_EQ(flaws[0].what, wrong.certificate + ": holds no private key in PEM");
  EXPECT_EQ(flaws[1].key, "client_ca");
  EXPECT_EQ(flaws[1].what, "/nonexistent/ca.pem: cannot be read: No such file or directory");
}

}  // namespace
}  // namespace mxkv::server::test
