// Clients of the binary protocol at a node without their keys: they get the same packets as from the owner.
#include <gmock/gmock.h>

#include <random>
#include <regex>
#include <string>
#include <vector>

#include "tests/unit/protocol/binary_packet.hpp"
#include "tests/unit/server/net/peers/routed_nodes.hpp"

namespace mxkv::server::test {
namespace {

using protocol::all_told;
using protocol::big;
using protocol::count_extras;
using protocol::opcode;
using protocol::Packet;
using protocol::set_extras;
using testing::ElementsAre;
using testing::HasSubstr;
using Answers = std::vector<std::string>;

const std::string kNoop = Packet{.code = opcode::noop, .opaque = "last"}.wire();

/// The replies to packets, up to the reply to a final noop.
Answers ask(const BlockingClient& client, const std::string& packets) {
  client.send(packets + kNoop);
  const std::string end = "\x81\x0a" + std::string(10, '\0') + "last" + std::string(8, '\0');
  std::string all = const_cast<BlockingClient&>(client).read_to(end);
  if (all.ends_with(end)) {
    all.resize(all.size() - end.size());
  }
  return all_told(all);
}

/// Cas values grow from one item to the next, so only their presence is compared.
Answers without_cas(Answers answers) {
  static const std::regex kCas{" cas [0-9]+"};
  for (std::string& answer : answers) {
    answer = std::regex_replace(answer, kCas, " cas #");
  }
  return answers;
}

std::string in(opcode code, const std::string& key, const std::string& value = {},
               const std::string& extras = {}, std::uint64_t cas = 0) {
  return Packet{.code = code, .key = key, .value = value, .extras = extras, .cas = cas}.wire();
}

/// One conversation about a key without an item at the beginning; each opcode, loud and quiet.
std::vector<std::string> conversation(const std::string& key) {
  const std::string time = big(1000, 4);
  std::vector<std::string> all;
  for (const bool quiet : {false, true}) {
    const auto one = [quiet](opcode loud, opcode silent) { return quiet ? silent : loud; };
    const opcode get = one(opcode::get, opcode::getq);
    const opcode getk = one(opcode::getk, opcode::getkq);
    const opcode gat = one(opcode::gat, opcode::gatq);
    const opcode gatk = one(opcode::gatk, opcode::gatkq);
    const opcode set = one(opcode::set, opcode::setq);
    const opcode add = one(opcode::add, opcode::addq);
    const opcode replace = one(opcode::replace, opcode::replaceq);
    const opcode append = one(opcode::append, opcode::appendq);
    const opcode prepend = one(opcode::prepend, opcode::prependq);
    const opcode more = one(opcode::increment, opcode::incrementq);
    const opcode less = one(opcode::decrement, opcode::decrementq);
    const opcode remove = one(opcode::remove, opcode::removeq);
    const std::vector<std::string> part{
        in(get, key),
        in(getk, key),
        in(gat, key, {}, time),
        in(gatk, key, {}, time),
        in(opcode::touch, key, {}, time),
        in(remove, key),
        in(append, key, "x"),
        in(prepend, key, "x"),
        in(replace, key, "x", set_extras()),
        in(set, key, "x", set_extras(), 77),
        in(more, key, {}, count_extras(1, 0, 0xffffffffU)),
        in(add, key, "MN\r\nEND\r\n", set_extras(0xdeadbeefU)),
        in(add, key, "y", set_extras()),
        in(get, key),
        in(getk, key),
        in(replace, key, "abc", set_extras(7, 1000)),
        in(append, key, "def"),
        in(prepend, key, "> "),
        in(get, key),
        in(more, key, {}, count_extras(1, 0, 0)),
        in(set, key, "z", set_extras(), 77),
        in(opcode::touch, key, {}, big(2000, 4)),
        in(gat, key, {}, time),
        in(gatk, key, {}, time),
        in(set, key, std::string(30'000, 'l'), set_extras(3)),
        in(get, key),
        in(set, key, "", set_extras()),
        in(get, key),
        in(remove, key, {}, {}, 77),
        in(remove, key),
        in(more, key, {}, count_extras(5, 40, 0)),
        in(more, key, {}, count_extras(2, 40, 0)),
        in(less, key, {}, count_extras(50, 40, 0xffffffffU)),
        in(more, key, {}, count_extras(1, 0, 0), 77),
        in(get, key),
        in(set, key, "gone", set_extras(0, 0x7fffffffU)),
        in(remove, key),
    };
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST(ForwardedBinary, EveryRequestIsAnsweredAsByTheOwner) {
  for (const std::string& key : {std::string{"key"}, std::string{"key with \r\n and \0 in it", 23},
                                 "k" + std::string(186, '\n'), "k" + std::string(249, ' ')}) {
    Nodes nodes;
    const BlockingClient owner{nodes[1].port()};
    const BlockingClient other{nodes[0].port()};
    std::string pipeline;
    Answers all;
    for (const std::string& packet : conversation(key)) {
      const Answers direct = without_cas(ask(owner, packet));
      all.insert(all.end(), direct.begin(), direct.end());
      pipeline += packet;
    }
    Answers one_by_one;
    for (const std::string& packet : conversation(key)) {
      const Answers answers = without_cas(ask(other, packet));
      one_by_one.insert(one_by_one.end(), answers.begin(), answers.end());
    }
    EXPECT_EQ(one_by_one, all);
    EXPECT_EQ(without_cas(ask(other, pipeline)), all);
    EXPECT_GE(nodes[0].cluster().forwarded().requests, 2 * conversation(key).size());
  }
}

/// A random packet, which may be malformed.
std::string some_packet(std::mt19937& dice) {
  const auto below = [&dice](std::size_t n) { return static_cast<std::size_t>(dice() % n); };
  const std::vector<std::string> keys{"key",
                                      "kiwi",
                                      "lion",
                                      "abc",
                                      "zoo",
                                      std::string(250, 'm'),
                                      "a b\r\nc",
                                      std::string(249, '\n') + "!",
                                      std::string("\0", 1),
                                      "\xff\xff"};
  const std::vector<std::string> values{"",       "1",           "18446744073709551615", "17 ",
                                        "MN\r\n", "VA 2 f1\r\n", std::string(9000, 'v'), "abc"};
  const std::vector<std::uint32_t> times{0, 0, 0, 1000, 2592000, 0x7fffffffU, 0xffffffffU, 2592001};
  const std::string& key = keys[below(keys.size())];
  const std::string& value = values[below(values.size())];
  const std::uint64_t cas = below(6) == 0 ? 77 : 0;
  const auto time = [&] { return times[below(times.size())]; };
  const auto code = static_cast<opcode>(below(0x26));
  switch (protocol::usual_extras(code)) {
    case 8:
      return in(code, key, value, set_extras(static_cast<std::uint32_t>(below(3)) * 0x7fffffffU, time()),
                cas);
    case 20:
      return in(code, key, {}, count_extras(below(3), below(100), time()), cas);
    case 4:
      return code == opcode::verbosity ? in(code, {}, {}, big(0, 4)) : in(code, key, {}, big(time(), 4), cas);
    default:
      break;
  }
  switch (code) {
    case opcode::append:
    case opcode::appendq:
    case opcode::prepend:
    case opcode::prependq:
      return in(code, key, value, {}, cas);
    case opcode::get:
    case opcode::getq:
    case opcode::getk:
    case opcode::getkq:
    case opcode::remove:
    case opcode::removeq:
      return in(code, key, {}, {}, cas);
    case opcode::flush:
    case opcode::flushq:
      return below(4) == 0 ? in(code, {}) : in(opcode::get, key);
    case opcode::version:
    case opcode::noop:
      return in(code, {});
    default:
      return in(static_cast<opcode>(0x30 + below(8)), key, value);
  }
}

TEST(ForwardedBinary, RandomRequestsAreAnsweredAsByOneNode) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    Nodes nodes;
    Nodes single;
    for (std::uint32_t shard = 0; shard < 3; ++shard) {
      single.give(shard, 0);
      nodes.give(shard, seed % 2 == 0 ? 1 : shard);
    }
    const BlockingClient alone{single[0].port()};
    const BlockingClient other{nodes[2].port()};
    std::mt19937 dice{seed};
    for (int round = 0; round < 30; ++round) {
      std::string pipeline;
      for (std::size_t packets = 1 + dice() % 30; packets > 0; --packets) {
        pipeline += some_packet(dice);
      }
      ASSERT_EQ(without_cas(ask(other, pipeline)), without_cas(ask(alone, pipeline))) << seed << " " << round;
    }
  }
}

TEST(ForwardedBinary, CasValuesAreTheOwners) {
  Nodes nodes;
  const BlockingClient owner{nodes[1].port()};
  const BlockingClient other{nodes[0].port()};
  other.send("");
  const std::string stored = ask(other, in(opcode::set, "key", "one", set_extras())).at(0);
  const std::string cas = stored.substr(stored.find("cas ") + 4);
  EXPECT_EQ(ask(owner, in(opcode::get, "key")), ask(other, in(opcode::get, "key")));
  EXPECT_THAT(ask(owner, in(opcode::get, "key")).at(0), HasSubstr("cas " + cas));
  EXPECT_THAT(ask(other, in(opcode::set, "key", "two", set_extras(), std::stoull(cas))).at(0),
              HasSubstr("1 0 opaq cas "));
  EXPECT_EQ(ask(other, in(opcode::set, "key", "three", set_extras(), std::stoull(cas))),
            Answers{"1 2 opaq: Data exists for key."});
  EXPECT_EQ(ask(other, in(opcode::remove, "key", {}, {}, std::stoull(cas))),
            Answers{"4 2 opaq: Data exists for key."});
}

TEST(ForwardedBinary, KeysOfManyNodesAreAnsweredInTheirOrder) {
  Nodes nodes;
  const BlockingClient client{nodes[2].port()};
  std::string gets;
  Answers all;
  for (const char* const key : {"zoo", "abc", "lion", "azure", "kiwi", "pear"}) {
    ask(client, in(opcode::setq, key, std::string{"of "} + key, set_extras()));
    gets += in(opcode::getkq, key) + in(opcode::getkq, std::string{key} + " missing");
    all.push_back(std::string{"13 0 opaq cas # extras 0 key "} + key + ": of " + key);
  }
  EXPECT_EQ(without_cas(ask(client, gets)), all);
}

TEST(ForwardedBinary, AValueThatIsTooLargeDeletesTheOldValue) {
  Nodes nodes;
  const BlockingClient client{nodes[0].port()};
  const std::string large(1'048'577, 'x');
  ask(client, in(opcode::setq, "kept", "x", set_extras()));
  for (const std::string key : {"key", "key\r\ndelete kept"}) {
    ask(client, in(opcode::setq, key, "x", set_extras()));
    EXPECT_EQ(ask(client, in(opcode::set, key, large, set_extras()) + in(opcode::get, key)),
              (Answers{"1 3 opaq: Too large.", "0 1 opaq: Not found"}));
  }
  EXPECT_THAT(ask(client, in(opcode::get, "kept")), ElementsAre(HasSubstr(": x")));
  EXPECT_EQ(nodes[0].cluster().forwarded().lost, 0U);
}

TEST(ForwardedBinary, ARequestThatCannotBeExecutedIsAnError) {
  Nodes nodes{{.patience_ms = 50}};
  nodes[0].forget(1);
  const BlockingClient client{nodes[0].port()};
  EXPECT_EQ(ask(client, in(opcode::get, "key") + in(opcode::setq, "key", "x", set_extras())),
            (Answers{"0 134 opaq: Temporary failure", "17 134 opaq: Temporary failure"}));
  nodes.give(1, 1);
  EXPECT_EQ(ask(client, in(opcode::getk, "key")), (Answers{"12 1 opaq key key"}));
}

TEST(ForwardedBinary, ClientsMayBeRefusedInstead) {
  Nodes nodes{{.forwards = false}};
  const BlockingClient client{nodes[0].port()};
  EXPECT_EQ(
      ask(client,
          in(opcode::get, "key") + in(opcode::set, "key", "x", set_extras()) + in(opcode::get, "abc")),
      (Answers{"0 134 opaq: Temporary failure", "1 134 opaq: Temporary failure", "0 1 opaq: Not found"}));
}

TEST(ForwardedBinary, AReplicaMayAnswerAClientThatTakesIt) {
  Nodes nodes;
  nodes.give(1, 0);
  ask(BlockingClient{nodes[0].port()}, in(opcode::set, "key", "old", set_extras()));
  nodes.give(1, 1);
  ask(BlockingClient{nodes[1].port()}, in(opcode::set, "key", "new", set_extras()));
  nodes[0].follow(1, std::chrono::milliseconds{100});
  const BlockingClient takes{nodes[0].stale_port()};
  EXPECT_THAT(ask(takes, in(opcode::get, "key")), ElementsAre(HasSubstr(": old")));
  EXPECT_THAT(ask(takes, in(opcode::gat, "key", {}, big(0, 4))), ElementsAre(HasSubstr(": new")));
}

}  // namespace
}  // namespace mxkv::server::test
