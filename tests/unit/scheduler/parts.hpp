// Shared by tests of a worker's parts: tasks that never run, and the names of tasks that come out.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/cache_line.hpp"
#include "runtime/pool/prefetch_buffer.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime::testing {

/// Tasks named a, b, c ... in blocks as the buffer wants them.
class NamedTasks {
 public:
  explicit NamedTasks(std::size_t count = 26) : tasks_(count) {}

  MxTask* operator[](char name) { return &tasks_.at(static_cast<std::size_t>(name - 'a')); }
  MxTask* at(std::size_t index) { return &tasks_.at(index); }
  [[nodiscard]] char name(const MxTask* task) const {
    return static_cast<char>('a' + (static_cast<const Block*>(task) - tasks_.data()));
  }
  /// Takes all out of the buffer; their names in order.
  std::string run(PrefetchBuffer& buffer) {
    std::string names;
    while (!buffer.empty()) {
      names += name(buffer.pop().task);
    }
    return names;
  }

 private:
  struct alignas(kCacheLineBytes) Block : MxTask {
    Block() : MxTask(nullptr) {}
  };
  std::vector<Block> tasks_;
};

/// A predicate for TaskWindow::refill(): no other tasks wait.
inline bool nothing_else() {
  return false;
}

}  // namespace mxkv::runtime::testing
