// A log on Kafka, over the library's mock brokers within the process, which fail on the test's command.
#include "server/cluster/kafka_log.hpp"

#include <gmock/gmock.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mxkv::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr const char* kTopic = "test.shards";

struct Reader final : LogSink {
  void message(LogPosition position, std::string_view bytes) override { seen.emplace_back(position, bytes); }
  void begins_later() override { cut = true; }
  std::vector<std::pair<LogPosition, std::string>> seen;
  bool cut = false;
};

class KafkaLogTest : public testing::Test {
 protected:
  KafkaLogTest() {
    std::array<char, 512> error{};
    rd_kafka_conf_t* const conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "log_level", "0", error.data(), error.size());
    host_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.data(), error.size());
    brokers = rd_kafka_mock_cluster_new(host_, 3);
    rd_kafka_mock_topic_create(brokers, kTopic, 2, 3);
  }
  ~KafkaLogTest() override {
    rd_kafka_mock_cluster_destroy(brokers);
    rd_kafka_destroy(host_);
  }

  [[nodiscard]] KafkaOptions options() const {
    return {
        .brokers = rd_kafka_mock_cluster_bootstraps(brokers), .properties = {}, .append_timeout_ms = 1500};
  }
  /// Polls until the condition holds. Returns false if it never does.
  static bool comes(KafkaClient& client, const std::function<bool()>& what) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    while (!what() && std::chrono::steady_clock::now() < end) {
      client.poll(20);
    }
    return what();
  }

  rd_kafka_mock_cluster_t* brokers = nullptr;

 private:
  rd_kafka_t* host_ = nullptr;
};

TEST_F(KafkaLogTest, StoresInOrderAndReadsFromAnyPosition) {
  KafkaClient client{options()};
  const auto log = client.open(kTopic, 0);
  std::vector<LogPosition> positions;
  for (const char* text : {"a", "b", "c", "d"}) {
    log->append(text, [&positions](Appended appended) {
      EXPECT_EQ(appended.outcome, append_outcome::stored);
      positions.push_back(appended.position);
    });
  }
  EXPECT_THAT(positions, IsEmpty()) << "answers come by poll()";
  ASSERT_TRUE(comes(client, [&] { return positions.size() == 4; })) << client.counters().last_error;
  EXPECT_THAT(positions, ElementsAre(0, 1, 2, 3));
  Reader reader;
  log->read(2, reader);
  ASSERT_TRUE(comes(client, [&] { return reader.seen.size() == 2; })) << client.counters().last_error;
  EXPECT_THAT(reader.seen, ElementsAre(Pair(2, "c"), Pair(3, "d")));
  Reader again;
  log->read(0, again);
  log->append("e", [](Appended) {});
  ASSERT_TRUE(comes(client, [&] { return again.seen.size() == 5; }));
  EXPECT_EQ(again.seen.back(), std::pair(LogPosition{4}, std::string{"e"}));
  EXPECT_EQ(reader.seen.size(), 2U) << "another read ended that one";
}

TEST_F(KafkaLogTest, ReportsTheEndOfALog) {
  KafkaClient client{options()};
  const auto log = client.open(kTopic, 0);
  const auto other = client.open(kTopic, 1);
  const auto end_of = [&client](OrderedLog& of) {
    std::optional<std::optional<LogPosition>> told;
    of.end([&told](std::optional<LogPosition> end) { told = end; });
    EXPECT_FALSE(told) << "answers come by poll()";
    EXPECT_TRUE(comes(client, [&] { return told.has_value(); }));
    return told.value_or(std::nullopt);
  };
  // The first questions may fail because no broker knows the partition's leader yet.
  EXPECT_TRUE(comes(client, [&] { return end_of(*log).has_value(); }));
  EXPECT_EQ(end_of(*log), 0U);
  for (LogPosition i = 1; i <= 20; ++i) {
    bool stored = false;
    log->append("message",
                [&stored](Appended appended) { stored = appended.outcome == append_outcome::stored; });
    ASSERT_TRUE(comes(client, [&] { return stored; }));
    EXPECT_EQ(end_of(*log), i);
  }
  EXPECT_EQ(end_of(*other), 0U);
  for (std::int32_t broker = 1; broker <= 3; ++broker) {
    rd_kafka_mock_broker_set_down(brokers, broker);
  }
  EXPECT_EQ(end_of(*log), std::nullopt);
  // A question that is still open when the client is destroyed never gets an answer.
  log->end([](std::optional<LogPosition>) { ADD_FAILURE(); });
}

// What is asked grows with brokers, not with partitions.
TEST_F(KafkaLogTest, EndsOfManyLogsAreAskedForTogether) {
  constexpr int kLogs = 64;
  rd_kafka_mock_topic_create(brokers, "test.many", kLogs, 3);
  KafkaClient client{options()};
  std::vector<std::unique_ptr<OrderedLog>> logs;
  for (int i = 0; i < kLogs; ++i) {
    logs.push_back(client.open("test.many", i));
  }
  const auto ask_all = [&] {
    int answered = 0;
    int known = 0;
    for (const auto& log : logs) {
      log->end([&](std::optional<LogPosition> end) {
        ++answered;
        known += end ? 1 : 0;
      });
    }
    EXPECT_TRUE(comes(client, [&] { return answered == kLogs; }));
    return known;
  };
  // The first questions may fail because no broker knows the partitions' leaders yet.
  EXPECT_TRUE(comes(client, [&] { return ask_all() == kLogs; }));
  const std::uint64_t before = client.counters().end_calls;
  EXPECT_EQ(ask_all(), kLogs);
  EXPECT_EQ(client.counters().end_calls, before + 1);
}

// One partition without a leader fails the library's whole call. The others get answers soon again.
TEST_F(KafkaLogTest, APartitionWithoutALeaderHidesNoOthersForLong) {
  constexpr int kLogs = 16;
  rd_kafka_mock_topic_create(brokers, "test.many", kLogs, 3);
  KafkaClient client{options()};
  std::vector<std::unique_ptr<OrderedLog>> logs;
  for (int i = 0; i < kLogs; ++i) {
    logs.push_back(client.open("test.many", i));
  }
  logs.push_back(client.open("test.many", kLogs));  // there is no such partition
  std::vector<bool> known(kLogs + 1);
  const auto ask_all = [&] {
    int answered = 0;
    for (std::size_t i = 0; i < logs.size(); ++i) {
      logs[i]->end([&, i](std::optional<LogPosition> end) {
        ++answered;
        known[i] = end.has_value();
      });
    }
    EXPECT_TRUE(comes(client, [&] { return answered == kLogs + 1; }));
    return std::ranges::count(known, true);
  };
  EXPECT_TRUE(comes(client, [&] { return ask_all() == kLogs; }));
  EXPECT_FALSE(known.back());
  const std::uint64_t before = client.counters().end_calls;
  EXPECT_EQ(ask_all(), kLogs);
  EXPECT_LE(client.counters().end_calls, before + 2) << "the others, and the one";
}

TEST_F(KafkaLogTest, MessagesFetchedForOneReadAreNeverTakenForAnother) {
  KafkaClient client{options()};
  const auto log = client.open(kTopic, 0);
  constexpr LogPosition kCount = 500;
  std::size_t stored = 0;
  for (LogPosition i = 0; i < kCount; ++i) {
    log->append("message", [&stored](Appended) { ++stored; });
  }
  ASSERT_TRUE(comes(client, [&] { return stored == kCount; }));
  // Starts the read again in the middle of a batch.
  struct Restless final : LogSink {
    explicit Restless(OrderedLog& of) : log(of) {}
    void message(LogPosition position, std::string_view /*bytes*/) override {
      EXPECT_EQ(position, next) << "begun anew " << restarts << " times";
      next = position + 1;
      if (position == 20 * (restarts + 1) && restarts < 10) {
        ++restarts;
        next = restarts;
        log.read(next, *this);
      }
    }
    void begins_later() override {}
    OrderedLog& log;
    LogPosition next = 0;
    LogPosition restarts = 0;
  } restless{*log};
  log->read(0, restless);
  EXPECT_TRUE(comes(client, [&] { return restless.next == kCount; }));
  EXPECT_EQ(restless.restarts, 10U);
}

TEST_F(KafkaLogTest, AnswersComeWhileReadsAreHeld) {
  KafkaClient client{options()};
  const auto log = client.open(kTopic, 0);
  Reader reader;
  log->read(0, reader);
  std::size_t stored = 0;
  const auto append = [&] { log->append("message", [&stored](Appended) { ++stored; }); };
  append();
  ASSERT_TRUE(comes(client, [&] { return reader.seen.size() == 1; })) << client.counters().last_error;
  client.hold_reads(true);
  for (int i = 0; i < 20; ++i) {
    append();
  }
  ASSERT_TRUE(comes(client, [&] { return stored == 21; }));
  for (int i = 0; i < 20; ++i) {
    client.poll(10);
  }
  EXPECT_EQ(reader.seen.size(), 1U);
  client.hold_reads(false);
  EXPECT_TRUE(comes(client, [&] { return reader.seen.size() == 21; }));
}

TEST_F(KafkaLogTest, PartitionsAreLogsOfTheirOwn) {
  KafkaClient client{options()};
  const auto zero = client.open(kTopic, 0);
  const auto one = client.open(kTopic, 1);
  Reader of_zero;
  Reader of_one;
  zero->read(0, of_zero);
  one->read(0, of_one);
  zero->append("zero", [](Appended) {});
  one->append("one", [](Appended) {});
  ASSERT_TRUE(comes(client, [&] { return !of_zero.seen.empty() && !of_one.seen.empty(); }));
  EXPECT_THAT(of_zero.seen, ElementsAre(Pair(0, "zero")));
  EXPECT_THAT(of_one.seen, ElementsAre(Pair(0, "one")));
}

TEST_F(KafkaLogTest, ARejectedAppendIsRefused) {
  KafkaClient client{options()};
  const auto log = client.open(kTopic, 0);
  Appended answer{append_outcome::stored, 0};
  bool answered = false;
  const auto keep = [&](Appended appended) {
    answer = appended;
    answered = true;
  };
  log->append(std::string(std::size_t{4} << 20U, '.'), keep);
  EXPECT_FALSE(answered) << "not before append() returns";
  ASSERT_TRUE(comes(client, [&] { return answered; }));
  EXPECT_EQ(answer.outcome, append_outcome::refused) << "larger than a message may be";
}

TEST_F(KafkaLogTest, WithoutBrokersAnAppendEndsAndIsNotStored) {
  KafkaClient client{options()};
  const auto log = client.open(kTopic, 0);
  for (int broker = 1; broker <= 3; ++broker) {
    rd_kafka_mock_broker_set_down(brokers, broker);
  }
  append_outcome outcome = append_outcome::stored;
  bool answered = false;
  log->append("lost", [&](Appended appended) {
    outcome = appended.outcome;
    answered = true;
  });
  ASSERT_TRUE(comes(client, [&] { return answered; }));
  EXPECT_NE(outcome, append_outcome::stored);
  for (int broker = 1; broker <= 3; ++broker) {
    rd_kafka_mock_broker_set_up(brokers, broker);
  }
  // The library may wait longer than an append before it connects again.
  const auto append = [&] {
    answered = false;
    log->append("kept", [&](Appended appended) {
      outcome = appended.outcome;
      answered = true;
    });
  };
  append();
  EXPECT_TRUE(comes(client, [&] {
    if (answered && outcome != append_outcome::stored) {
      append();
    }
    return answered && outcome == append_outcome::stored;
  })) << client.counters().last_error;
}

TEST_F(KafkaLogTest, ALeaderThatMovesLosesNothing) {
  KafkaClient client{options()};
  const auto log = client.open(kTopic, 0);
  Reader reader;
  log->read(0, reader);
  std::size_t stored = 0;
  for (int round = 0; round < 30; ++round) {
    rd_kafka_mock_partition_set_leader(brokers, kTopic, 0, round % 3 + 1);
    log->append(std::to_string(round),
                [&](Appended appended) { stored += appended.outcome == append_outcome::stored ? 1 : 0; });
    client.poll(5);
  }
  ASSERT_TRUE(comes(client, [&] { return stored == 30 && reader.seen.size() == 30; }))
      << stored << " stored, " << reader.seen.size() << " read: " << client.counters().last_error;
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(reader.seen[i], std::pair(LogPosition{i}, std::to_string(i)));
  }
}

// As a machine that dies silently: no packet says that its connections are gone.
TEST_F(KafkaLogTest, AReaderLeavesALeaderThatSaysNothingMore) {
  constexpr int kForEverMs = 600'000;
  KafkaClient client{options()};
  const auto log = client.open(kTopic, 0);
  rd_kafka_mock_partition_set_leader(brokers, kTopic, 0, 1);
  rd_kafka_mock_partition_set_follower(brokers, kTopic, 0, -1);
  Reader reader;
  log->read(0, reader);
  int under_way = 0;
  int stored = 0;
  const auto append = [&] {
    ++under_way;
    log->append("message", [&](Appended appended) {
      --under_way;
      stored += appended.outcome == append_outcome::stored ? 1 : 0;
    });
  };
  append();
  ASSERT_TRUE(comes(client, [&] { return stored == 1 && reader.seen.size() == 1; }))
      << client.counters().last_error;
  rd_kafka_mock_broker_set_rtt(brokers, 1, kForEverMs);
  rd_kafka_mock_partition_set_leader(brokers, kTopic, 0, 2);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (reader.seen.size() < 2 && std::chrono::steady_clock::now() < end) {
    if (stored < 2 && under_way == 0) {
      append();
    }
    client.poll(20);
  }
  EXPECT_GE(reader.seen.size(), 2U) << stored << " stored: " << client.counters().last_error;
}

TEST_F(KafkaLogTest, AReaderBeforeTheBeginningGetsAnError) {
  KafkaClient client{options()};
  const auto log = client.open(kTopic, 0);
  Reader reader;
  log->read(7, reader);  // a position without messages, as after a trim
  EXPECT_TRUE(comes(client, [&] { return reader.cut; })) << client.counters().last_error;
}

TEST_F(KafkaLogTest, PropertiesThatAreNoneOrNotToBeSetAreNamed) {
  const auto error = [this](const std::string& name) -> std::string {
    KafkaOptions wrong = options();
    wrong.properties[name] = "1";
    try {
      KafkaClient client{wrong};
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(error("no.such.thing"), HasSubstr("cluster.properties: no.such.thing"));
  EXPECT_THAT(error("acks"), HasSubstr("acks must not be set"));
  EXPECT_THAT(error("auto.offset.reset"), HasSubstr("must not be set"));
}

TEST_F(KafkaLogTest, AppendsInFlightWhenTheClientGoesAreNotAnswered) {
  bool answered = false;
  {
    KafkaClient client{options()};
    const auto log = client.open(kTopic, 0);
    log->append("a", [&](Appended) { answered = true; });
  }
  EXPECT_FALSE(answered);
}

}  // namespace
}  // namespace mxkv::server
