// Starts a session's requests for keys at the store, as soon as their order allows, and keeps those that wait.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/get_lines.hpp"
#include "protocol/point_request.hpp"
#include "protocol/set_lines.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/session/session_core.hpp"
#include "server/net/session/waiting_requests.hpp"
#include "server/store/item/item_builder.hpp"

namespace mxkv::server {

/// How a single-key request counts in its connection's order.
inline operation_kind kind_of(const protocol::PointRequest& request) noexcept {
  return request.terms.ordered                               ? operation_kind::write
         : request.only_reads() && !request.precedes_reads() ? operation_kind::read
                                                             : operation_kind::exclusive;
}

/// Thread-safety: owner worker only.
class Launcher {
 public:
  /// `kind`: kind_of(request). `value`: of a command that stores; it is moved from. `silent`: the client gets
  /// no reply.
  [[gnu::always_inline]] void start(SessionCore& core, const protocol::PointRequest& request,
                                    operation_kind kind, ItemBuilder* value, bool silent) {
    MXKV_DCHECK(kind == kind_of(request), "the order knows what starts");
    OrderClaim claim{0};
    const bool starts = starts_now(core, kind, request.key, claim);
    const std::uint32_t ticket = core.ticket_for(silent);
    if (starts) [[likely]] {
      launch(core, request, kind, value, core.address(claim, ticket));
    } else {
      enqueue(core, request, value, claim, ticket);
    }
  }
  void start_any(SessionCore& core, const protocol::PointRequest& request, bool silent);
  void start_gets(SessionCore& core, std::span<const protocol::AskedKey> keys, bool with_cas);
  /// Returns how many sets started. For the others there was no memory. `ticket`: of the first one.
  static std::size_t start_sets(SessionCore& core, std::span<const protocol::SentValue> values,
                                std::uint32_t ticket);
  /// Tries all waiting requests, in the order sent. Returns whether any has started.
  bool start_waiting(SessionCore& core);
  /// Gives up the waiting requests. Needed before destruction.
  void drop(SessionCore& core) noexcept;

 private:
  using Waiting = WaitingRequest<ItemBuilder>;

  /// Whether the request may start now; if not, it has to wait. Sets `claim` in both cases.
  [[nodiscard]] static bool starts_now(SessionCore& core, operation_kind kind, std::string_view key,
                                       OrderClaim& claim);
  void enqueue(SessionCore& core, const protocol::PointRequest& request, ItemBuilder* value, OrderClaim claim,
               std::uint32_t ticket);
  /// Starts a request whose order allows it.
  [[gnu::always_inline]] static void launch(SessionCore& core, const protocol::PointRequest& request,
                                            operation_kind kind, ItemBuilder* value,
                                            const ReplyAddress& where) {
    const CommitSeq seq = kind == operation_kind::write ? core.entry->commits.start() : 0;
    core.host->store.point(core.host->worker, request, value, where, seq);
  }

  Waiting* first_waiting_ = nullptr;  ///< core.waiting requests
  Waiting* last_waiting_ = nullptr;
};

}  // namespace mxkv::server
