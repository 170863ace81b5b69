// A read of a copy that is for the owner after all: the seam between the store, whose task finds that, and the cluster,
// which knows what is a copy.
#pragma once

#include "protocol/point_request.hpp"
#include "server/reply/reply_address.hpp"

namespace mxkv::runtime {
class Worker;
}

namespace mxkv::server {

/// Thread-safety: the home worker of the address.
class OwnerReads {
 public:
  OwnerReads() = default;
  OwnerReads(const OwnerReads&) = delete;
  OwnerReads& operator=(const OwnerReads&) = delete;

  /// Has it answered by the owner, and its operation ended. False: the item here is no copy.
  [[nodiscard]] virtual bool take_read(runtime::Worker& worker, const protocol::PointRequest& request,
                                       const ReplyAddress& address) = 0;

 protected:
  ~OwnerReads() = default;
};

}  // namespace mxkv::server
