// Requests that are not for a key of their own: ranges, barriers, commands of administration, dumps, and watched
// events. Replies of the last three come in pieces over time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "protocol/request.hpp"
#include "server/net/session/admin_source.hpp"
#include "server/net/session/request_meter.hpp"
#include "server/net/session/session_core.hpp"
#include "server/store/range/dump_progress.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only.
class Streams {
 public:
  static constexpr std::size_t kMostRanges = 4;  ///< in flight; each may stage a whole page

  /// Begins a range, a barrier, or a command of administration. They are not copied to wait. False: it has to
  /// wait, so that the session takes nothing more.
  [[nodiscard]] bool begin_alone(SessionCore& core, RequestMeter& meter, const protocol::Request& request,
                                 operation_kind kind);
  void begin_dump(SessionCore& core, const protocol::Request& request);
  /// Begins the dump's next page if it may. True: the dump has ended.
  [[nodiscard]] bool dump_ended(SessionCore& core, RequestMeter& meter);
  /// Makes the next pages of a command of administration if it may. True: that was the last.
  [[nodiscard]] bool report_ended(SessionCore& core, RequestMeter& meter);
  void watch(SessionCore& core, std::uint32_t kinds);
  /// Sends the lines that the watcher has, while the client reads.
  void pull_watched(SessionCore& core);
  /// Ends the reports and events, since the session takes nothing more. A dump's page may still come.
  void stop(SessionCore& core) noexcept;
  /// Leaves everything. Needed before destruction.
  void leave(SessionCore& core) noexcept;

 private:
  /// A reply to an administration command that has more pages to come.
  struct Report {
    protocol::verb op;
    std::string argument;
    protocol::BinaryForm binary;
    ReplyAddress address;
    AdminCursor cursor;
  };

  static void begin_page(SessionCore& core, protocol::Request& request) noexcept;
  void administer(SessionCore& core, RequestMeter& meter, const protocol::Request& request,
                  const ReplyAddress& address);
  static void add_page(SessionCore& core, RequestMeter& meter, const protocol::Request& request,
                       const ReplyAddress& address, AdminCursor& cursor);
  void stop_watching(SessionCore& core) noexcept;

  DumpProgress* dump_ = nullptr;    ///< the dump in progress, page by page; null: none
  std::unique_ptr<Report> report_;  ///< null: none
  std::shared_ptr<Watcher> watcher_;
  std::uint32_t watch_ticket_ = 0;
};

}  // namespace mxkv::server
