// A node of one shard over a Kafka, as production runs it, with a map in place of the store; for test_shards.py.
// Lines in: `set ID KEY NUMBER`, `get ID KEY`, `leave NODE`, `items`. Lines out: `ID ok FOUND` (`-`: no number was there),
// `ID no` (the node does not serve: nothing was done), `ID void` (the write is known not to count), `* ROLE SERVES TERM`
// at each change, `= KEY NUMBER ...`, and before that `! ` with other figures of the node.
#include <cstdint>
#include <deque>
#include <exception>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/clock.hpp"
#include "server/cluster/kafka_log.hpp"
#include "server/cluster/kafka_topic.hpp"
#include "server/cluster/shard.hpp"

namespace mxkv::test {
namespace {

using server::KafkaClient;
using server::Shard;

/// Input lines, read by a thread that waits for them.
class Lines {
 public:
  explicit Lines(KafkaClient& client)
      : thread_([this, &client] {
          for (std::string line; std::getline(std::cin, line);) {
            const std::scoped_lock lock{mutex_};
            lines_.push_back(std::move(line));
            client.wake();
          }
          const std::scoped_lock lock{mutex_};
          ended_ = true;
          client.wake();
        }) {}
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() { thread_.join(); }

  std::deque<std::string> take() {
    const std::scoped_lock lock{mutex_};
    return std::exchange(lines_, {});
  }
  [[nodiscard]] bool ended() {
    const std::scoped_lock lock{mutex_};
    return ended_ && lines_.empty();
  }

 private:
  std::mutex mutex_;
  std::deque<std::string> lines_;
  bool ended_ = false;
  std::thread thread_;
};

void say(const std::string& line) {
  std::cout << line << std::endl;
}

class Node final : private server::ShardHost {
 public:
  Node(const KafkaClient& client, server::OrderedLog& log, const server::ShardOptions& options)
      : client_(client), shard_(options, log, *this, clock_, {}) {
    shard_.start();
  }

  void turn() {
    if (const std::uint64_t now_ns = clock_.monotonic_ns(); now_ns >= tick_ns_) {
      shard_.tick();
      tick_ns_ = now_ns + 50'000'000;
    }
    static constexpr const char* kRoles[] = {"follows", "claims", "owns", "leaves", "stranded"};
    const std::string state = std::string{"* "} + kRoles[static_cast<int>(shard_.now())] +
                              (shard_.serves() ? " serves " : " silent ") +
                              std::to_string(shard_.state().term());
    if (state != told_) {
      say(told_ = state);
    }
  }

  void hear(const std::string& line) {
    std::istringstream in{line};
    std::string what;
    std::string id;
    std::uint64_t key = 0;
    std::uint64_t number = 0;
    in >> what;
    if (what == "items") {
      const server::ShardCounters& counters = shard_.counters();
      say("! " + told_ + ", next " + std::to_string(shard_.position()) + ", sequence " +
          std::to_string(shard_.state().sequence()) + ", unanswered " + std::to_string(shard_.unanswered()) +
          ", " + std::to_string(counters.gaps) + " gaps, " + std::to_string(counters.again) + " again, " +
          std::to_string(counters.discarded) + " discarded, producers renewed " +
          std::to_string(client_.counters().renewed) + ": " + client_.counters().last_error);
      std::string all = "=";
      for (const auto& [known, held] : items_) {
        all += ' ' + std::to_string(known) + ' ' + std::to_string(held);
      }
      say(all);
    } else if (what == "leave") {
      if (in >> key; shard_.serves()) {
        shard_.leave(key);
      }
    } else if (in >> id >> key; !shard_.serves()) {
      say(id + " no");
    } else {
      const auto at = items_.find(key);
      const std::string answer = id + " ok " + (at == items_.end() ? "-" : std::to_string(at->second));
      if (what == "set") {
        in >> number;
        items_[key] = number;
        held_.push_back({answer, id, ++epoch_, true});
        shard_.submit(epoch_, std::to_string(key) + ' ' + std::to_string(number));
      } else if (acknowledged_ == epoch_) {
        say(answer);
      } else {
        held_.push_back({answer, id, epoch_, false});
      }
    }
  }

 private:
  struct Held {
    std::string answer;
    std::string id;
    std::uint64_t epoch;
    bool writes;
  };

  void apply(std::uint64_t epoch, std::string_view records) override {
    std::istringstream in{std::string{records}};
    std::uint64_t key = 0;
    std::uint64_t number = 0;
    in >> key >> number;
    items_[key] = number;
    epoch_ = acknowledged_ = epoch;
  }
  void owns(std::uint64_t /*term*/) override {}
  void acknowledged(std::uint64_t epoch) override {
    acknowledged_ = epoch;
    while (!held_.empty() && held_.front().epoch <= epoch) {
      say(held_.front().answer);
      held_.pop_front();
    }
  }
  std::optional<server::ShardStart> ousted() override {
    for (const Held& held : std::exchange(held_, {})) {
      say(held.id + (held.writes ? " void" : " no"));
    }
    if (acknowledged_ == epoch_) {
      return std::nullopt;
    }
    items_.clear();
    epoch_ = acknowledged_ = 0;
    return server::ShardStart{};
  }

  void stranded() override { held_.clear(); }

  const KafkaClient& client_;
  runtime::SystemClock clock_;
  std::map<std::uint64_t, std::uint64_t> items_;
  std::uint64_t epoch_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::deque<Held> held_;
  std::uint64_t tick_ns_ = 0;
  std::string told_;
  Shard shard_;
};

int run(const std::vector<std::string>& arguments) {
  const server::KafkaOptions options{.brokers = arguments[1], .properties = {}, .append_timeout_ms = 3000};
  const server::TopicPlan topic{.name = arguments[2]};
  if (arguments[0] == "create") {
    const std::string error = server::create_topic(options, topic, 60'000);
    say(error);
    return error.empty() ? 0 : 1;
  }
  if (arguments[0] == "check") {
    const std::vector<std::string> dangers = server::topic_dangers(options, topic, 20'000);
    for (const std::string& danger : dangers) {
      say(danger);
    }
    return dangers.empty() ? 0 : 1;
  }
  server::ShardOptions shard;
  shard.scope = {.cluster = 1, .shard = 0};
  shard.node = std::stoull(arguments[3]);
  shard.address = "node" + arguments[3];
  shard.seed = shard.node;
  KafkaClient client{options};
  Lines lines{client};
  const auto log = client.open(topic.name, 0);
  Node node{client, *log, shard};
  while (!lines.ended()) {
    client.poll(20);
    for (const std::string& line : lines.take()) {
      node.hear(line);
    }
    node.turn();
  }
  return 0;
}

}  // namespace
}  // namespace mxkv::test

int main(int count, char** arguments) {
  try {
    if (count < 4) {
      std::cerr << "usage: shard_node create|check|serve BROKERS TOPIC [NODE]\n";
      return 2;
    }
    return mxkv::test::run({arguments + 1, arguments + count});
  } catch (const std::exception& e) {
    std::cerr << "shard_node: " << e.what() << '\n';
    return 1;
  }
}
