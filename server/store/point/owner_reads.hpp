// Lets the owner of a copied item answer a read after all. This is the seam between the store, whose task
// finds that the owner must answer, and the cluster, which knows the copies.
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

  /// Has the owner answer the read and end its operation. False: the item here is no copy.
  [[nodiscard]] virtual bool take_read(runtime::Worker& worker, const protocol::PointRequest& request,
                                       const ReplyAddress& address) = 0;

 protected:
  ~OwnerReads() = default;
};

}  // namespace mxkv::server
