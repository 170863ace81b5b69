#include "server/store/core/visibility.hpp"

namespace mxkv::server {

std::uint64_t detail::order_of_read(const Item* item, const ItemNode& leaf,
                                    const WorkerContext& context) noexcept {
  return item == nullptr ? leaf.order_floor() : order_of_item(*item, leaf, context);
}

}  // namespace mxkv::server
