// Logs tasks that are put back again and again. It should never happen; if it does, the line says where to
// look.
#pragma once

#include <string>

#include "runtime/scheduler/alarm.hpp"
#include "server/daemon/log.hpp"

namespace mxkv::server {

/// Thread-safety: any worker.
class TaskAlarm final : public runtime::Alarm {
 public:
  explicit TaskAlarm(Log& log) noexcept : log_(log) {}

  void stuck(const runtime::StuckTask& task) noexcept override {
    log_.error("worker " + std::to_string(task.worker.value()) + " is stuck: a task of class \"" +
               std::string{task.task_class} + "\" has retried " + std::to_string(task.retries) + " times" +
               (task.state.empty() ? "" : ", at a ") + std::string{task.state});
  }

 private:
  Log& log_;
};

}  // namespace mxkv::server
