#include "server/store/point/get_task.hpp"

namespace mxkv::server {

void GetTask::start(runtime::Worker& worker, ItemTree& tree, std::span<const protocol::AskedKey> keys,
                    bool with_cas, ReplyAddress first) {
  const std::uint8_t cas = with_cas ? kWithCas : 0;
  for (const protocol::AskedKey& key : keys) {
    const auto form = static_cast<std::uint8_t>(static_cast<std::uint8_t>(key.how) | cas);
    worker.create_sized<GetTask>(sizeof(GetTask) + key.bytes, tree, key.view(), form, first)->start(worker);
    ++first.ticket;
  }
}

}  // namespace mxkv::server

MXKV_TASK_CLASS(, mxkv::server::GetTask);
