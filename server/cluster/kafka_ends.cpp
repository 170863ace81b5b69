#include "server/cluster/kafka_ends.hpp"

#include <pthread.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/cluster/kafka_handles.hpp"

namespace mxkv::server {

KafkaEnds::~KafkaEnds() {
  {
    const std::scoped_lock lock{mutex_};
    ends_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void KafkaEnds::ask(const std::string& topic, std::int32_t partition, OrderedLog::EndDone done) {
  collected_.push_back({.topic = topic, .partition = partition, .done = std::move(done)});
}

void KafkaEnds::send() {
  if (collected_.empty()) {
    return;
  }
  {
    const std::scoped_lock lock{mutex_};
    MXKV_ASSERT(!ends_, "no log outlives its client");
    std::ranges::move(collected_, std::back_inserter(asked_));
  }
  collected_.clear();
  changed_.notify_one();
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { run(); });
  }
}

void KafkaEnds::answer() {
  std::vector<Asked> answered;
  {
    const std::scoped_lock lock{mutex_};
    answered.swap(answered_);
  }
  for (const Asked& asked : answered) {
    asked.done(asked.end);
  }
}

// Questions that arrive during a call wait for the next one, and go together.
void KafkaEnds::run() {
  pthread_setname_np(pthread_self(), "mxkv-log-ends");
  std::unique_lock lock{mutex_};
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !asked_.empty(); });
    if (ends_) {
      return;
    }
    std::vector<Asked> asked = std::exchange(asked_, {});
    lock.unlock();
    ask_brokers(asked);
    lock.lock();
    std::ranges::move(asked, std::back_inserter(answered_));
    static_cast<void>(::eventfd_write(bell_, 1));
  }
}

void KafkaEnds::ask_brokers(std::vector<Asked>& asked) {
  std::array<std::vector<Asked*>, 3> groups;  // those without suspicion, and two halves of the suspects
  for (Asked& one : asked) {
    const bool suspect = suspects_.contains({one.topic, one.partition});
    groups.at(suspect ? 1 + random_() / 2 % 2 : 0).push_back(&one);
  }
  for (const std::vector<Asked*>& group : groups) {
    if (!group.empty()) {
      call(group);
    }
  }
}

void KafkaEnds::call(const std::vector<Asked*>& asked) {
  constexpr int kTimeoutMs = 100;
  const kafka::Partitions partitions{rd_kafka_topic_partition_list_new(static_cast<int>(asked.size()))};
  for (const Asked* const one : asked) {
    if (rd_kafka_topic_partition_list_find(partitions.get(), one->topic.c_str(), one->partition) == nullptr) {
      rd_kafka_topic_partition_list_add(partitions.get(), one->topic.c_str(), one->partition)->offset =
          RD_KAFKA_OFFSET_END;  // used instead of a timestamp
    }
  }
  calls_.fetch_add(1, std::memory_order_relaxed);
  const bool answered =
      rd_kafka_offsets_for_times(&client_, partitions.get(), kTimeoutMs) == RD_KAFKA_RESP_ERR_NO_ERROR;
  for (Asked* const one : asked) {
    const rd_kafka_topic_partition_t& told =
        *rd_kafka_topic_partition_list_find(partitions.get(), one->topic.c_str(), one->partition);
    if (answered) {
      suspects_.erase({one->topic, one->partition});
    } else {
      suspects_.emplace(one->topic, one->partition);
    }
    if (answered && told.err == RD_KAFKA_RESP_ERR_NO_ERROR && told.offset >= 0) {
      one->end = static_cast<LogPosition>(told.offset);
    }
  }
}

}  // namespace mxkv::server
