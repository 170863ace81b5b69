// The environment of a node, without any broker: logs and a board in memory, which a test takes away and gives back.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/cluster/board.hpp"
#include "server/cluster/ordered_log.hpp"

namespace mxkv::server::testing {

/// Stores appended messages and hands them out. While it is down it does neither; when it is up again, it stores and
/// acknowledges the messages that were appended meanwhile. Thread-safety: poll() and the logs one thread, `down`
/// and write() any thread.
class ListedEngine final : public LogEngine {
 public:
  [[nodiscard]] std::unique_ptr<OrderedLog> open(const std::string& topic, std::int32_t partition) override {
    return std::make_unique<Log>(*this, messages_[{topic, partition}]);
  }
  /// Another program's message. Any thread.
  void write(const std::string& topic, std::int32_t partition, std::string bytes) {
    const std::scoped_lock lock{mutex_};
    written_.emplace_back(std::pair{topic, partition}, std::move(bytes));
  }
  void poll(int /*wait_ms*/) override {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    appends_now_ = false;
    if (!down) {
      const std::scoped_lock lock{mutex_};
      for (auto& [where, bytes] : std::exchange(written_, {})) {
        messages_[where].push_back(std::move(bytes));
      }
    }
    if (!down) {
      for (const auto& [done, position] : std::exchange(answers_, {})) {
        done({append_outcome::stored, position});
      }
      for (Log* const log : std::vector<Log*>{logs_}) {
        log->hand_out();
      }
    }
  }
  void hold_reads(bool /*holds*/) override {}
  void wake() noexcept override {}
  [[nodiscard]] std::string last_error() const override { return down ? "nobody there" : ""; }

  std::atomic<bool> down{false};
  std::atomic<std::uint64_t> appends{0};
  std::atomic<std::uint64_t> bursts{0};  ///< turns of the node in which it appended

 private:
  class Log final : public OrderedLog {
   public:
    Log(ListedEngine& engine, std::deque<std::string>& messages) : engine_(engine), messages_(messages) {
      engine_.logs_.push_back(this);
    }
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;
    ~Log() override { std::erase(engine_.logs_, this); }
    void append(std::string bytes, AppendDone done) override {
      ++engine_.appends;
      engine_.bursts += std::exchange(engine_.appends_now_, true) ? 0 : 1;
      messages_.push_back(std::move(bytes));
      engine_.answers_.emplace_back(std::move(done), messages_.size() - 1);
    }
    void read(LogPosition from, LogSink& sink) override {
      sink_ = &sink;
      next_ = from;
    }
    void stop() override { sink_ = nullptr; }
    void end(EndDone /*done*/) override {}
    void trim(LogPosition /*before*/) override {}

    void hand_out() {
      while (sink_ != nullptr && next_ < messages_.size()) {
        const LogPosition position = next_++;
        sink_->message(position, std::string{messages_[position]});
      }
    }

   private:
    ListedEngine& engine_;
    std::deque<std::string>& messages_;
    LogSink* sink_ = nullptr;
    LogPosition next_ = 0;
  };

  using Where = std::pair<std::string, std::int32_t>;
  std::map<Where, std::deque<std::string>> messages_;
  std::mutex mutex_;  ///< guards written_
  std::vector<std::pair<Where, std::string>> written_;
  std::vector<Log*> logs_;
  bool appends_now_ = false;
  std::vector<std::pair<OrderedLog::AppendDone, LogPosition>> answers_;
};

/// Hands out the entries that were written, unless it is silent. Thread-safety: any thread.
class ShownBoard final : public Board {
 public:
  explicit ShownBoard(BoardSink& sink) : sink_(sink) { sink_.caught_up(); }
  void put(const std::string& key, std::string value, Done done) override {
    const std::scoped_lock lock{mutex_};
    if (!silent) {
      put_up_.emplace_back(key, std::move(value));
    }
    static_cast<void>(done);
  }
  void remove(const std::string& /*key*/, Done /*done*/) override {}
  void poll(int /*wait_ms*/) override {
    const std::scoped_lock lock{mutex_};
    for (const auto& [key, value] : std::exchange(put_up_, {})) {
      sink_.put_up(0, key, value);
    }
    ++polls;
  }
  void wake() noexcept override {}
  [[nodiscard]] std::string last_error() const override { return {}; }

  std::atomic<bool> silent{false};
  std::atomic<std::uint64_t> polls{0};

 private:
  BoardSink& sink_;
  std::mutex mutex_;
  std::vector<std::pair<std::string, std::string>> put_up_;
};

/// The log lines of a node. Thread-safety: any thread.
class HeardLines {
 public:
  void add(const std::string& line) {
    const std::scoped_lock lock{mutex_};
    lines_.push_back(line);
  }
  [[nodiscard]] std::vector<std::string> all() const {
    const std::scoped_lock lock{mutex_};
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace mxkv::server::testing
