// Atomic operations on many keys: the bytes of the requests, and every kind of reply, however the bytes
// arrive.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "bench/client/wire.hpp"
#include "tests/unit/bench/wire_fixture.hpp"

namespace mxkv::bench {
namespace {

using testing::expect_outcome;
using testing::key_of;
using testing::operation_of;
using testing::request_of;
using testing::value_of;

class ManyKeysTest : public ::testing::Test {
 protected:
  ManyKeysTest() {
    WorkloadSpec spec;
    spec.record_count = 200;
    loaded_ = std::make_unique<LoadedKeys>(spec, KeyFormat(20));
    shape_ =
        RecordShape{KeyFormat(20), FieldFormat(testing::one_field(20), KeyFormat(20)), loaded_.get(), {}, {}};
    shape_.many.prefix_bytes = 6;
    shape_.many.touch_s = 60;
    wire_ = make_memcached_wire(shape_);
  }

  [[nodiscard]] std::string key(std::size_t position) const { return key_of(shape_, (*loaded_)[position]); }
  [[nodiscard]] std::string item(std::uint64_t hash) const {
    return "VA 20 k" + key_of(shape_, hash) + "\r\n" + value_of(shape_, hash) + "\r\n";
  }
  [[nodiscard]] std::string items(std::size_t first, std::size_t count) const {
    std::string all;
    for (std::size_t i = first; i < first + count; ++i) {
      all += item((*loaded_)[i]);
    }
    return all;
  }
  [[nodiscard]] Operation from(OperationKind kind, std::size_t position) const {
    Operation operation = operation_of(kind, 0, 3);
    operation.key_hash = (*loaded_)[position];
    return operation;
  }

  std::unique_ptr<LoadedKeys> loaded_;
  RecordShape shape_;
  std::unique_ptr<Wire> wire_;
};

TEST_F(ManyKeysTest, ALockedScanIsOnePageFromItsKeyOn) {
  const Operation scan = from(OperationKind::locked_scan, 10);
  EXPECT_EQ(request_of(*wire_, scan), "mr " + key(10) + " v A3 X\r\n");
  expect_outcome(*wire_, scan, items(10, 3) + "EN A3 Gabc=\r\n", Outcome::ok);
  expect_outcome(*wire_, scan, items(10, 3) + "EN A3\r\n", Outcome::ok);
  expect_outcome(*wire_, scan, items(10, 2) + "EN A2 Gabc=\r\n", Outcome::ok);  // a ceiling of the server
  expect_outcome(*wire_, from(OperationKind::locked_scan, 198), items(198, 2) + "EN A2\r\n", Outcome::ok);
}

TEST_F(ManyKeysTest, APageIsVerifiedAtEverySplitPoint) {
  const Operation scan = from(OperationKind::locked_scan, 10);
  const std::string end = "EN A3 Gabc=\r\n";
  expect_outcome(*wire_, scan, "EN A0\r\n", Outcome::not_found);
  expect_outcome(*wire_, scan, items(10, 2) + "EN A2\r\n", Outcome::wrong);
  expect_outcome(*wire_, scan, items(10, 3) + "EN A2 Gabc=\r\n", Outcome::wrong);
  expect_outcome(*wire_, scan, items(11, 3) + end, Outcome::wrong);
  expect_outcome(*wire_, scan, items(10, 1) + items(12, 2) + end, Outcome::wrong);
  expect_outcome(*wire_, scan, items(10, 1) + items(10, 2) + end, Outcome::wrong);
  expect_outcome(*wire_, scan, items(10, 4) + "EN A4 Gabc=\r\n", Outcome::wrong);
  std::string torn = items(10, 3) + end;
  torn[torn.size() - end.size() - 5] ^= 1;
  expect_outcome(*wire_, scan, torn, Outcome::wrong);
  expect_outcome(*wire_, scan, "VA 20 kstranger\r\n" + value_of(shape_, 1) + "\r\nEN A1 Gabc=\r\n",
                 Outcome::wrong);
}

TEST_F(ManyKeysTest, APageThatIsNoneIsSaidToBeSo) {
  const Operation scan = from(OperationKind::locked_scan, 10);
  expect_outcome(*wire_, scan, "CLIENT_ERROR bad command line format\r\n", Outcome::error);
  expect_outcome(*wire_, scan, items(10, 1) + "SERVER_ERROR out of memory\r\n", Outcome::error);
  for (const char* nonsense :
       {"EN Ax\r\n", "EN A\r\n", "VA 20 \r\n", "VA x kuser\r\n", "STORED\r\n", "VA 1 kuser\r\nabcdef\r\n"}) {
    expect_outcome(*wire_, scan, items(10, 1) + nonsense, Outcome::out_of_step);
  }
}

TEST_F(ManyKeysTest, APageBehindOneThatFailedBeginsAnew) {
  const Operation scan = from(OperationKind::locked_scan, 10);
  ReplyState state;
  const std::string failed = "SERVER_ERROR out of memory\r\n";
  Step step = wire_->read_reply(scan, items(10, 1), state);
  EXPECT_EQ(step.outcome, Outcome::incomplete);
  EXPECT_EQ(wire_->read_reply(scan, failed, state).outcome, Outcome::error);
  std::string whole = items(50, 3) + "EN A3 Gabc=\r\n";
  EXPECT_EQ(testing::read_in_two(*wire_, from(OperationKind::locked_scan, 50), whole, 7, state), Outcome::ok);
}

TEST_F(ManyKeysTest, ATouchMustMeetEveryLoadedKeyWithItsPrefix) {
  const Operation touch = from(OperationKind::locked_touch, 10);
  const std::string prefix = key(10).substr(0, 6);
  EXPECT_EQ(request_of(*wire_, touch), "mt " + prefix + " p T60\r\n");
  std::size_t there = 0;
  for (std::size_t i = 0; i < loaded_->size(); ++i) {
    there += key(i).starts_with(prefix) ? 1 : 0;
  }
  ASSERT_GT(there, 1U);
  ASSERT_LT(there, loaded_->size());
  const auto reply = [](std::size_t touched) { return "HD A" + std::to_string(touched) + "\r\n"; };
  expect_outcome(*wire_, touch, reply(there), Outcome::ok);
  expect_outcome(*wire_, touch, reply(there + 1), Outcome::ok);  // another client's
  expect_outcome(*wire_, touch, reply(there - 1), Outcome::not_found);
  expect_outcome(*wire_, touch, reply(0), Outcome::not_found);
  expect_outcome(*wire_, touch, "CLIENT_ERROR too many keys in the range\r\n", Outcome::error);
  expect_outcome(*wire_, touch, "HD\r\n", Outcome::out_of_step);
  expect_outcome(*wire_, touch, "HD Ax\r\n", Outcome::out_of_step);

  shape_.many.prefix_bytes = 250;  // beyond the key: all of it
  EXPECT_EQ(request_of(*make_memcached_wire(shape_), touch), "mt " + key(10) + " p T60\r\n");
}

TEST_F(ManyKeysTest, ABatchIsDoneWhenEachOfItsLinesIs) {
  const std::array<std::uint64_t, 3> hashes{(*loaded_)[10], (*loaded_)[150], (*loaded_)[10]};
  Operation batch = from(OperationKind::batch, 10);
  batch.batch = hashes;
  batch.version = 5;
  std::string request = "mb 3\r\n";
  for (const std::uint64_t hash : hashes) {
    request += "ms " + key_of(shape_, hash) + " 20\r\n" + value_of(shape_, hash, 5) + "\r\n";
  }
  EXPECT_EQ(request_of(*wire_, batch), request);
  expect_outcome(*wire_, batch, "HD\r\nHD\r\nHD\r\nHD\r\n", Outcome::ok);
  expect_outcome(*wire_, batch, "EX 2 NS\r\n", Outcome::error);
  expect_outcome(*wire_, batch, "EX 1 SERVER_ERROR out of memory storing object\r\n", Outcome::error);
  expect_outcome(*wire_, batch, "SERVER_ERROR out of memory\r\n", Outcome::error);
  expect_outcome(*wire_, batch, "CLIENT_ERROR too many lines\r\n", Outcome::error);
  expect_outcome(*wire_, batch, "HD\r\nHD\r\nEX 2 NS\r\n", Outcome::out_of_step);
  expect_outcome(*wire_, batch, "STORED\r\n", Outcome::out_of_step);
}

}  // namespace
}  // namespace mxkv::bench
