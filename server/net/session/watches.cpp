#include "server/net/session/watches.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/commit/position.hpp"
#include "server/feed/herald.hpp"

namespace mxkv::server {

namespace {

constexpr std::string_view kTooManyMarks = "SERVER_ERROR too many marks\r\n";

std::string named(std::string_view code, const std::string& name) {
  return std::string{code} + " O" + name;
}

std::string_view word_of(watch_end end) noexcept {
  return end == watch_end::old ? " old" : " lost";
}

/// Nothing: from now on, or the text is no position of a watch.
std::optional<Position> from_of(std::string_view text) {
  std::optional<Position> position = read_position(text);
  return position && position->key.empty() ? position : std::nullopt;
}

WatchForm form_of(const protocol::Request& request) {
  WatchForm form{.span = span_of(request.range),
                 .values = request.meta.value,
                 .base64 = request.range.base64,
                 .kinds = request.watched != 0 ? static_cast<std::uint8_t>(request.watched) : told::kUsual};
  std::ranges::copy_if(request.meta.wants(), std::back_inserter(form.shows),
                       [](char letter) { return letter != 'O'; });
  return form;
}

}  // namespace

std::vector<Watches::Seat>::iterator Watches::find(std::string_view name) noexcept {
  return std::ranges::find_if(seats_, [name](const Seat& seat) { return seat.watch->name() == name; });
}

void Watches::begin(SessionCore& core, const protocol::Request& request) {
  const std::optional<Position> from = from_of(request.setting);
  if (core.host->herald == nullptr) {
    core.answer(protocol::kNoWatches);
  } else if (find(request.meta.opaque()) != seats_.end()) {
    core.answer(protocol::kWatchesAlready);
  } else if (!request.setting.empty() && !from) {
    core.answer(protocol::kBadPosition);
  } else if ((request.watched & told::kExpired) != 0) {
    core.answer(protocol::kNoExpiredWatch);
  } else {
    const std::size_t worker = core.host->worker.id().index();
    auto watch = std::make_shared<Watch>(std::string{request.meta.opaque()}, form_of(request), from, worker);
    watch->connection = core.entry;
    if (seats_.size() >= kMost || !core.host->herald->add(watch)) {
      core.answer(protocol::kTooManyWatches);
      return;
    }
    seats_.push_back({.watch = std::move(watch), .answer = core.entry->replies.open()});
  }
}

// A mark has all that the connection's earlier requests changed and read, so it waits until they have ended.
bool Watches::change(SessionCore& core, const protocol::Request& request) {
  const auto seat = find(request.meta.opaque());
  if (seat == seats_.end()) {
    core.answer("NF\r\n");
    return true;
  }
  if (request.argument.empty()) {
    core.answer(named("HD", seat->watch->name()) + "\r\n");
    core.host->herald->remove(seat->watch);
    drop(core, seat);
    return true;
  }
  const OrderClaim barrier{operation_kind::barrier, 0};
  if (!core.entry->order.try_start(barrier)) {
    core.pauses.add(pause::order);
    return false;
  }
  const ReplyAddress where = core.address(barrier, core.entry->replies.open());
  const bool is_asked = core.host->herald->mark(seat->watch, std::string{request.argument});
  core.host->directory.reply(
      where, Seen::nothing(),
      is_asked ? named("HD", seat->watch->name()) + "\r\n" : std::string{kTooManyMarks});
  core.host->directory.finished(where);
  return true;
}

void Watches::note(const Watch& watch) noexcept {
  const auto seat =
      std::ranges::find_if(seats_, [&watch](const Seat& each) { return each.watch.get() == &watch; });
  if (seat != seats_.end() && !std::exchange(seat->has_tidings, true)) {
    ++waiting_;
  }
}

// The next seat in turn that may write, or seats_.size(). While the client does not read, or has used up its rate, only
// an answer to `mw` may: all replies behind it wait for it.
std::size_t Watches::next_to_write(SessionCore& core, RequestMeter& meter) const {
  const bool has_room =
      waiting_ != 0 && core.unsent_bytes() < core.host->limits.output_high_water && meter.may_push(core);
  for (std::size_t n = 0; waiting_ != 0 && n < seats_.size(); ++n) {
    const std::size_t at = (next_ + n) % seats_.size();
    if (seats_[at].has_tidings && (has_room || !seats_[at].begun)) {
      return at;
    }
  }
  return seats_.size();
}

// One tiding of each watch in turn, so that a busy one does not hold up the others.
void Watches::pull(SessionCore& core, RequestMeter& meter) {
  while (core.entry->life.answers()) {
    const std::size_t at = next_to_write(core, meter);
    if (at == seats_.size()) {
      return;
    }
    next_ = at + 1;
    Seat& seat = seats_[at];
    bool herald_waits = false;
    if (const std::optional<Tiding> tiding = seat.watch->take(herald_waits)) {
      write(core, seat, *tiding);
      if (tiding->is == Tiding::what::over) {
        drop(core, seats_.begin() + static_cast<std::ptrdiff_t>(at));
      }
    } else {
      seat.has_tidings = false;
      --waiting_;
      if (herald_waits) {
        core.host->herald->taken(seat.watch);
      }
    }
  }
}

void Watches::write(SessionCore& core, Seat& seat, const Tiding& tiding) {
  ReplyQueue& replies = core.entry->replies;
  const std::string& name = seat.watch->name();
  core.host->directory.mark_dirty(*core.entry);
  switch (tiding.is) {
    case Tiding::what::begun:
      seat.begun = true;
      seat.told = tiding.position;
      replies.append(seat.answer, named("HD", name) + " G" + position_text(tiding.position) + "\r\n");
      replies.close(seat.answer);
      return;
    case Tiding::what::over: {
      const bool began = std::exchange(seat.begun, true);
      const std::uint32_t ticket = began ? replies.open() : seat.answer;
      std::string text = named(began ? "WO" : "EX", name).append(word_of(tiding.end));
      if (tiding.end == watch_end::old) {
        text.append(" G").append(position_text(tiding.position));
      }
      replies.append(ticket, text.append("\r\n"));
      replies.close(ticket);
      return;
    }
    case Tiding::what::lines:
      break;
  }
  const std::uint32_t ticket = replies.open();
  replies.append(ticket, named("WS", name) + "\r\n");
  if (tiding.frame != nullptr) {
    replies.append(ticket, tiding.frame->lines());
  }
  std::string end = named("WE", name);
  if (tiding.marks) {
    seat.told = tiding.position;
    end.append(" G").append(position_text(tiding.position));
  }
  if (tiding.asked) {
    end.append(" m").append(tiding.opaque);
  }
  replies.append(ticket, end.append("\r\n"));
  replies.close(ticket);
}

void Watches::say_end(SessionCore& core) {
  for (const Seat& seat : seats_) {
    if (seat.begun) {
      core.answer(named("WO", seat.watch->name()) + " ends G" + position_text(seat.told) + "\r\n");
    }
  }
  leave(core);
}

// The herald knows already, or hears it from the caller.
void Watches::drop(SessionCore& core, std::vector<Seat>::iterator seat) noexcept {
  seat->watch->connection = nullptr;
  waiting_ -= seat->has_tidings ? 1 : 0;
  if (!seat->begun) {
    core.finish(seat->answer, protocol::kWatchNeverBegan);
  }
  seats_.erase(seat);
}

void Watches::leave(SessionCore& core) noexcept {
  while (!seats_.empty()) {
    core.host->herald->remove(seats_.back().watch);
    drop(core, seats_.end() - 1);
  }
}

void Watches::abandon(SessionCore& core) noexcept {
  for (const Seat& seat : std::exchange(seats_, {})) {
    seat.watch->connection = nullptr;
    core.host->herald->remove(seat.watch);
  }
}

}  // namespace mxkv::server
