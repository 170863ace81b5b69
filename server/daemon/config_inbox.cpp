#include "server/daemon/config_inbox.hpp"

#include <memory>

#include "runtime/base/assert.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/core/worker_context.hpp"

namespace mxkv::server {

namespace {

/// Writes a reply on its connection's worker. A finished task is freed without its destructor, so it owns the
/// text by hand.
class AnswerTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "answer config";
  AnswerTask(const runtime::TaskClass* task_class, const ReplyAddress& address,
             std::unique_ptr<std::string> text) noexcept
      : MxTask(task_class), address_(address), text_(text.release()) {}
  runtime::step execute(runtime::Worker& worker) {
    const std::unique_ptr<std::string> text{text_};
    MXKV_ASSERT(worker.id().value() == address_.worker, "replies are written at home");
    ConnectionTable& replies = *worker.local<WorkerContext>().replies;
    if (ReplyQueue* const queue = replies.find(address_, Seen::nothing()); queue != nullptr) {
      queue->append(address_.ticket, *text);
      queue->close(address_.ticket);
    }
    replies.finished(address_);
    return runtime::step::done;
  }
  void discard(runtime::Worker& /*worker*/) { delete text_; }

 private:
  ReplyAddress address_;
  std::string* text_;
};

}  // namespace

void answer(runtime::Runtime& runtime, const ReplyAddress& address, std::string text) {
  auto* const task =
      runtime.create_outside<AnswerTask>(address, std::make_unique<std::string>(std::move(text)));
  task->annotate(runtime::WorkerId{address.worker});
  runtime.submit(task, runtime::WorkerId{address.worker});
}

}  // namespace mxkv::server
