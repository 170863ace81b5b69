// redis as YCSB's binding uses it: the bytes of every request, and every kind of reply, however the bytes
// arrive.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/client/wire.hpp"
#include "bench/workload/java_text.hpp"
#include "tests/unit/bench/wire_fixture.hpp"

namespace mxkv::bench {
namespace {

using testing::key_of;
using testing::operation_of;
using testing::read_in_two;
using testing::request_of;
using testing::value_of;

constexpr std::string_view kNext = "NEXT";  // the bytes of a later reply, never to be touched

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

class RedisWireTest : public ::testing::Test {
 protected:
  RedisWireTest() {
    WorkloadSpec spec;
    spec.record_count = 200;
    loaded_ = std::make_unique<LoadedKeys>(spec, KeyFormat(1), ScanOrder::score);
    FieldSpec fields;
    fields.count = 2;
    fields.bytes = 20;
    shape_ = RecordShape{KeyFormat(1), FieldFormat(fields, KeyFormat(1)), loaded_.get()};
    redis_ = make_redis_wire(shape_, {.indexed = true});
  }

  [[nodiscard]] std::string key(std::uint64_t hash) const { return key_of(shape_, hash); }
  [[nodiscard]] std::string zadd(std::uint64_t hash) const {
    return "*4\r\n$4\r\nZADD\r\n" + bulk("_indices") + bulk(std::to_string(java_hash(key(hash)))) +
           bulk(key(hash));
  }
  [[nodiscard]] Operation scan_from(std::size_t position) const {
    Operation scan = operation_of(OperationKind::scan, 0, 2);
    scan.key_hash = (*loaded_)[position];
    return scan;
  }
  void expect_outcome(const Wire& wire, const Operation& operation, const std::string& reply, Outcome wanted,
                      const ReplyState& state = {}) const {
    for (std::size_t cut = 0; cut <= reply.size() + kNext.size(); ++cut) {
      std::string stream = reply + std::string(kNext);
      ASSERT_EQ(read_in_two(wire, operation, stream, cut, state), wanted)
          << "cut at " << cut << " of: " << reply;
      if (wanted != Outcome::out_of_step) {
        ASSERT_EQ(stream, kNext) << "cut at " << cut << " of: " << reply;
      }
    }
  }

  std::unique_ptr<LoadedKeys> loaded_;
  RecordShape shape_;
  std::unique_ptr<Wire> redis_;
  const std::uint64_t hash_ = fnv_hash64(1);
};

TEST_F(RedisWireTest, RecordsAreWrittenWhole) {
  const std::string set = "*3\r\n$3\r\nSET\r\n" + bulk(key(hash_)) + bulk(value_of(shape_, hash_));
  Operation one = operation_of(OperationKind::update, 1);
  one.update_field = 1;
  EXPECT_EQ(request_of(*redis_, one), set);
  EXPECT_EQ(request_of(*redis_, operation_of(OperationKind::insert, 1)), set + zadd(hash_));
  EXPECT_EQ(request_of(*make_redis_wire(shape_, {.indexed = false}), operation_of(OperationKind::insert, 1)),
            set);
  EXPECT_EQ(request_of(*redis_, operation_of(OperationKind::read, 1)),
            "*2\r\n$3\r\nGET\r\n" + bulk(key(hash_)));
}

TEST_F(RedisWireTest, RecordsAreVerifiedAtEverySplitPoint) {
  const Operation get = operation_of(OperationKind::read, 1);
  expect_outcome(*redis_, get, bulk(value_of(shape_, hash_)), Outcome::ok);
  expect_outcome(*redis_, get, bulk(value_of(shape_, fnv_hash64(2))), Outcome::wrong);
  expect_outcome(*redis_, get, "$-1\r\n", Outcome::not_found);
  expect_outcome(*redis_, get, "-ERR wrong\r\n", Outcome::error);
  expect_outcome(*redis_, get, "+OK\r\n", Outcome::out_of_step);
  expect_outcome(*redis_, get, "$2\r\nabcd", Outcome::out_of_step);
}

TEST_F(RedisWireTest, WritesAreOkOnlyWithAllTheirReplies) {
  const Operation update = operation_of(OperationKind::update, 1);
  const Operation insert = operation_of(OperationKind::insert, 1);
  expect_outcome(*redis_, update, "+OK\r\n", Outcome::ok);
  expect_outcome(*redis_, update, "-OOM\r\n", Outcome::error);
  expect_outcome(*redis_, update, ":1\r\n", Outcome::out_of_step);
  expect_outcome(*redis_, insert, "+OK\r\n:1\r\n", Outcome::ok);
  expect_outcome(*redis_, insert, "-OOM\r\n:1\r\n", Outcome::error);
  expect_outcome(*redis_, insert, "+OK\r\n-OOM\r\n", Outcome::error);
  expect_outcome(*redis_, insert, "+OK\r\n+OK\r\n", Outcome::out_of_step);
}

TEST_F(RedisWireTest, DeletesTakeTheKeyOutOfTheIndexToo) {
  const Operation removal = operation_of(OperationKind::remove, 3);
  const std::string name = key(removal.key_hash);
  EXPECT_EQ(request_of(*redis_, removal),
            "*2\r\n$3\r\nDEL\r\n" + bulk(name) + "*3\r\n$4\r\nZREM\r\n" + bulk("_indices") + bulk(name));
  const auto plain = make_redis_wire(shape_, {.indexed = false});
  EXPECT_EQ(request_of(*plain, removal), "*2\r\n$3\r\nDEL\r\n" + bulk(name));
  const std::vector<std::pair<std::string, Outcome>> replies{{":1\r\n:1\r\n", Outcome::ok},
                                                             {":0\r\n:0\r\n", Outcome::not_found},
                                                             {":0\r\n:1\r\n", Outcome::not_found},
                                                             {"-ERR\r\n:1\r\n", Outcome::error},
                                                             {":1\r\n-ERR\r\n", Outcome::error}};
  for (const auto& [reply, outcome] : replies) {
    for (std::size_t cut = 0; cut <= reply.size(); ++cut) {
      std::string stream = reply;
      EXPECT_EQ(read_in_two(*redis_, removal, stream, cut), outcome) << reply << cut;
    }
  }
}

TEST_F(RedisWireTest, ATimeToLiveIsPartOfEachSet) {
  shape_.ttl_s = 90;
  const Operation update = operation_of(OperationKind::update, 3);
  EXPECT_EQ(request_of(*make_redis_wire(shape_, {}), update),
            "*5\r\n$3\r\nSET\r\n" + bulk(key(update.key_hash)) + bulk(value_of(shape_, update.key_hash)) +
                bulk("EX") + bulk("90"));
}

TEST_F(RedisWireTest, ScansFindKeysByScoreThenReadTheirRecords) {
  const Operation scan = scan_from(10);
  const std::uint64_t first = (*loaded_)[10];
  const std::uint64_t second = (*loaded_)[11];
  EXPECT_EQ(request_of(*redis_, scan), "*7\r\n$13\r\nZRANGEBYSCORE\r\n" + bulk("_indices") +
                                           bulk(std::to_string(java_hash(key(first)))) + bulk("+inf") +
                                           bulk("LIMIT") + bulk("0") + bulk("2"));
  const std::string keys = "*2\r\n" + bulk(key(first)) + bulk(key(second));
  expect_outcome(*redis_, scan, keys, Outcome::follow_up);
  expect_outcome(*redis_, scan, "*0\r\n", Outcome::not_found);
  expect_outcome(*redis_, scan, "*1\r\n" + bulk(key(first)), Outcome::wrong);
  expect_outcome(*redis_, scan, "*2\r\n" + bulk(key(second)) + bulk(key(first)), Outcome::wrong);
  expect_outcome(*redis_, scan, "*2\r\n" + bulk(key(first)) + bulk("foreign"), Outcome::wrong);
  expect_outcome(*redis_, scan, "-ERR\r\n", Outcome::error);

  Operation records = scan;
  records.follow_up = true;
  ReplyState state;
  std::string stream = keys;
  while (!stream.empty()) {
    const Step step = redis_->read_reply(scan, stream, state);
    ASSERT_TRUE(step.outcome == Outcome::incomplete || step.outcome == Outcome::follow_up);
    stream.erase(0, step.consumed);
  }
  ByteQueue out(16);
  redis_->write_request(records, out, state);
  EXPECT_EQ(std::string(out.view()), "*3\r\n$4\r\nMGET\r\n" + bulk(key(first)) + bulk(key(second)));
  const auto record = [&](std::uint64_t hash) { return bulk(value_of(shape_, hash)); };
  const std::string head = "*2\r\n";
  const std::string none = "$-1\r\n";
  expect_outcome(*redis_, records, head + record(first) + record(second), Outcome::ok, state);
  expect_outcome(*redis_, records, head + record(second) + record(first), Outcome::wrong, state);
  expect_outcome(*redis_, records, head + record(first) + none, Outcome::not_found, state);
  expect_outcome(*redis_, records, head + none + record(first), Outcome::not_found, state);
  expect_outcome(*redis_, records, head + "+OK\r\n", Outcome::out_of_step, state);
}

}  // namespace
}  // namespace mxkv::bench
