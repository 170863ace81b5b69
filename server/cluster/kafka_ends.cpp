#include "server/cluster/kafka_ends.hpp"

#include <pthread.h>
#include <sys/eventfd.h>

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
  {
    const std::scoped_lock lock{mutex_};
    MXKV_ASSERT(!ends_, "no log outlives its client");
    asked_.push_back({.topic = topic, .partition = partition, .done = std::move(done)});
  }
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

// Asks one partition after the other: a partition without a leader delays the others for kTimeoutMs at most.
void KafkaEnds::run() {
  constexpr int kTimeoutMs = 100;
  pthread_setname_np(pthread_self(), "mxkv-log-ends");
  std::unique_lock lock{mutex_};
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !asked_.empty(); });
    if (ends_) {
      return;
    }
    Asked asked = std::move(asked_.front());
    asked_.pop_front();
    lock.unlock();
    const kafka::Partitions partitions{rd_kafka_topic_partition_list_new(1)};
    rd_kafka_topic_partition_t& one =
        *rd_kafka_topic_partition_list_add(partitions.get(), asked.topic.c_str(), asked.partition);
    one.offset = RD_KAFKA_OFFSET_END;  // used instead of a timestamp
    if (rd_kafka_offsets_for_times(&client_, partitions.get(), kTimeoutMs) == RD_KAFKA_RESP_ERR_NO_ERROR &&
        one.err == RD_KAFKA_RESP_ERR_NO_ERROR && one.offset >= 0) {
      asked.end = static_cast<LogPosition>(one.offset);
    }
    lock.lock();
    answered_.push_back(std::move(asked));
    static_cast<void>(::eventfd_write(bell_, 1));
  }
}

}  // namespace mxkv::server
