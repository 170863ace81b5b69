// Whether an item counts: neither expired nor flushed.
#pragma once

#include <cstdint>

#include "runtime/scheduler/worker.hpp"
#include "server/store/core/worker_context.hpp"
#include "server/store/item/expiry.hpp"
#include "server/store/item/item.hpp"

namespace mxkv::server {

/// Decides whether items are live at a moment: neither expired nor flushed.
class Liveness {
 public:
  explicit Liveness(runtime::Worker& worker) noexcept : Liveness(worker, 0) {}
  /// At `moment_us`, if it is not 0.
  Liveness(runtime::Worker& worker, std::uint64_t moment_us) noexcept
      : now_us_(moment_us != 0 ? moment_us : worker.now_us()) {
    flushed_ = worker.local<WorkerContext>().flush_points->at(now_us_);
  }
  template <class View>
  [[nodiscard]] bool operator()(const View& view) const noexcept {
    return !is_expired(view.expiry(), now_us_) && view.order() > flushed_;  // no order is 0
  }
  /// Why an item is not live. True: a flush_all has taken it. False: it has expired.
  template <class View>
  [[nodiscard]] bool is_flushed(const View& view) const noexcept {
    return view.order() <= flushed_;
  }
  [[nodiscard]] std::uint64_t now_us() const noexcept { return now_us_; }
  /// A flush has taken items up to this order.
  [[nodiscard]] std::uint64_t flushed() const noexcept { return flushed_; }

 private:
  std::uint64_t now_us_;
  std::uint64_t flushed_;  ///< a flush has taken items up to this order
};

[[nodiscard]] inline bool is_live(const Item& item, runtime::Worker& worker) noexcept {
  return Liveness{worker}(Item::View{item});
}

}  // namespace mxkv::server
