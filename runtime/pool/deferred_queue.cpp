#include "runtime/pool/deferred_queue.hpp"

#include <algorithm>
#include <iterator>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {

void DeferredQueue::push(MxTask* task) {
  const std::scoped_lock lock{latch_};
  requests_[task->request()].push_back({task, turn_++});
  size_.store(size_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);  // pairs with waiting()
}

DeferredQueue::Requests::iterator DeferredQueue::request_for(pick how) noexcept {
  switch (how) {
    case pick::youngest_of_oldest:
      break;
    case pick::oldest_of_second_oldest:
      return requests_.size() > 1 ? std::next(requests_.begin()) : requests_.begin();
    case pick::oldest_spawned:
      return std::ranges::min_element(requests_, {},
                                      [](const auto& request) { return request.second.front().turn; });
  }
  return requests_.begin();
}

MxTask* DeferredQueue::take(pick how) noexcept {
  if (!waiting()) {
    return nullptr;
  }
  const std::scoped_lock lock{latch_};
  if (requests_.empty()) {
    return nullptr;
  }
  const auto request = request_for(how);
  std::deque<Waiting>& tasks = request->second;
  MXKV_ASSERT(!tasks.empty(), "no request is kept without tasks");
  MxTask* task = nullptr;
  if (how == pick::youngest_of_oldest) {
    task = tasks.back().task;
    tasks.pop_back();
  } else {
    task = tasks.front().task;
    tasks.pop_front();
  }
  if (tasks.empty()) {
    requests_.erase(request);
  }
  const std::size_t size = size_.load(std::memory_order_relaxed);
  MXKV_ASSERT(size > 0, "what is taken was counted");
  size_.store(size - 1, std::memory_order_seq_cst);
  return task;
}

}  // namespace mxkv::runtime
