// Shared by the store's tasks: the key they carry, the way home, and the reply.
//
// A task may have to run on other workers (bound to a leaf's pool), but only the home worker of its
// connection writes the reply. And a write that will run elsewhere waits at home for its turn to commit,
// before it enters the tree. Both come back through resume_item(), which runs for a task without a data
// object.
#pragma once

#include <cstring>
#include <string_view>

#include "index/scan_task.hpp"
#include "index/update_task.hpp"
#include "protocol/reply.hpp"
#include "server/reply/reply_address.hpp"
#include "server/store/core/item_tree.hpp"
#include "server/store/core/liveness.hpp"
#include "server/store/core/orders.hpp"

namespace mxkv::server {

/// A key in the task itself, for tasks whose key changes on the way.
class HeldKey {
 public:
  [[nodiscard]] std::string_view view() const noexcept { return {text_, bytes_}; }
  void set(std::string_view key) noexcept {
    if (!key.empty()) {  // an empty one may have no address
      std::memmove(text_, key.data(), key.size());
    }
    bytes_ = static_cast<std::uint8_t>(key.size());
  }

 private:
  std::uint8_t bytes_ = 0;
  char text_[index::kMaxKeyBytes];
};

/// A key that follows its task in the same block.
class TrailingKey {
 public:
  template <class Task>
  static void store(Task* task, std::string_view key) noexcept {
    protocol::write_short_text(reinterpret_cast<char*>(task) + sizeof(Task), key);
  }
  template <class Task>
  static std::string_view load(const Task* task, std::size_t bytes) noexcept {
    return {reinterpret_cast<const char*>(task) + sizeof(Task), bytes};
  }
};

/// Takes the task out of the tree: it uses no data object any more, and runs in resume_item() next.
inline void leave_tree(runtime::MxTask& task) noexcept {
  task.annotate_lines(runtime::TaggedPointer{}, 0, 0);
  task.annotate(runtime::access::readonly);
  task.annotations().stage = static_cast<std::uint8_t>(index::stage::item);
}

/// Sends the task to the worker where its reply is written.
inline runtime::step go_home(runtime::MxTask& task, const ReplyAddress& address) noexcept {
  leave_tree(task);
  task.annotate(runtime::WorkerId{address.worker});
  return runtime::step::again;
}

}  // namespace mxkv::server
