// Batches: all lines take effect or none. Whatever is wrong with a line, the stream stays in step, and no memory of
// the batch is kept.
#include <string>
#include <vector>

#include "server/net/session/session.hpp"
#include "tests/unit/server/net/session/session_fixture.hpp"

namespace mxkv::server::test {
namespace {

/// The reply to `lines` as a batch of `count`, with a final command that shows whether the stream is in step and
/// whether any line took effect; sent in pieces of any size.
std::string batch(std::size_t count, const std::string& lines, config::LimitOptions limits = {}) {
  std::string first;
  for (const std::size_t part : {std::size_t{1} << 20U, std::size_t{1}, std::size_t{2}, std::size_t{7}}) {
    Client client{limits};
    client.ask("set old 0 0 1\r\n5\r\n");
    client.send("mb " + std::to_string(count) + "\r\n" + lines + "scan - + 9\r\n", part);
    const std::string answer = client.settle(part);
    EXPECT_EQ(client.item_bytes(), 0U) << lines;
    EXPECT_FALSE(client.session->finished()) << lines;
    if (first.empty()) {
      first = answer;
    }
    EXPECT_EQ(answer, first) << lines << " in pieces of " << part;
  }
  return first;
}

constexpr const char* kUntouched = "KEY old\r\nEND\r\n";
const std::string kBad = "CLIENT_ERROR bad command line format\r\n";

TEST(SessionBatch, AnswersEachLineAndThenItself) {
  EXPECT_EQ(batch(4, "ms a 3 O1\r\nabc\r\nmg a v O2\r\nma old D3 O3\r\nmd a O4\r\n"),
            "HD O1\r\nVA 3 O2\r\nabc\r\nHD O3\r\nHD O4\r\nHD\r\nKEY old\r\nEND\r\n");
  EXPECT_EQ(batch(1, "ms e 0\r\n\r\n"), "HD\r\nHD\r\nKEY e\r\nKEY old\r\nEND\r\n");
  EXPECT_EQ(batch(0, ""), std::string("HD\r\n") + kUntouched);
}

TEST(SessionBatch, ALineThatCannotBeDoneUndoesAll) {
  EXPECT_EQ(batch(3, "ms a 1\r\nx\r\nma none O7\r\nms b 1\r\ny\r\n"),
            std::string("EX 2 NF O7\r\n") + kUntouched);
}

TEST(SessionBatch, TheFirstBadLineIsReportedAfterTheLastLine) {
  const std::string good = "ms a 1\r\nx\r\n";
  config::LimitOptions limits;
  limits.value_bytes = 100;
  const std::vector<std::pair<std::string, std::string>> bad{
      {"foo\r\n", "ERROR\r\n"},
      {"\r\n", kBad},
      {"mg\r\n", "ERROR\r\n"},
      {"mg k q q\r\n", "CLIENT_ERROR duplicate flag\r\n"},
      {"ms k 3 ~\r\nabc\r\n", "CLIENT_ERROR invalid flag\r\n"},
      {"ms k 3\r\nabcXY", "CLIENT_ERROR bad data chunk\r\n"},
      {"ms k 0\r\nXY", "CLIENT_ERROR bad data chunk\r\n"},
      {"ms " + std::string(251, 'k') + " 3\r\nabc\r\n", kBad},
      {"ms k 200\r\n" + std::string(200, 'v') + "\r\n", "SERVER_ERROR object too large for cache\r\n"},
  };
  for (const auto& [line, error] : bad) {
    EXPECT_EQ(batch(3, good + line + good, limits), "EX 2 " + error + kUntouched) << line.substr(0, 40);
    EXPECT_EQ(batch(3, line + "bar\r\n" + good, limits), "EX 1 " + error + kUntouched) << line.substr(0, 40);
    EXPECT_EQ(batch(2, good + line, limits), "EX 2 " + error + kUntouched) << line.substr(0, 40);
  }
}

TEST(SessionBatch, ForbiddenLinesAreConsumedWithTheirBlocks) {
  for (const std::string line : {"get old\r\n",
                                 "get a b c\r\n",
                                 "set k 0 0 3\r\nabc\r\n",
                                 "set k 0 0 3 noreply\r\nabc\r\n",
                                 "set k x 0 3 noreply\r\nabc\r\n",
                                 "cas k 0 0 3 1\r\nabc\r\n",
                                 "delete old\r\n",
                                 "incr old 1\r\n",
                                 "touch old 0\r\n",
                                 "scan - + 9\r\n",
                                 "mr - X\r\n",
                                 "mx - X\r\n",
                                 "mt - T-1\r\n",
                                 "mc -\r\n",
                                 "me old\r\n",
                                 "mn\r\n",
                                 "mb 5\r\n",
                                 "mb 0\r\n",
                                 "flush_all\r\n",
                                 "flush_all noreply\r\n",
                                 "stats\r\n",
                                 "version\r\n",
                                 "watch\r\n",
                                 "lru_crawler metadump all\r\n",
                                 "shutdown\r\n",
                                 "quit\r\n"}) {
    EXPECT_EQ(batch(3, "ms a 1\r\nx\r\n" + line + "md old\r\n"),
              std::string("EX 2 CLIENT_ERROR not allowed in a batch\r\n") + kUntouched)
        << line;
  }
  EXPECT_EQ(batch(2, "mb x\r\nmd old\r\n"), "EX 1 " + kBad + kUntouched);
}

TEST(SessionBatch, AValueOfUnknownLengthGetsAnErrorAndEndsTheConnection) {
  for (const std::string line : {"ms k x\r\n", "ms k\r\n", "ms k -1\r\n", "set k 0 0 x\r\n"}) {
    Client client;
    EXPECT_EQ(client.ask("mn\r\nmb 3\r\nms a 1\r\nx\r\n" + line + "md a\r\nmn\r\n"), "MN\r\nEX 2 " + kBad);
    EXPECT_TRUE(client.session->finished());
    EXPECT_EQ(client.item_bytes(), 0U);
    EXPECT_TRUE(client.store.items.empty());
  }
}

TEST(SessionBatch, OfSeveralBadLinesTheFirstIsReportedEvenIfALaterOneEndsTheConnection) {
  Client client;
  EXPECT_EQ(client.ask("mb 3\r\nmn\r\nms k x\r\nmd a\r\n"), "EX 1 CLIENT_ERROR not allowed in a batch\r\n");
  EXPECT_TRUE(client.session->finished());
}

TEST(SessionBatch, ABatchWithoutANumberOfLinesGetsAnErrorAndIsClosed) {
  Client client;
  EXPECT_EQ(client.ask("get k\r\nmb x\r\nget k\r\n"), "END\r\n" + kBad);
  EXPECT_TRUE(client.session->finished());
}

TEST(SessionBatch, ALineWithoutAnEndOrOfABrowserCloses) {
  for (const std::string& line : {std::string("GET / HTTP/1.1\r\n"), std::string(3000, 'x')}) {
    Client client;
    EXPECT_EQ(client.ask("mn\r\nmb 2\r\nms a 1\r\nx\r\n" + line), "MN\r\n");
    EXPECT_TRUE(client.session->finished());
    client.session.reset();
    EXPECT_EQ(client.item_bytes(), 0U);
  }
}

TEST(SessionBatch, LimitsOfLinesAndBytes) {
  config::LimitOptions limits;
  limits.batch_lines = 3;
  limits.batch_bytes = 10;
  const std::string five = "ms a 5\r\nvalue\r\n";
  EXPECT_EQ(batch(3, five + five + "ms b 0\r\n\r\n", limits),
            "HD\r\nHD\r\nHD\r\nHD\r\nKEY a\r\nKEY b\r\nKEY old\r\nEND\r\n");
  EXPECT_EQ(batch(4, "md old\r\nmg a\r\nmg a\r\nmg a\r\n", limits),
            std::string("EX 4 CLIENT_ERROR too many lines in a batch\r\n") + kUntouched);
  EXPECT_EQ(batch(3, five + five + "ms b 1\r\nx\r\n", limits),
            std::string("EX 3 CLIENT_ERROR too many value bytes in a batch\r\n") + kUntouched);
  EXPECT_EQ(batch(5, five + "foo\r\n" + five + five + five, limits),
            std::string("EX 2 ERROR\r\n") + kUntouched);
}

TEST(SessionBatch, NothingIsKeptOfABatchFromItsFirstBadLineOn) {
  Client client;
  client.send("mb 100000\r\nms a 1\r\nx\r\nms b 1\r\ny\r\n");
  EXPECT_GT(client.item_bytes(), 0U);
  client.send("foo\r\n");
  EXPECT_EQ(client.item_bytes(), 0U);
  for (int i = 0; i < 1000; ++i) {
    client.send("ms c 3\r\nabc\r\n");
  }
  EXPECT_EQ(client.item_bytes(), 0U);
  EXPECT_EQ(client.settle(), "");
  EXPECT_TRUE(client.session->wants_input());
}

TEST(SessionBatch, OutOfMemoryIsItsLinesError) {
  config::LimitOptions limits;
  limits.value_bytes = limits.batch_bytes = std::size_t{16} << 20U;
  Client client{limits};
  client.leave_memory(std::size_t{5} << 20U);
  EXPECT_EQ(client.ask("mb 3\r\nms a 5\r\nvalue\r\nms b 8000000\r\n" + std::string(8'000'000, 'v') +
                       "\r\nmd a\r\nscan - + 9\r\n"),
            "EX 2 SERVER_ERROR out of memory storing object\r\nEND\r\n");
  EXPECT_EQ(client.item_bytes(), 0U);
}

TEST(SessionBatch, MemoryThatIsBeingMadeIsWaitedFor) {
  Client client;
  client.leave_memory(0);
  client.store.room_is_made = true;
  client.send("mb 2\r\nms a 5\r\nvalue\r\nmg a v\r\n");
  EXPECT_TRUE(client.session->paused_for(pause::memory));
  client.leave_memory(std::size_t{16} << 20U);
  EXPECT_EQ(client.settle(), "HD\r\nVA 5\r\nvalue\r\nHD\r\n");
}

TEST(SessionBatch, RunsAlone) {
  Client client;
  client.send("set a 0 0 1\r\n1\r\nget b\r\nmb 2\r\nma a D5\r\nms b 1\r\nx\r\n");
  EXPECT_EQ(client.store.pending.size(), 2U) << "it waits for those before it";
  EXPECT_TRUE(client.session->paused_for(pause::order));
  EXPECT_FALSE(client.session->finished());
  client.send("get a\r\n");
  EXPECT_EQ(client.store.pending.size(), 2U) << "and those behind it for it";
  EXPECT_EQ(client.settle(), "STORED\r\nEND\r\nHD\r\nHD\r\nHD\r\nVALUE a 0 1\r\n6\r\nEND\r\n");
}

TEST(SessionBatch, AFailureIsReportedInOrderAndWaitsForNoOtherRequest) {
  Client client;
  client.send("get a\r\nmb 1\r\nfoo\r\nget b\r\n");
  EXPECT_EQ(client.store.pending.size(), 2U);
  EXPECT_EQ(client.settle(), "END\r\nEX 1 ERROR\r\nEND\r\n");
}

TEST(SessionBatch, AClientThatSendsNoMoreIsAnsweredIfAllLinesCame) {
  Client client;
  client.send("set a 0 0 1\r\n1\r\nmb 1\r\nma a\r\n");
  client.session->end_of_input();
  EXPECT_FALSE(client.session->finished());
  EXPECT_EQ(client.settle(), "STORED\r\nHD\r\nHD\r\n");
  EXPECT_TRUE(client.session->finished());
}

TEST(SessionBatch, AClientThatLeavesBeforeTheLastLineHasDoneNothing) {
  for (const std::string rest :
       {"", "md b", "ms b 3\r\n", "ms b 3\r\nab", "ms b 3\r\nabc\r", "ms b 3 ~\r\nab"}) {
    Client client;
    client.send("set k 0 0 1\r\n1\r\nmb 3\r\nms a 1\r\nx\r\nmd k\r\n" + rest);
    client.session->end_of_input();
    EXPECT_EQ(client.settle(), "STORED\r\n");
    EXPECT_TRUE(client.session->finished());
    client.session.reset();
    EXPECT_EQ(client.item_bytes(), 0U) << rest;
    EXPECT_EQ(client.store.items.size(), 1U) << rest;
  }
}

TEST(SessionBatch, OneThatWaitsForItsTurnIsAbandonedWithItsConnection) {
  Client client;
  client.send("get a\r\nmb 2\r\nms a 1\r\nx\r\nms b 1\r\ny\r\n");
  EXPECT_GT(client.item_bytes(), 0U);
  client.session.reset();
  client.settle_store();
  EXPECT_EQ(client.item_bytes(), 0U);
  EXPECT_TRUE(client.store.items.empty());
}

TEST(SessionBatch, AStartedBatchIsExecutedThoughItsClientIsGone) {
  Client client;
  client.send("mb 1\r\nms a 1\r\nx\r\n");
  client.session.reset();
  client.settle_store();
  EXPECT_EQ(client.item_bytes(), 0U);
  EXPECT_EQ(client.store.items.count("a"), 1U);
  EXPECT_EQ(client.directory.entries(), 0U);
}

TEST(SessionBatch, BatchesThatEndAtOnceFollowEachOther) {
  Client client;
  client.store.immediate = true;
  std::string sent;
  std::string expected;
  for (int i = 0; i < 500; ++i) {
    sent += "ms k 1\r\n7\r\nmb 2\r\nma k D3\r\nmg k v\r\nscan z 1\r\n";
    expected += "HD O\r\nHD\r\nVA 2\r\n10\r\nHD\r\nEND\r\n";
  }
  EXPECT_EQ(client.ask(sent), expected);
}

TEST(SessionBatch, ItsLinesCountAsRequestsOfATurn) {
  config::LimitOptions limits;
  limits.requests_per_turn = 4;
  Client client{limits};
  client.host.turn = 1;
  client.send("mb 6\r\nmg a\r\nmg a\r\nmg a\r\nmg a\r\nmg a\r\nmg a\r\n");
  EXPECT_TRUE(client.session->paused_for(pause::turn));
  EXPECT_TRUE(client.store.pending.empty());
  EXPECT_EQ(client.settle(), "EN\r\nEN\r\nEN\r\nEN\r\nEN\r\nEN\r\nHD\r\n");
}

}  // namespace
}  // namespace mxkv::server::test
