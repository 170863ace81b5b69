// Command by command: reads that wait for the disk because of data they have seen, and replies to refused changes.
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "tests/unit/server/net/connection/disk_fixture.hpp"

namespace mxkv::server::test {
namespace {

/// A request that reads, and a change that makes the read's reply wait.
struct Read {
  const char* name;
  std::string change;
  std::string read;
  std::string before{};  ///< sent before, and on disk by then
};

std::ostream& operator<<(std::ostream& out, const Read& read) {
  return out << read.name;
}

/// Items without flags, in the form that scans write in rows, and one page of them.
constexpr const char* kRow =
    "set row0000000000001 0 0 1 noreply\r\n1\r\n"
    "set row0000000000002 0 0 1 noreply\r\n1\r\n"
    "set row0000000000003 0 0 1 noreply\r\n1\r\n"
    "set row0000000000004 0 0 1 noreply\r\n1\r\n";
constexpr const char* kScanOfRow = "pscan row 10\r\n";

class ReadThatWaits : public ::testing::TestWithParam<Read> {};

TEST_P(ReadThatWaits, UntilTheItemThatItHasSeenIsOnDisk) {
  DiskServer server;
  Wire writer{server};
  Wire reader{server};
  const std::string set = "set k 0 100 1 noreply\r\n1\r\n";
  writer.send(set + GetParam().before);
  server.sync();
  static_cast<void>(writer.received());
  const std::string now = reader.ask(GetParam().read);
  EXPECT_NE(now, "") << "nothing is new";
  writer.send(GetParam().change);
  EXPECT_EQ(reader.ask(GetParam().read), "");
  server.sync();
  EXPECT_NE(reader.received(), "");
  EXPECT_NE(reader.ask(GetParam().read), "") << "all is on disk";
}

INSTANTIATE_TEST_SUITE_P(
    Server, ReadThatWaits,
    ::testing::Values(
        Read{"GetOfAnUpdate", "set k 0 0 1\r\n2\r\n", "get k\r\n"},
        Read{"GetsOfAnUpdate", "set k 0 0 1\r\n2\r\n", "gets k\r\n"},
        Read{"GetOfSeveral", "set k 0 0 1\r\n2\r\n", "get a b k\r\n"},
        Read{"GetOfADeletedOne", "delete k\r\n", "get k\r\n"},
        Read{"GetOfANewOne", "set l 0 0 1\r\n2\r\n", "get l\r\n"},
        Read{"GetOfATouchedOne", "touch k 200\r\n", "get k\r\n"},
        Read{"GetOfOneThatWasMadeToExpire", "touch k -1\r\n", "get k\r\n"},
        Read{"GetAfterAFlush", "flush_all\r\n", "get k\r\n"},
        Read{"GetAfterADelayedFlush", "flush_all 100\r\n", "get k\r\n"},
        Read{"GetAfterARangeDelete", "mx k p X\r\n", "get k\r\n"},
        Read{"GetAfterARangeTouch", "mt k p T7\r\n", "get k\r\n"},
        Read{"GetAfterABatch", "mb 2\r\nms k 1\r\n2\r\nmd l\r\n", "get k\r\n"},
        Read{"GetAfterABatchThatDeleted", "mb 2\r\nms k 1\r\n2\r\nmd l\r\n", "get l\r\n",
             "set l 0 0 1 noreply\r\n1\r\n"},
        Read{"GetOfAPlainOne", "set row0000000000002 0 0 1\r\n2\r\n", "get row0000000000002\r\n", kRow},
        Read{"GetOfAPlainOneThatWasDeleted", "delete row0000000000002\r\n", "get row0000000000002\r\n", kRow},
        Read{"GetOfAPlainOneThatWasTouched", "touch row0000000000002 100\r\n", "get row0000000000002\r\n",
             kRow},
        Read{"GetOfAPlainOneAfterADelayedFlush", "flush_all 100\r\n", "get row0000000000002\r\n", kRow},
        Read{"MetaGet", "set k 0 0 1\r\n2\r\n", "mg k v\r\n"},
        Read{"MetaGetOfADeletedOne", "md k\r\n", "mg k v\r\n"},
        Read{"MetaGetOfATimeToLive", "touch k 200\r\n", "mg k t\r\n"},
        Read{"MetaDebug", "set k 0 0 1\r\n2\r\n", "me k\r\n"},
        Read{"Scan", "set l 0 0 1\r\n2\r\n", "scan k 10\r\n"},
        Read{"ScanOfADeletedOne", "delete k\r\n", "scan k 10\r\n"},
        Read{"ScanBackward", "set j 0 0 1\r\n2\r\n", "scan - + 10 reverse\r\n"},
        Read{"ScanOfOneThatWasMadeToExpire", "touch k -1\r\n", "pscan k 10\r\n"},
        Read{"ScanOfARowWithAnUpdate", "set row0000000000002 0 0 1\r\n2\r\n", kScanOfRow, kRow},
        Read{"ScanOfARowWithANewOne", "set row0000000000000 0 0 1\r\n2\r\n", kScanOfRow, kRow},
        Read{"ScanOfARowWithADeletedOne", "delete row0000000000002\r\n", kScanOfRow, kRow},
        Read{"ScanOfARowWithATouchedOne", "touch row0000000000002 100\r\n", kScanOfRow, kRow},
        Read{"ScanOfARowAfterADelayedFlush", "flush_all 100\r\n", kScanOfRow, kRow},
        Read{"MetaRange", "set kk 0 0 1\r\n2\r\n", "mr k p v\r\n"},
        Read{"Count", "set kk 0 0 1\r\n2\r\n", "mc k p\r\n"},
        Read{"CountOfADeletedOne", "delete k\r\n", "mc k p\r\n"},
        Read{"Dump", "set kk 0 0 1\r\n2\r\n", "lru_crawler metadump all\r\n"},
        Read{"DumpOfADeletedOne", "delete k\r\n", "lru_crawler mgdump all\r\n"},
        Read{"DumpOfATouchedOne", "touch k 200\r\n", "lru_crawler metadump all\r\n"},
        Read{"Gat", "set k 0 0 1\r\n2\r\n", "gat 100 k\r\n"}),
    [](const auto& read) { return std::string{read.param.name}; });

// Its reply shows another item, and nothing of its leaf's floor.
TEST(ReadsOfPlainItems, DoNotWaitForChangesOfTheirNeighbours) {
  DiskServer server;
  Wire client{server};
  client.send(std::string{kRow} + "set k 0 100 1 noreply\r\n1\r\n");
  server.sync();
  Wire writer{server};
  writer.send(
      "touch k 200 noreply\r\ndelete row0000000000001 noreply\r\n"
      "set row0000000000003 0 0 1 noreply\r\n2\r\n");
  EXPECT_EQ(client.ask("get row0000000000002\r\n"), "VALUE row0000000000002 0 1\r\n1\r\nEND\r\n");
  EXPECT_EQ(client.ask("mg row0000000000004 v\r\n"), "VA 1\r\n1\r\n");
  EXPECT_EQ(client.ask(kScanOfRow), "") << "a range tells of all of its leaf";
  server.sync();
  EXPECT_NE(client.received(), "");
}

// The horizon of the round's begin does not include the change.
TEST(ReadsOfPlainItems, WaitForAFlushOfTheirOwnRound) {
  for (const std::string read : {"get row0000000000002\r\n", kScanOfRow}) {
    DiskServer server;
    const Wire writer{server};
    Wire client{server};
    client.send(kRow);
    server.sync();
    const std::uint64_t recorded = server.disk.recorded;
    writer.put("flush_all 100 noreply\r\n");
    EXPECT_EQ(client.ask(read), "") << read;
    EXPECT_GT(server.disk.recorded, recorded);
    server.sync();
    EXPECT_NE(client.received(), "");
  }
}

/// A request that may change an item, and its reply while changes are refused.
struct Refused {
  const char* name;
  std::string request;
  std::string reply = "SERVER_ERROR journal: no space left on device\r\n";
};

std::ostream& operator<<(std::ostream& out, const Refused& refused) {
  return out << refused.name;
}

class RefusedRequest : public ::testing::TestWithParam<Refused> {};

TEST_P(RefusedRequest, ChangesNothing) {
  DiskServer server;
  Wire client{server};
  client.send("set k 0 0 1 noreply\r\n1\r\n");
  server.sync();
  const std::uint64_t recorded = server.disk.recorded;
  server.disk.reason = "no space left on device";
  server.run();
  EXPECT_EQ(client.ask(GetParam().request), GetParam().reply);
  EXPECT_EQ(client.ask("get k\r\n"), "VALUE k 0 1\r\n1\r\nEND\r\n") << "reads go on";
  EXPECT_EQ(server.disk.recorded, recorded);
  server.disk.reason = nullptr;
  server.run();
  EXPECT_EQ(client.ask("set k 0 0 1 noreply\r\n2\r\nmn\r\n"), "") << "writes go on, and wait for the disk";
  server.sync();
  EXPECT_EQ(client.received(), "MN\r\n");
}

INSTANTIATE_TEST_SUITE_P(
    Server, RefusedRequest,
    ::testing::Values(Refused{"Set", "set k 0 0 1\r\n2\r\n"},
                      Refused{"SetOfALargeOne", "set k 0 0 20000\r\n" + std::string(20000, 'x') + "\r\n"},
                      Refused{"SetWithoutReply", "set k 0 0 1 noreply\r\n2\r\n", ""},
                      Refused{"Add", "add l 0 0 1\r\n2\r\n"}, Refused{"Replace", "replace k 0 0 1\r\n2\r\n"},
                      Refused{"Append", "append k 0 0 1\r\n2\r\n"},
                      Refused{"Prepend", "prepend k 0 0 1\r\n2\r\n"},
                      Refused{"Cas", "cas k 0 0 1 5\r\n2\r\n"}, Refused{"Incr", "incr k 1\r\n"},
                      Refused{"Decr", "decr k 1\r\n"}, Refused{"Delete", "delete k\r\n"},
                      Refused{"Touch", "touch k 100\r\n"}, Refused{"Gat", "gat 100 k\r\n"},
                      Refused{"GatOfSeveral", "gat 100 k l\r\n", "END\r\n"},
                      Refused{"MetaSet", "ms k 1\r\n2\r\n"}, Refused{"QuietMetaSet", "ms k 1 q\r\n2\r\n"},
                      Refused{"MetaDelete", "md k\r\n"}, Refused{"QuietMetaDelete", "md k q\r\n"},
                      Refused{"MetaArithmetic", "ma k\r\n"}, Refused{"MetaTouch", "mg k T100\r\n"},
                      Refused{"MetaGetThatMakes", "mg l N100\r\n"},
                      Refused{"MetaGet", "mg k v\r\n", "VA 1\r\n1\r\n"}, Refused{"RangeDelete", "mx k p\r\n"},
                      Refused{"RangeDeleteOfAll", "mx k p X\r\n"}, Refused{"RangeTouch", "mt k p T7\r\n"},
                      Refused{"Flush", "flush_all\r\n"}, Refused{"FlushLater", "flush_all 100\r\n"},
                      Refused{"FlushWithoutReply", "flush_all noreply\r\n", ""},
                      Refused{"Batch", "mb 2\r\nmg k v\r\nms k 1\r\n2\r\n",
                              "EX 2 SERVER_ERROR journal: no space left on device\r\n"},
                      Refused{"BatchOfReads", "mb 1\r\nmg k v\r\n", "VA 1\r\n1\r\nHD\r\n"},
                      Refused{"Scan", "scan k 10\r\n", "VALUE k 0 1\r\n1\r\nEND\r\n"}),
    [](const auto& refused) { return std::string{refused.param.name}; });

}  // namespace
}  // namespace mxkv::server::test
