#include "server/cluster/topic_watch.hpp"

#include <pthread.h>

#include <chrono>
#include <exception>
#include <string>
#include <utility>

namespace mxkv::server {

TopicWatch::TopicWatch(KafkaOptions options, std::vector<TopicPlan> plans,
                       std::shared_ptr<std::atomic<std::uint64_t>> dangers, std::uint32_t every_ms)
    : options_(std::move(options)),
      plans_(std::move(plans)),
      dangers_(std::move(dangers)),
      every_ms_(every_ms),
      thread_([this] { run(); }) {}

TopicWatch::~TopicWatch() {
  {
    const std::scoped_lock lock{mutex_};
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void TopicWatch::run() {
  pthread_setname_np(pthread_self(), "mxkv-topics");
  std::unique_lock lock{mutex_};
  while (!changed_.wait_for(lock, std::chrono::milliseconds{every_ms_}, [this] { return ends_; })) {
    lock.unlock();
    try {
      look();
    } catch (const std::exception& error) {  // the check needs a Kafka client of its own
      say("cluster: checking the topics' settings failed: " + std::string{error.what()} +
          "; the next check is in " + std::to_string(every_ms_) + " ms");
    }
    lock.lock();
  }
}

void TopicWatch::look() {
  constexpr int kPatienceMs = 2000;
  std::vector<std::string> found;
  for (const TopicPlan& plan : plans_) {
    const TopicVerdict verdict = look_at_topic(options_, plan, kPatienceMs);
    if (!verdict.answered) {
      return;
    }
    for (const std::string& danger : verdict.dangers) {
      found.push_back("topic " + plan.name + ": " + danger);
    }
  }
  dangers_->store(found.size(), std::memory_order_relaxed);
  for (const std::string& danger : found) {
    say("cluster: acknowledged writes may be lost: " + danger);
  }
}

void TopicWatch::say(std::string line) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  options_.lines->say(true, std::move(line),
                      static_cast<std::uint64_t>(std::chrono::nanoseconds{now}.count()));
}

}  // namespace mxkv::server
