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
    hashes_ = make_redis_wire(shape_, {.hashes = true, .indexed = true});
    strings_ = make_redis_wire(shape_, {.hashes = false, .indexed = true});
  }

  [[nodiscard]] std::string key(std::uint64_t hash) const { return key_of(shape_, hash); }
  [[nodiscard]] std::string field(std::uint64_t hash, std::uint32_t number) const {
    std::string text(20, '\0');
    shape_.fields.write_field(hash, 0, number, text.data(), text.size());
    return text;
  }
  [[nodiscard]] std::string both_fields(std::uint64_t hash) const {
    return bulk("field0") + bulk(field(hash, 0)) + bulk("field1") + bulk(field(hash, 1));
  }
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
  std::unique_ptr<Wire> hashes_;
  std::unique_ptr<Wire> strings_;
  const std::uint64_t hash_ = fnv_hash64(1);
};

TEST_F(RedisWireTest, HashesAreWrittenFieldByField) {
  const std::string hset = "*6\r\n$4\r\nHSET\r\n" + bulk(key(hash_)) + both_fields(hash_);
  EXPECT_EQ(request_of(*hashes_, operation_of(OperationKind::update, 1)), hset);
  EXPECT_EQ(request_of(*hashes_, operation_of(OperationKind::insert, 1)), hset + zadd(hash_));
  Operation one = operation_of(OperationKind::update, 1);
  one.update_field = 1;
  EXPECT_EQ(request_of(*hashes_, one),
            "*4\r\n$4\r\nHSET\r\n" + bulk(key(hash_)) + bulk("field1") + bulk(field(hash_, 1)));
  Operation read = operation_of(OperationKind::read, 1);
  EXPECT_EQ(request_of(*hashes_, read), "*2\r\n$7\r\nHGETALL\r\n" + bulk(key(hash_)));
  read.read_field = 1;
  EXPECT_EQ(request_of(*hashes_, read), "*3\r\n$4\r\nHGET\r\n" + bulk(key(hash_)) + bulk("field1"));
}

TEST_F(RedisWireTest, StringsAreWrittenWhole) {
  const std::string set = "*3\r\n$3\r\nSET\r\n" + bulk(key(hash_)) + bulk(value_of(shape_, hash_));
  Operation one = operation_of(OperationKind::update, 1);
  one.update_field = 1;
  EXPECT_EQ(request_of(*strings_, one), set);
  EXPECT_EQ(request_of(*strings_, operation_of(OperationKind::insert, 1)), set + zadd(hash_));
  EXPECT_EQ(request_of(*make_redis_wire(shape_, {.hashes = false, .indexed = false}),
                       operation_of(OperationKind::insert, 1)),
            set);
  EXPECT_EQ(request_of(*strings_, operation_of(OperationKind::read, 1)),
            "*2\r\n$3\r\nGET\r\n" + bulk(key(hash_)));
}

TEST_F(RedisWireTest, HashesAreVerifiedAtEverySplitPoint) {
  const Operation read = operation_of(OperationKind::read, 1);
  expect_outcome(*hashes_, read, "*4\r\n" + both_fields(hash_), Outcome::ok);
  expect_outcome(*hashes_, read,
                 "*4\r\n" + bulk("field1") + bulk(field(hash_, 1)) + bulk("field0") + bulk(field(hash_, 0)),
                 Outcome::ok);  // redis keeps no order of fields
  expect_outcome(*hashes_, read, "*0\r\n", Outcome::not_found);
  expect_outcome(*hashes_, read, "*2\r\n" + bulk("field0") + bulk(field(hash_, 0)), Outcome::wrong);
  expect_outcome(*hashes_, read, "*4\r\n" + both_fields(fnv_hash64(2)), Outcome::wrong);
  expect_outcome(*hashes_, read,
                 "*4\r\n" + bulk("field0") + bulk(field(hash_, 1)) + bulk("field1") + bulk(field(hash_, 0)),
                 Outcome::wrong);
  expect_outcome(*hashes_, read,
                 "*4\r\n" + bulk("other") + bulk(field(hash_, 0)) + bulk("field1") + bulk(field(hash_, 1)),
                 Outcome::wrong);
  expect_outcome(*hashes_, read, "-WRONGTYPE\r\n", Outcome::error);
  expect_outcome(*hashes_, read, "+OK\r\n", Outcome::out_of_step);
  expect_outcome(*hashes_, read, "*4\r\n:1\r\n", Outcome::out_of_step);
  Operation one = read;
  one.read_field = 1;
  expect_outcome(*hashes_, one, bulk(field(hash_, 1)), Outcome::ok);
  expect_outcome(*hashes_, one, bulk(field(hash_, 0)), Outcome::wrong);
  expect_outcome(*hashes_, one, "$-1\r\n", Outcome::not_found);
}

TEST_F(RedisWireTest, StringsAreVerifiedAtEverySplitPoint) {
  const Operation get = operation_of(OperationKind::read, 1);
  expect_outcome(*strings_, get, bulk(value_of(shape_, hash_)), Outcome::ok);
  expect_outcome(*strings_, get, bulk(value_of(shape_, fnv_hash64(2))), Outcome::wrong);
  expect_outcome(*strings_, get, "$-1\r\n", Outcome::not_found);
  expect_outcome(*strings_, get, "-ERR wrong\r\n", Outcome::error);
  expect_outcome(*strings_, get, "+OK\r\n", Outcome::out_of_step);
  expect_outcome(*strings_, get, "$2\r\nabcd", Outcome::out_of_step);
}

TEST_F(RedisWireTest, WritesAreOkOnlyWithAllTheirReplies) {
  const Operation update = operation_of(OperationKind::update, 1);
  const Operation insert = operation_of(OperationKind::insert, 1);
  expect_outcome(*strings_, update, "+OK\r\n", Outcome::ok);
  expect_outcome(*strings_, update, "-OOM\r\n", Outcome::error);
  expect_outcome(*strings_, update, ":1\r\n", Outcome::out_of_step);
  expect_outcome(*hashes_, update, ":0\r\n", Outcome::ok);
  expect_outcome(*hashes_, update, "+OK\r\n", Outcome::out_of_step);
  expect_outcome(*hashes_, insert, ":2\r\n:1\r\n", Outcome::ok);
  expect_outcome(*strings_, insert, "+OK\r\n:1\r\n", Outcome::ok);
  expect_outcome(*hashes_, insert, "-OOM\r\n:1\r\n", Outcome::error);
  expect_outcome(*hashes_, insert, ":2\r\n-OOM\r\n", Outcome::error);
  expect_outcome(*hashes_, insert, ":2\r\n+OK\r\n", Outcome::out_of_step);
}

TEST_F(RedisWireTest, ScansFindKeysByScoreThenReadTheirRecords) {
  const Operation scan = scan_from(10);
  const std::uint64_t first = (*loaded_)[10];
  const std::uint64_t second = (*loaded_)[11];
  EXPECT_EQ(request_of(*hashes_, scan), "*7\r\n$13\r\nZRANGEBYSCORE\r\n" + bulk("_indices") +
                                            bulk(std::to_string(java_hash(key(first)))) + bulk("+inf") +
                                            bulk("LIMIT") + bulk("0") + bulk("2"));
  const std::string keys = "*2\r\n" + bulk(key(first)) + bulk(key(second));
  expect_outcome(*hashes_, scan, keys, Outcome::follow_up);
  expect_outcome(*hashes_, scan, "*0\r\n", Outcome::not_found);
  expect_outcome(*hashes_, scan, "*1\r\n" + bulk(key(first)), Outcome::wrong);
  expect_outcome(*hashes_, scan, "*2\r\n" + bulk(key(second)) + bulk(key(first)), Outcome::wrong);
  expect_outcome(*hashes_, scan, "*2\r\n" + bulk(key(first)) + bulk("foreign"), Outcome::wrong);
  expect_outcome(*hashes_, scan, "-ERR\r\n", Outcome::error);

  Operation records = scan;
  records.follow_up = true;
  for (const Wire* wire : {hashes_.get(), strings_.get()}) {
    ReplyState state;
    std::string stream = keys;
    while (!stream.empty()) {
      const Step step = wire->read_reply(scan, stream, state);
      ASSERT_TRUE(step.outcome == Outcome::incomplete || step.outcome == Outcome::follow_up);
      stream.erase(0, step.consumed);
    }
    ByteQueue out(16);
    wire->write_request(records, out, state);
    const bool hashes = wire == hashes_.get();
    const std::string command = hashes ? "*2\r\n$7\r\nHGETALL\r\n" : "";
    EXPECT_EQ(std::string(out.view()), (hashes ? "" : "*3\r\n$4\r\nMGET\r\n") + command + bulk(key(first)) +
                                           command + bulk(key(second)));
    const auto record = [&](std::uint64_t hash) {
      return hashes ? "*4\r\n" + both_fields(hash) : bulk(value_of(shape_, hash));
    };
    const std::string head = hashes ? "" : "*2\r\n";
    const std::string none = hashes ? "*0\r\n" : "$-1\r\n";
    expect_outcome(*wire, records, head + record(first) + record(second), Outcome::ok, state);
    expect_outcome(*wire, records, head + record(second) + record(first), Outcome::wrong, state);
    expect_outcome(*wire, records, head + record(first) + none, Outcome::not_found, state);
    expect_outcome(*wire, records, head + none + record(first), Outcome::not_found, state);
    expect_outcome(*wire, records, head + "+OK\r\n", Outcome::out_of_step, state);
  }
}

}  // namespace
}  // namespace mxkv::bench
