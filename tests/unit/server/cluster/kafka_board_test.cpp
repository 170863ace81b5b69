// A board on Kafka, over the library's mock brokers within the process.
#include "server/cluster/kafka_board.hpp"

#include <gmock/gmock.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace mxkv::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kBoardTopic = "test.map";

struct Watcher final : BoardSink {
  void put_up(std::uint64_t position, std::string_view key, std::optional<std::string_view> value) override {
    EXPECT_TRUE(positions.empty() || positions.back() < position);
    positions.push_back(position);
    seen.push_back(std::string{key} + (value ? "=" + std::string{*value} : " gone"));
  }
  void caught_up() override {
    ++times;
    before = seen.size();
  }
  std::vector<std::uint64_t> positions;
  std::vector<std::string> seen;
  int times = 0;           ///< times that caught_up() was called
  std::size_t before = 0;  ///< messages that had arrived by then
};

class KafkaBoardTest : public testing::Test {
 protected:
  KafkaBoardTest() {
    std::array<char, 512> error{};
    rd_kafka_conf_t* const conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "log_level", "0", error.data(), error.size());
    host_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.data(), error.size());
    brokers = rd_kafka_mock_cluster_new(host_, 3);
    rd_kafka_mock_topic_create(brokers, kBoardTopic, 1, 3);
  }
  ~KafkaBoardTest() override {
    rd_kafka_mock_cluster_destroy(brokers);
    rd_kafka_destroy(host_);
  }
  [[nodiscard]] KafkaOptions options() const {
    return {
        .brokers = rd_kafka_mock_cluster_bootstraps(brokers), .properties = {}, .append_timeout_ms = 1500};
  }
  static bool holds(KafkaBoard& board, const std::function<bool()>& what) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    while (!what() && std::chrono::steady_clock::now() < end) {
      board.poll(20);
    }
    return what();
  }

  rd_kafka_mock_cluster_t* brokers = nullptr;

 private:
  rd_kafka_t* host_ = nullptr;
};

TEST_F(KafkaBoardTest, AnEmptyOneIsReadToItsEndOnce) {
  Watcher watcher;
  KafkaBoard board{options(), kBoardTopic, watcher};
  ASSERT_TRUE(holds(board, [&] { return watcher.times != 0; })) << board.last_error();
  EXPECT_THAT(watcher.seen, IsEmpty());
  bool stored = false;
  board.put("a", "1", [&](bool is) { stored = is; });
  EXPECT_FALSE(stored) << "answers come by poll()";
  ASSERT_TRUE(holds(board, [&] { return stored && watcher.seen.size() == 1; }));
  board.poll(200);
  EXPECT_EQ(watcher.times, 1);
}

TEST_F(KafkaBoardTest, AllReadersSeeOneOrderAndLateOnesLearnWhenTheyHaveCaughtUp) {
  Watcher first;
  KafkaBoard one{options(), kBoardTopic, first};
  int stored = 0;
  const auto count = [&stored](bool is) { stored += is ? 1 : 0; };
  one.put("map/1/a", "x", count);
  one.put("node/a", "", count);
  one.remove("map/1/a", count);
  one.put("node/a", std::string{"\0y", 2}, {});
  ASSERT_TRUE(holds(one, [&] { return stored == 3 && first.seen.size() == 4; })) << one.last_error();
  EXPECT_THAT(first.seen, ElementsAre("map/1/a=x", "node/a=", "map/1/a gone", std::string{"node/a=\0y", 9}));
  Watcher second;
  KafkaBoard other{options(), kBoardTopic, second};
  ASSERT_TRUE(holds(other, [&] { return second.times == 1; }));
  EXPECT_EQ(second.before, 4U) << "all that was there";
  EXPECT_EQ(second.seen, first.seen);
  EXPECT_EQ(second.positions, first.positions);
  other.put("b", "2", {});
  ASSERT_TRUE(holds(other, [&] { return second.seen.size() == 5; }));
  EXPECT_TRUE(holds(one, [&] { return first.seen.size() == 5; }));
}

TEST_F(KafkaBoardTest, WithoutBrokersItSaysSoAndGoesOnWithThem) {
  Watcher watcher;
  KafkaBoard board{options(), kBoardTopic, watcher};
  for (int broker = 1; broker <= 3; ++broker) {
    rd_kafka_mock_broker_set_down(brokers, broker);
  }
  bool answered = false;
  bool stored = true;
  board.put("a", "1", [&](bool is) {
    answered = true;
    stored = is;
  });
  ASSERT_TRUE(holds(board, [&] { return answered; }));
  EXPECT_FALSE(stored);
  EXPECT_NE(board.last_error(), "");
  for (int broker = 1; broker <= 3; ++broker) {
    rd_kafka_mock_broker_set_up(brokers, broker);
  }
  board.put("b", "2", [&](bool is) { stored = is; });
  EXPECT_TRUE(holds(board, [&] { return stored && !watcher.seen.empty() && watcher.seen.back() == "b=2"; }))
      << board.last_error();
}

TEST_F(KafkaBoardTest, AnEntryThatIsTooLargeIsNotStored) {
  Watcher watcher;
  KafkaBoard board{options(), kBoardTopic, watcher};
  bool answered = false;
  board.put("a", std::string(std::size_t{4} << 20U, '.'), [&](bool is) {
    answered = true;
    EXPECT_FALSE(is);
  });
  EXPECT_FALSE(answered) << "not before put() returns";
  EXPECT_TRUE(holds(board, [&] { return answered; }));
}

TEST_F(KafkaBoardTest, PropertiesThatAreNoneOrNotToBeSetAreNamed) {
  const auto error = [this](const std::string& name) -> std::string {
    KafkaOptions wrong = options();
    wrong.properties[name] = "1";
    Watcher watcher;
    try {
      KafkaBoard board{wrong, kBoardTopic, watcher};
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(error("no.such.thing"), HasSubstr("cluster.properties: no.such.thing"));
  EXPECT_THAT(error("acks"), HasSubstr("acks must not be set"));
  EXPECT_THAT(error("enable.partition.eof"), HasSubstr("must not be set"));
}

}  // namespace
}  // namespace mxkv::server
