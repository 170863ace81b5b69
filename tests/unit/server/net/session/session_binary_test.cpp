// Sessions of the binary protocol: their begin, values in pieces, refused packets, logins.
// The fake store replies in words of the text protocol.
#include "tests/unit/protocol/binary_packet.hpp"
#include "tests/unit/server/net/session/session_fixture.hpp"
#include "tests/unit/server/net/users/known_users.hpp"

namespace mxkv::server::test {
namespace {

using protocol::all_told;
using protocol::opcode;
using protocol::Packet;
using protocol::set_extras;
using Answers = std::vector<std::string>;

std::string set(const std::string& key, const std::string& value, opcode code = opcode::set) {
  return Packet{.code = code, .key = key, .value = value, .extras = set_extras()}.wire();
}
std::string noop(const std::string& opaque = "opaq") {
  return Packet{.code = opcode::noop, .opaque = opaque}.wire();
}

TEST(SessionBinary, TheFirstByteDecides) {
  Client client;
  EXPECT_FALSE(client.session->state().speaks_binary());
  EXPECT_EQ(all_told(client.ask(noop("abcd"))), Answers{"10 0 abcd"});
  EXPECT_TRUE(client.session->state().speaks_binary());
  EXPECT_EQ(all_told(client.ask(Packet{.code = opcode::version}.wire())), Answers{"11 0 opaq: 1.2.3"});
}

TEST(SessionBinary, OnlyTheFirstByteDecides) {
  for (const std::string& before : {std::string("mn\r\n"), std::string("\r\n"), std::string("foo\r\n"),
                                    std::string("mb 2\r\nmg a\r\n")}) {
    for (const std::size_t part : {std::size_t{1}, std::size_t{1000}}) {
      Client client;
      client.send(before + noop() + "\r\nmn\r\n", part);
      const std::string text = client.settle(part);
      EXPECT_TRUE(text.ends_with("ERROR\r\nMN\r\n")) << text;
      EXPECT_FALSE(client.session->state().speaks_binary());
      EXPECT_FALSE(client.session->finished());
    }
  }
}

TEST(SessionBinary, AClientThatSaysNothingSpeaksNothingYet) {
  Client client;
  client.session->resume();
  EXPECT_FALSE(client.session->may_move()) << "what it speaks would be decided before it said so";
  client.session->end_of_input();
  EXPECT_TRUE(client.session->finished());
}

TEST(SessionBinary, ATlsHandshakeEndsOnlyAConnectionThatBeginsWithIt) {
  Client client;
  client.send("\x16\x03\x01", 1);
  EXPECT_EQ(client.settle(), "");
  EXPECT_TRUE(client.session->finished());
  Client other;
  EXPECT_EQ(other.ask("\x16\r\n\x16\x03\r\nmn\r\n"), "ERROR\r\nERROR\r\nMN\r\n");
}

TEST(SessionBinary, AnotherMagicEndsTheSessionWithoutAWord) {
  Client client;
  EXPECT_EQ(all_told(client.ask(noop() + "get k\r\n" + noop())), Answers{"10 0 opaq"});
  EXPECT_TRUE(client.session->finished());
}

TEST(SessionBinary, ValuesComeInPiecesOfAnySize) {
  for (const bool direct : {true, false}) {
    for (const std::size_t part : {std::size_t{1}, std::size_t{3}, std::size_t{7}, std::size_t{4000}}) {
      Client client;
      client.reads_directly = direct;
      const std::string large(kInlineValueBytes + 1000, 'x');
      client.send(set("a", "first") + set("b", "") + set("c", large) + noop(), part);
      const std::string text = client.settle(part);
      EXPECT_EQ(all_told(text.substr(3 * protocol::kStored.size())), Answers{"10 0 opaq"}) << part;
      EXPECT_EQ(client.store.items["a"], "first");
      EXPECT_TRUE(client.store.items.contains("b"));
      EXPECT_EQ(client.store.items["b"], "");
      EXPECT_EQ(client.store.items["c"], large);
    }
  }
}

TEST(SessionBinary, RepliesComeInTheOrderOfTheRequests) {
  Client client;
  const std::string text = client.ask(set("k", "v") + Packet{.code = opcode::remove, .key = "none"}.wire() +
                                      Packet{.code = opcode::get, .key = "k"}.wire() + noop());
  EXPECT_TRUE(text.starts_with("STORED\r\nNOT_FOUND\r\nVALUE k 0 1\r\nv\r\nEND\r\n")) << text;
}

TEST(SessionBinary, ARefusedRequestGetsAnErrorAndIsSkipped) {
  config::LimitOptions limits;
  limits.value_bytes = 100;
  Client client{limits};
  client.store.items["k"] = "old";
  const std::string stream = set("k", std::string(101, 'x')) +
                             Packet{.code = static_cast<opcode>(0x30), .key = "k", .value = "v"}.wire() +
                             noop();
  for (const std::size_t part : {std::size_t{1}, std::size_t{1000}}) {
    client.send(stream, part);
    EXPECT_EQ(all_told(client.settle(part)),
              (Answers{"1 3 opaq: Too large.", "48 129 opaq: Unknown command", "10 0 opaq"}));
    EXPECT_FALSE(client.store.items.contains("k")) << "an old value must not be read any more";
  }
}

TEST(SessionBinary, ABadRequestGetsAnErrorAndEndsTheSession) {
  Client client;
  EXPECT_EQ(all_told(client.ask(Packet{.code = opcode::get}.wire() + noop())),
            Answers{"0 4 opaq: Invalid arguments"});
  EXPECT_TRUE(client.session->finished());
}

TEST(SessionBinary, QuitAnswersAndTheQuietOneDoesNot) {
  Client loud;
  EXPECT_EQ(all_told(loud.ask(Packet{.code = opcode::quit}.wire() + noop())), Answers{"7 0 opaq"});
  EXPECT_TRUE(loud.session->finished());
  Client quiet;
  EXPECT_EQ(quiet.ask(Packet{.code = opcode::quitq}.wire() + noop()), "");
  EXPECT_TRUE(quiet.session->finished());
}

TEST(SessionBinary, AdministrationIsAnsweredInPackets) {
  Client client;
  EXPECT_EQ(all_told(client.ask(Packet{.code = opcode::stat, .key = "items"}.wire() + noop())),
            (Answers{"16 0 opaq key items", "16 0 opaq", "10 0 opaq"}));
  EXPECT_EQ(all_told(client.ask(Packet{.code = opcode::verbosity, .extras = protocol::big(1, 4)}.wire())),
            Answers{"27 0 opaq"});
}

TEST(SessionBinary, AValueThatFindsNoMemoryGetsAnErrorAndIsSkipped) {
  Client client;
  const std::string large(200'000, 'x');
  client.leave_memory(50'000);
  for (const std::size_t part : {std::size_t{1000}, std::size_t{1} << 20U}) {
    client.send(set("k", large) + noop(), part);
    EXPECT_EQ(all_told(client.settle(part)), (Answers{"1 130 opaq: Out of memory", "10 0 opaq"}));
  }
}

TEST(SessionBinary, AClientThatSendsNoMoreStillGetsItsReplies) {
  Client client;
  client.send(noop() + set("k", "v").substr(0, 30));
  client.session->end_of_input();
  EXPECT_EQ(all_told(client.settle()), Answers{"10 0 opaq"});
  EXPECT_TRUE(client.session->finished());
}

TEST(SessionBinary, WhereItRestedItGoesOnInTheSameProtocol) {
  Client client;
  EXPECT_EQ(all_told(client.ask(noop())), Answers{"10 0 opaq"});
  ASSERT_TRUE(client.session->may_move());
  client.session = std::make_unique<Session>(client.host, client, "get k\r\n", true);
  client.session->resume();
  EXPECT_EQ(client.settle(), "");
  EXPECT_TRUE(client.session->finished());
}

class SessionSasl : public testing::Test {
 protected:
  SessionSasl() {
    users.replace(users_of("ann:secret\nbob:a b\n"));
    client.host.credentials = &users;
    client.session = std::make_unique<Session>(client.host, client);
  }
  static std::string login(const std::string& user, const std::string& password,
                           const std::string& how = "PLAIN") {
    return Packet{.code = opcode::sasl_auth, .key = how, .value = '\0' + user + '\0' + password}.wire();
  }

  Credentials users;
  Client client;
};

TEST_F(SessionSasl, NothingIsDoneBefore) {
  EXPECT_EQ(all_told(client.ask(set("k", "v") + noop())), Answers{"1 32 opaq: Auth failure."});
  EXPECT_TRUE(client.session->finished());
  EXPECT_TRUE(client.store.items.empty());
}

TEST_F(SessionSasl, AUserComesIn) {
  for (const std::size_t part : {std::size_t{1}, std::size_t{1000}}) {
    client.session = std::make_unique<Session>(client.host, client);
    client.send(Packet{.code = opcode::sasl_mechanisms}.wire() + Packet{.code = opcode::version}.wire() +
                    login("bob", "a b") + noop(),
                part);
    EXPECT_EQ(all_told(client.settle(part)),
              (Answers{"32 0 opaq: PLAIN", "11 0 opaq: 1.2.3", "33 0 opaq: Authenticated", "10 0 opaq"}));
  }
}

TEST_F(SessionSasl, AnUnknownUserStaysOutsideAndMayTryAgain) {
  for (const std::string& wrong :
       {login("ann", "wrong"), login("ann secret", ""), login("", ""), login("ann", "secret", "CRAM-MD5"),
        Packet{.code = opcode::sasl_auth, .key = "PLAIN", .value = "ann secret"}.wire(),
        Packet{.code = opcode::sasl_auth, .key = "PLAIN", .value = std::string("bob\0ann\0secret", 14)}
            .wire(),
        Packet{.code = opcode::sasl_auth, .key = "PLAIN", .value = std::string(3000, 'x')}.wire(),
        Packet{.code = opcode::sasl_step, .key = "PLAIN", .value = std::string("\0ann\0secret", 11)}
            .wire()}) {
    const Answers answers = all_told(client.ask(wrong));
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_TRUE(answers[0].ends_with(" 32 opaq: Auth failure.")) << answers[0];
  }
  EXPECT_EQ(all_told(client.ask(login("ann", "secret") + noop())),
            (Answers{"33 0 opaq: Authenticated", "10 0 opaq"}));
}

TEST_F(SessionSasl, AFailedSecondLoginLogsTheUserOut) {
  EXPECT_EQ(all_told(client.ask(login("ann", "secret") + login("bob", "secret") + noop())),
            (Answers{"33 0 opaq: Authenticated", "33 32 opaq: Auth failure.", "10 32 opaq: Auth failure."}));
}

TEST_F(SessionSasl, ForbiddenRequestsAreRefusedEvenIfQuiet) {
  users.replace(users_of("users:\n  - {name: ann, password: secret, prefixes: ['k']}\n"));
  EXPECT_EQ(all_told(client.ask(login("ann", "secret") + set("k", "v") + noop())),
            (Answers{"33 0 opaq: Authenticated", "1 32 opaq: Auth failure.", "10 0 opaq"}));
  for (const opcode code : {opcode::flush, opcode::flushq}) {
    EXPECT_EQ(all_told(client.ask(Packet{.code = code}.wire())).size(), 1U);
  }
  EXPECT_EQ(all_told(client.ask(Packet{.code = opcode::getq, .key = "other"}.wire())).size(), 1U);
  EXPECT_TRUE(client.store.items.empty());
  EXPECT_EQ(users.forbidden(), 4U);
}

}  // namespace
}  // namespace mxkv::server::test
