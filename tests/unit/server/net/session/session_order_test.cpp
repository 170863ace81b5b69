// The replies that one client gets are as if its requests ran one after the other, whatever the store does meanwhile.
#include <map>

#include "server/net/session/session.hpp"
#include "tests/unit/server/net/session/session_fixture.hpp"

namespace mxkv::server::test {
namespace {

/// Random requests over few keys, and the replies of a server that runs them one by one.
struct Script {
  std::string sent;
  std::string expected;

  explicit Script(unsigned seed, int requests, std::size_t keys) {
    std::mt19937 random{seed};
    const auto key = [&] { return "key" + std::to_string(random() % keys); };
    for (int i = 0; i < requests; ++i) {
      const std::string name = key();
      switch (random() % 16) {
        case 0:
        case 1:
        case 2:
          get({name});
          break;
        case 3:
          get({name, key(), key()});
          break;
        case 4:
        case 5:
          set(name, std::to_string(i), random() % 2 == 0);
          break;
        case 6:
          set(name, std::string(random() % 300, 'v'), false);
          break;
        case 7:
          incr(name);
          break;
        case 8:
          sent += "delete " + name + "\r\n";
          expected += items.erase(name) == 1 ? "DELETED\r\n" : "NOT_FOUND\r\n";
          break;
        case 9:
          sent += "scan " + name + " 100\r\n";
          for (auto item = items.lower_bound(name); item != items.end(); ++item) {
            expected += "KEY " + item->first + "\r\n";
          }
          expected += "END\r\n";
          break;
        case 10:
          sent += "gat 0 " + name + "\r\n";
          answer(name);
          expected += "END\r\n";
          break;
        case 11:
        case 12:
        case 13:
        case 14:
          meta(name, random() % 6, "O" + std::to_string(i));
          break;
        default:
          if (random() % 20 == 0) {
            sent += "flush_all\r\n";
            items.clear();
            expected += "OK\r\n";
          } else if (random() % 8 == 0) {
            sent += "mx " + name + "\r\n";
            const auto from = items.lower_bound(name);
            expected += "HD A" + std::to_string(std::distance(from, items.end())) + "\r\n";
            items.erase(from, items.end());
          } else {
            sent += "bad request\r\n";
            expected += "ERROR\r\n";
          }
      }
    }
  }

 private:
  void answer(const std::string& name) {
    if (const auto found = items.find(name); found != items.end()) {
      expected +=
          "VALUE " + name + " 0 " + std::to_string(found->second.size()) + "\r\n" + found->second + "\r\n";
    }
  }
  void get(const std::vector<std::string>& names) {
    sent += "get";
    for (const std::string& name : names) {
      sent += " " + name;
      answer(name);
    }
    sent += "\r\n";
    expected += "END\r\n";
  }
  void set(const std::string& name, const std::string& value, bool noreply) {
    items[name] = value;
    sent += "set " + name + " 0 0 " + std::to_string(value.size()) + (noreply ? " noreply\r\n" : "\r\n") +
            value + "\r\n";
    expected += noreply ? "" : "STORED\r\n";
  }
  /// The opaque shows whether the flags were kept while a request waited.
  void meta(const std::string& name, std::mt19937::result_type which, const std::string& opaque) {
    const auto found = items.find(name);
    const bool there = found != items.end();
    switch (which) {
      case 0:  // reads, and waits together with reads
      case 1:  // may create the item, and waits alone
        sent += "mg " + name + " v " + opaque + (which == 1 ? " N30\r\n" : "\r\n");
        expected += there ? "VA " + std::to_string(found->second.size()) + " " + opaque + "\r\n" +
                                found->second + "\r\n"
                          : "EN " + opaque + "\r\n";
        return;
      case 2: {
        const std::string value = opaque + std::string(more_bytes(), 'm');
        sent += "ms " + name + " " + std::to_string(value.size()) + " " + opaque + "\r\n" + value + "\r\n";
        items[name] = value;
        expected += "HD " + opaque + "\r\n";
        return;
      }
      case 3:
        sent += "md " + name + " " + opaque + "\r\n";
        items.erase(name);
        break;
      case 4:
        sent += "ma " + name + " D5 " + opaque + "\r\n";
        if (there) {
          found->second = std::to_string(std::strtoull(found->second.c_str(), nullptr, 10) + 5);
        }
        break;
      default:
        sent += "mn\r\n";
        expected += "MN\r\n";
        return;
    }
    expected += (there ? "HD " : "NF ") + opaque + "\r\n";
  }
  /// Values in one piece and in several.
  std::size_t more_bytes() { return 37 * (items.size() % 9); }
  void incr(const std::string& name) {
    sent += "incr " + name + " 3\r\n";
    const auto found = items.find(name);
    if (found == items.end()) {
      expected += "NOT_FOUND\r\n";
      return;
    }
    found->second = std::to_string(std::strtoull(found->second.c_str(), nullptr, 10) + 3);
    expected += found->second + "\r\n";
  }

  std::map<std::string, std::string> items;
};

TEST(SessionOrder, RepliesFollowTheOrderOfRequestsWhateverOrderOperationsEndIn) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Script script{seed, 400, seed % 3 == 0 ? 3U : 200U};
    Client client;
    client.random.seed(seed);
    EXPECT_EQ(client.ask(script.sent), script.expected) << "seed " << seed;
    EXPECT_TRUE(client.session->wants_input());
    EXPECT_EQ(client.item_bytes(), 0U);
  }
}

TEST(SessionOrder, HoldsUnderNarrowLimitsAndPiecesOfAnySize) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Script script{1000 + seed, 300, 20};
    config::LimitOptions limits;
    limits.pipeline = 1 + seed % 9;
    limits.requests_per_turn = 1 + seed % 7;
    limits.output_high_water = 1 + seed * 13;
    Client client{limits};
    client.random.seed(seed);
    const std::size_t part = 1 + seed * seed % 400;
    client.reads_directly = seed % 2 != 0;
    client.send(script.sent, part);
    EXPECT_EQ(client.settle(part), script.expected) << "seed " << seed;
  }
}

TEST(SessionOrder, ReadsAndWritesOfDifferentKeysAreInFlightTogether) {
  Client client;
  std::string many;
  for (int i = 0; i < 30; ++i) {
    many += "get a" + std::to_string(i) + "\r\nset b" + std::to_string(i) + " 0 0 1\r\nx\r\n";
  }
  client.send(many);
  // A few keys may share a slot.
  EXPECT_GE(client.store.pending.size(), 30U);
  EXPECT_NE(client.settle(), "");
}

TEST(SessionOrder, WritesOfOneKeyAreInFlightTogether) {
  Client client;
  client.send("set k 0 0 1\r\n1\r\nincr k 1\r\nincr k 1\r\nappend k 0 0 1\r\n0\r\n");
  EXPECT_EQ(client.store.pending.size(), 4U);
  EXPECT_EQ(client.settle(), "STORED\r\n2\r\n3\r\nSTORED\r\n");
  EXPECT_EQ(client.ask("get k\r\n"), "VALUE k 0 2\r\n30\r\nEND\r\n");
}

TEST(SessionOrder, MetaCommandsThatWaitKeepTheirFlags) {
  Client client;
  // All wait for a write of the same key; later requests reuse their places.
  for (int round = 0; round < 3; ++round) {
    client.send(
        "ms k 1 O1\r\n7\r\nmg k v O2\r\nmd k O3\r\nmg k N5 O4\r\nme k\r\nms k 2 O5\r\n10\r\n"
        "ma k D3 O6\r\nmg k T9 O7\r\nmn\r\n");
    EXPECT_EQ(client.store.pending.size(), 1U);
    EXPECT_EQ(client.settle(),
              "HD O1\r\nVA 1 O2\r\n7\r\nHD O3\r\nEN O4\r\nEN O\r\nHD O5\r\nHD O6\r\nVA 2 O7\r\n13\r\nMN\r\n");
    EXPECT_EQ(client.ask("delete k\r\n"), "DELETED\r\n");
  }
}

TEST(SessionOrder, MnIsAnsweredWhenWritesThatSayNothingHaveTakenEffect) {
  Client client;
  client.send("set k 0 0 1 noreply\r\n1\r\nset l 0 0 1 noreply\r\n2\r\nmn\r\nget k\r\n");
  EXPECT_EQ(client.store.pending.size(), 2U);
  EXPECT_EQ(client.settle(), "MN\r\nVALUE k 0 1\r\n1\r\nEND\r\n");
  EXPECT_EQ(client.ask("mn\r\n"), "MN\r\n");
}

TEST(SessionOrder, MnSaysNothingBeforeANoreplyWriteThatWaitsHasEnded) {
  Client client;
  client.send("set k 0 0 1 noreply\r\n1\r\nmn\r\n");
  EXPECT_EQ(client.session->unsent_bytes(), 0U);
  EXPECT_EQ(client.settle(), "MN\r\n");
}

}  // namespace
}  // namespace mxkv::server::test
