// mg that only reads, and me. A WriteTask runs an mg that may change its item: with T or N, or to win it.
#pragma once

#include "protocol/reply.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/point/meta_reply.hpp"
#include "server/store/point/write_task.hpp"

namespace mxkv::server {

class MetaGetTask final : public index::LookupTask<MetaGetTask, ItemTraits> {
  using Base = index::LookupTask<MetaGetTask, ItemTraits>;

 public:
  static constexpr const char* kName = "meta get";

  /// Needs request.key.size() bytes behind the task.
  MetaGetTask(const runtime::TaskClass* task_class, ItemTree& tree, const protocol::PointRequest& request,
              const ReplyAddress& address) noexcept
      : Base(task_class, tree), request_(request), flags_(*request.flags), address_(address) {
    TrailingKey::store(this, request.key);
    request_.key = TrailingKey::load(this, request.key.size());
    request_.flags = &flags_;
  }

  [[nodiscard]] std::string_view key() const noexcept { return request_.key; }

  runtime::step on_found(std::uint64_t value, runtime::Worker& worker);
  runtime::step on_missing(runtime::Worker& worker);

 private:
  [[nodiscard]] bool inspects() const noexcept {
    return request_.terms.action == protocol::point_action::inspect;
  }
  runtime::step missed(Seen seen, runtime::Worker& worker);
  runtime::step ended(runtime::Worker& worker);
  /// The item's state; if the command waited before, without the access that it noted itself.
  [[nodiscard]] MetaFindings findings_of(const Item& item) const noexcept;

  std::uint64_t waited_for_ = 0;      ///< version that it waits to win, if `waits_`
  std::uint64_t last_access_us_ = 0;  ///< of that version, before this command
  protocol::PointRequest request_;
  protocol::MetaFlags flags_;
  ReplyAddress address_;
  bool accessed_ = false;  ///< of that version, before this command
  bool waits_ = false;
};

}  // namespace mxkv::server

MXKV_TASK_CLASS(extern, mxkv::server::MetaGetTask);
