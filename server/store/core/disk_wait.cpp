#include "server/store/core/disk_wait.hpp"

#include "server/reply/connection_table.hpp"

namespace mxkv::server {

void detail::await_disk(const ReplyAddress& address, WorkerContext& context) noexcept {
  context.replies->await_disk(address);
}

std::uint64_t detail::order_of_read(const Item* item, const ItemNode& leaf,
                                    const WorkerContext& context) noexcept {
  return item == nullptr ? leaf.order_floor() : order_of_item(*item, leaf, context);
}

void detail::await_read(const Item* item, const ItemNode& leaf, const ReplyAddress& address,
                        WorkerContext& context) noexcept {
  if (order_of_read(item, leaf, context) > context.horizon_us) {
    await_disk(address, context);
  }
}

std::string refusal_text(const char* reason) {
  return std::string{"SERVER_ERROR journal: "} + reason + "\r\n";
}

}  // namespace mxkv::server
