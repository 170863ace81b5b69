// Protocols: the bytes of every request, and every kind of reply, however the bytes arrive.
#include "bench/client/wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/bench/wire_fixture.hpp"

namespace mxkv::bench {
namespace {

using testing::expect_outcome;
using testing::key_of;
using testing::operation_of;
using testing::request_of;
using testing::value_of;

class WireTest : public ::testing::Test {
 protected:
  WireTest() {
    WorkloadSpec spec;
    spec.record_count = 200;
    loaded_ = std::make_unique<LoadedKeys>(spec, KeyFormat(1));
    shape_ = RecordShape{KeyFormat(1), FieldFormat(testing::one_field(20), KeyFormat(1)), loaded_.get()};
  }

  [[nodiscard]] std::string key(std::uint64_t record) const { return key_of(shape_, fnv_hash64(record)); }
  [[nodiscard]] std::string value(std::uint64_t record) const { return value_of(shape_, fnv_hash64(record)); }
  [[nodiscard]] std::string item(std::uint64_t hash) const {
    return "VALUE " + key_of(shape_, hash) + " 0 20\r\n" + value_of(shape_, hash) + "\r\n";
  }
  [[nodiscard]] std::string member(std::uint64_t hash) const {
    const std::string text = key_of(shape_, hash) + " " + value_of(shape_, hash);
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
  }
  /// A scan of three records from the loaded key at this position.
  [[nodiscard]] Operation scan_from(std::size_t position) const {
    Operation scan = operation_of(OperationKind::scan, 0, 3);
    scan.key_hash = (*loaded_)[position];
    return scan;
  }

  std::unique_ptr<LoadedKeys> loaded_;
  RecordShape shape_;
};

TEST_F(WireTest, MemcachedRequestsAreThoseOfTheClassicProtocol) {
  const auto wire = make_memcached_wire(shape_);
  EXPECT_EQ(request_of(*wire, operation_of(OperationKind::read, 1)), "get " + key(1) + "\r\n");
  EXPECT_EQ(request_of(*wire, operation_of(OperationKind::scan, 1, 42)), "scan " + key(1) + " 42\r\n");
  const std::string set = "set " + key(1) + " 0 0 20\r\n" + value(1) + "\r\n";
  EXPECT_EQ(request_of(*wire, operation_of(OperationKind::update, 1)), set);
  EXPECT_EQ(request_of(*wire, operation_of(OperationKind::insert, 1)), set);
}

TEST_F(WireTest, MemcachedDeletesAreOkOnlyWhereThereWasARecord) {
  const auto wire = make_memcached_wire(shape_);
  const Operation removal = operation_of(OperationKind::remove, 1);
  EXPECT_EQ(request_of(*wire, removal), "delete " + key(1) + "\r\n");
  for (const auto& [reply, outcome] :
       {std::pair{"DELETED\r\n", Outcome::ok}, std::pair{"NOT_FOUND\r\n", Outcome::not_found},
        std::pair{"SERVER_ERROR busy\r\n", Outcome::error}, std::pair{"STORED\r\n", Outcome::out_of_step}}) {
    for (std::size_t cut = 0; cut <= std::string_view(reply).size(); ++cut) {
      std::string stream = reply;
      EXPECT_EQ(read_in_two(*wire, removal, stream, cut), outcome) << reply << cut;
    }
  }
}

TEST_F(WireTest, ATimeToLiveIsPartOfEachSet) {
  shape_.ttl_s = 90;
  EXPECT_EQ(request_of(*make_memcached_wire(shape_), operation_of(OperationKind::update, 1)),
            "set " + key(1) + " 0 90 20\r\n" + value(1) + "\r\n");
}

TEST_F(WireTest, MultiReadsAreVerifiedKeyByKey) {
  WorkloadSpec spec;
  spec.record_count = 200;
  spec.mix.multi_read_keys = 3;
  shape_.multi_keys = MultiReadKeys(spec);
  const Operation get = operation_of(OperationKind::multi_read, 7);
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t i = 0; i < 3; ++i) {
    hashes.push_back(shape_.multi_keys.key_number(get, i));
  }
  const auto key_text = [&](std::size_t i) { return key_of(shape_, hashes[i]); };
  const auto wire = make_memcached_wire(shape_);
  EXPECT_EQ(request_of(*wire, get), "get " + key_text(0) + " " + key_text(1) + " " + key_text(2) + "\r\n");
  const std::string first = item(hashes[0]);
  const std::string second = item(hashes[1]);
  const std::string third = item(hashes[2]);
  expect_outcome(*wire, get, first + second + third + "END\r\n", Outcome::ok);
  expect_outcome(*wire, get, first + third + "END\r\n", Outcome::not_found);
  expect_outcome(*wire, get, "END\r\n", Outcome::not_found);
  expect_outcome(*wire, get, first + second + third + third + "END\r\n", Outcome::wrong);
  expect_outcome(*wire, get, second + first + third + "END\r\n", Outcome::wrong);
  expect_outcome(*wire, get, first + item(fnv_hash64(9999)) + third + "END\r\n", Outcome::wrong);
  expect_outcome(*wire, get, first + "SERVER_ERROR out of memory\r\n", Outcome::error);
  expect_outcome(*wire, get, "VALUE " + key_text(0) + " 0 20\r\n" + value(11) + "\r\nEND\r\n",
                 Outcome::wrong);
  expect_outcome(*wire, get, "STORED\r\n", Outcome::out_of_step);

  const auto redis = make_redis_wire(shape_, {.indexed = false});
  const auto bulk = [](const std::string& text) {
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
  };
  const auto value_text = [&](std::size_t i) { return bulk(value_of(shape_, hashes[i])); };
  EXPECT_EQ(request_of(*redis, get),
            "*4\r\n$4\r\nMGET\r\n" + bulk(key_text(0)) + bulk(key_text(1)) + bulk(key_text(2)));
  expect_outcome(*redis, get, "*3\r\n" + value_text(0) + value_text(1) + value_text(2), Outcome::ok);
  expect_outcome(*redis, get, "*3\r\n" + value_text(0) + "$-1\r\n" + value_text(2), Outcome::not_found);
  expect_outcome(*redis, get, "*3\r\n" + value_text(0) + value_text(0) + value_text(2), Outcome::wrong);
  expect_outcome(*redis, get, "*2\r\n" + value_text(0) + value_text(1), Outcome::out_of_step);
  expect_outcome(*redis, get, "-ERR no\r\n", Outcome::error);

  const auto echo = make_echo_wire(shape_);
  EXPECT_EQ(request_of(*echo, get), request_of(*wire, get));
  expect_outcome(*echo, get, std::string(first.size() + second.size() + third.size() + 5, 'x'), Outcome::ok);
}

TEST_F(WireTest, MemcachedGetsAreVerifiedAtEverySplitPoint) {
  const auto wire = make_memcached_wire(shape_);
  const Operation get = operation_of(OperationKind::read, 1);
  const std::string right = item(fnv_hash64(1));
  expect_outcome(*wire, get, right + "END\r\n", Outcome::ok);
  expect_outcome(*wire, get, "END\r\n", Outcome::not_found);
  expect_outcome(*wire, get, item(fnv_hash64(2)) + "END\r\n", Outcome::wrong);
  expect_outcome(*wire, get, "VALUE " + key(1) + " 0 3\r\nabc\r\nEND\r\n", Outcome::wrong);
  expect_outcome(*wire, get, "VALUE " + key(1) + " 0 20\r\n" + value(2) + "\r\nEND\r\n", Outcome::wrong);
  expect_outcome(*wire, get, "SERVER_ERROR out of memory\r\n", Outcome::error);
  expect_outcome(*wire, get, right + "VALUE", Outcome::out_of_step);
  expect_outcome(*wire, get, "VALUE " + key(1) + " 0 x\r\n", Outcome::out_of_step);
  expect_outcome(*wire, get, "VALUE " + key(1) + " 0 1\r\nabcdef\r\n", Outcome::out_of_step);
  expect_outcome(*wire, get, "STORED\r\n", Outcome::out_of_step);
}

TEST_F(WireTest, MemcachedSetsAreOkOnlyWhenStored) {
  const auto wire = make_memcached_wire(shape_);
  const Operation set = operation_of(OperationKind::update, 1);
  expect_outcome(*wire, set, "STORED\r\n", Outcome::ok);
  expect_outcome(*wire, set, "NOT_STORED\r\n", Outcome::error);
  expect_outcome(*wire, set, "SERVER_ERROR out of memory storing object\r\n", Outcome::error);
  expect_outcome(*wire, set, "CLIENT_ERROR bad data chunk\r\n", Outcome::error);
  expect_outcome(*wire, set, "ERROR\r\n", Outcome::error);
  expect_outcome(*wire, set, "END\r\n", Outcome::out_of_step);
}

TEST_F(WireTest, MemcachedScansAreVerifiedAtEverySplitPoint) {
  const auto wire = make_memcached_wire(shape_);
  const LoadedKeys& loaded = *loaded_;
  const Operation scan = scan_from(10);
  expect_outcome(*wire, scan, item(loaded[10]) + item(loaded[11]) + item(loaded[12]) + "END\r\n",
                 Outcome::ok);
  expect_outcome(*wire, scan, item(loaded[10]) + "CURSOR abc=\r\nEND\r\n", Outcome::ok);
  expect_outcome(*wire, scan, "END\r\n", Outcome::not_found);
  expect_outcome(*wire, scan, item(loaded[10]) + item(loaded[11]) + "END\r\n", Outcome::wrong);
  expect_outcome(*wire, scan, item(loaded[10]) + item(loaded[12]) + item(loaded[13]) + "END\r\n",
                 Outcome::wrong);
  std::string torn = item(loaded[10]) + item(loaded[11]) + item(loaded[12]) + "END\r\n";
  torn[torn.size() - 10] ^= 1;
  expect_outcome(*wire, scan, torn, Outcome::wrong);
  expect_outcome(*wire, scan, "CLIENT_ERROR bad command line format\r\n", Outcome::error);
  expect_outcome(*wire, scan, item(loaded[10]) + "STORED\r\n", Outcome::out_of_step);
}

TEST_F(WireTest, RedisLexScansAreVerifiedAtEverySplitPoint) {
  const auto wire = make_redis_lex_wire(shape_);
  const LoadedKeys& loaded = *loaded_;
  const Operation scan = scan_from(10);
  EXPECT_EQ(request_of(*wire, scan), "*7\r\n$11\r\nZRANGEBYLEX\r\n$4\r\nmxkv\r\n$" +
                                         std::to_string(key_of(shape_, loaded[10]).size() + 1) + "\r\n[" +
                                         key_of(shape_, loaded[10]) +
                                         "\r\n$1\r\n+\r\n$5\r\nLIMIT\r\n$1\r\n0\r\n$1\r\n3\r\n");
  expect_outcome(*wire, scan, "*3\r\n" + member(loaded[10]) + member(loaded[11]) + member(loaded[12]),
                 Outcome::ok);
  expect_outcome(*wire, scan, "*2\r\n" + member(loaded[10]) + member(loaded[11]), Outcome::wrong);
  expect_outcome(*wire, scan, "*0\r\n", Outcome::not_found);
  expect_outcome(*wire, scan, "-ERR\r\n", Outcome::error);
  expect_outcome(*wire, scan, "*1\r\n:3\r\n", Outcome::out_of_step);
  expect_outcome(*wire, operation_of(OperationKind::insert, 1), ":1\r\n", Outcome::ok);
}

TEST_F(WireTest, EchoRepliesAreAsLongAsMemcachedsRightOnes) {
  const auto wire = make_echo_wire(shape_);
  const Operation get = operation_of(OperationKind::read, 1);
  EXPECT_EQ(request_of(*wire, get), request_of(*make_memcached_wire(shape_), get));
  expect_outcome(*wire, get, item(fnv_hash64(1)) + "END\r\n", Outcome::ok);
  expect_outcome(*wire, operation_of(OperationKind::update, 1), "STORED\r\n", Outcome::ok);
  Operation scan = scan_from(10);
  scan.scan_length = 1;
  expect_outcome(*wire, scan, item((*loaded_)[10]) + "END\r\n", Outcome::ok);
}

}  // namespace
}  // namespace mxkv::bench
