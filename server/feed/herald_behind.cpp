// The herald's functions for watches that are behind, for marks, and for the limit of memory.
#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/feed/herald.hpp"
#include "server/feed/watch_lines.hpp"

namespace mxkv::server {

namespace {

/// A watch that is behind gets about so much at a time, or less if there are many.
constexpr std::size_t kPartBytes = std::size_t{1} << 20U;
/// Read and written in one step for all of them. Live watches wait for it.
constexpr std::size_t kStepBytes = std::size_t{2} << 20U;
/// The work of a turn without a change, in bytes.
constexpr std::size_t kTurnBytes = 256;
/// A connection has so long to take the lines of a watch that is behind while others wait for room.
constexpr std::uint64_t kPatienceNs = 20'000'000;

// As WatchIndex finds them: a cursor counts the lines that live watches get.
bool wants(const WatchForm& form, const Record& record) {
  if ((form.kinds & kind_of(record)) == 0) {
    return false;
  }
  if (const std::string_view key = key_of(record); !key.empty()) {
    return form.span.has(key);
  }
  const KeySpan span = span_of(record);
  return !span.empty() && span.meets(form.span);
}

}  // namespace

// -- watches that are behind

void Herald::fall_behind(const WatchRef& watch) {
  const Channel& channel = *watch->herald.channel;
  watch->herald.cursor = channel.done > told_ ? FeedCursor{.epoch = channel.done}
                                              : FeedCursor{.epoch = told_, .lines = channel.lines};
  leave_live(watch);
  set(counts_.behind, ++behind_);
  count(counts_.falls);
  take_back(watch);
}

// The watch keeps its cursor, and marks that its client asked for.
void Herald::take_back(const WatchRef& watch) {
  watch->herald.cursor = watch->take_back(watch->herald.cursor, watch->herald.marks);
  give_asked_marks(watch);
  if (watch->wants_more_or_tells()) {
    become_hungry(watch);
  }
}

// Serves watches in turn. Returns the time to go on.
std::uint64_t Herald::serve_behind(std::uint64_t now_ns, std::uint64_t now_us) {
  past_behind_ = FeedSwitch::kNever;
  for (std::size_t work = 0; !hungry_.empty() && make_room(now_ns);) {
    if (work >= kStepBytes) {
      return now_ns;
    }
    const WatchRef watch = std::move(hungry_.front());
    hungry_.pop_front();
    watch->herald.hungry = false;
    work += read_for(watch, now_ns, now_us);
    if (watch->herald.over) {
      continue;
    }
    if (watch->herald.cursor == FeedCursor{.epoch = told_}) {
      set(counts_.behind, --behind_);
      become_live(watch);
    } else if (watch->wants_more_or_tells()) {
      become_hungry(watch);
    }
  }
  if (hungry_.empty()) {
    return FeedSwitch::kNever;
  }
  // Without `served_` connections are just writing, or watches that left are about to be freed.
  return (served_.empty() ? now_ns : served_.front().at_ns) + kPatienceNs;
}

// Takes lines back that connections have not taken for long, the earliest first, also of watches that caught up meanwhile.
// Returns whether there is room.
bool Herald::make_room(std::uint64_t now_ns) {
  while (!has_room_behind() && !served_.empty()) {
    Served first = std::move(served_.front());
    served_.pop_front();
    first.at_ns = std::max(first.at_ns, first.watch->herald.served_ns);
    if (now_ns - first.at_ns < kPatienceNs && first.watch->bytes() != 0) {
      served_.push_front(std::move(first));
      return false;
    }
    first.watch->herald.served = false;
    if (first.watch->herald.live) {
      fall_behind(first.watch);
    } else {
      take_back(first.watch);
    }
  }
  return has_room_behind();
}

// Reads on for one watch. Returns how much work it was, in bytes.
std::size_t Herald::read_for(const WatchRef& watch, std::uint64_t now_ns, std::uint64_t now_us) {
  Watch::Desk& desk = watch->herald;
  const std::size_t most = std::clamp<std::size_t>(half_bytes() / behind_, 1, kPartBytes);
  std::size_t work = kTurnBytes;
  for (std::size_t given = 0;
       desk.cursor.epoch < told_ && given < most && work < kStepBytes && has_room_behind();) {
    const ChangeSource::outcome found = read_behind(desk.cursor.epoch);
    if (found == ChangeSource::outcome::old) {
      end(watch, watch_end::old, past_.oldest());
      break;
    }
    if (found == ChangeSource::outcome::none || past_epoch_.epoch.number > told_) {
      desk.cursor = {.epoch = told_};
      break;
    }
    work += past_epoch_.epoch.records.size() * kRecordHeaderBytes;
    const std::vector<std::uint32_t>& hits = past_hits(*desk.channel);
    MXKV_ASSERT(desk.cursor.lines == 0 || desk.cursor.lines < hits.size(),
                "an epoch has the same lines each time");
    if (hits.empty()) {
      desk.cursor = {.epoch = past_epoch_.epoch.number};
      continue;
    }
    FrameRef frame = encode(watch->form(), past_epoch_, hits, desk.cursor.lines, held::behind, now_us);
    given += frame->bytes();
    work += frame->bytes();
    serve(watch, std::move(frame), now_ns);
  }
  return work;
}

// Reads the epoch behind that one, unless the watch before had to read it, too.
ChangeSource::outcome Herald::read_behind(std::uint64_t epoch) {
  if (past_behind_ == epoch) {
    return ChangeSource::outcome::epoch;
  }
  past_behind_ = FeedSwitch::kNever;
  past_channel_ = nullptr;
  past_epoch_.ranks.clear();
  if (past_.seek({live_.tag(), epoch}) != position_state::ok) {
    return ChangeSource::outcome::old;
  }
  const ChangeSource::outcome found = past_.next(past_epoch_.epoch);
  past_behind_ = found == ChangeSource::outcome::epoch ? epoch : FeedSwitch::kNever;
  return found;
}

const std::vector<std::uint32_t>& Herald::past_hits(const Channel& channel) {
  if (past_channel_ != &channel) {
    past_channel_ = &channel;
    past_hits_.clear();
    for (std::uint32_t i = 0; i < past_epoch_.epoch.records.size(); ++i) {
      if (wants(channel.form, past_epoch_.epoch.records[i].record)) {
        past_hits_.push_back(i);
      }
    }
    sort(past_epoch_, past_hits_);
  }
  return past_hits_;
}

void Herald::serve(const WatchRef& watch, FrameRef frame, std::uint64_t now_ns) {
  Watch::Desk& desk = watch->herald;
  const FrameLines which = frame->which();
  count(counts_.told, which.to - which.from);
  give(watch, {.marks = which.ends_epoch, .position = {live_.tag(), which.epoch}, .frame = std::move(frame)});
  if (which.ends_epoch) {
    desk.cursor = {.epoch = which.epoch};
    desk.marked = which.epoch;
    give_asked_marks(watch);
  } else {
    desk.cursor.lines = which.to;
  }
  desk.served_ns = now_ns;
  if (!std::exchange(desk.served, true)) {
    served_.push_back({.watch = watch, .at_ns = now_ns});
  }
}

// -- marks

void Herald::give_marks(std::uint64_t now_ns) {
  std::erase_if(asking_, [this](const WatchRef& watch) {
    Watch::Desk& desk = watch->herald;
    if (!desk.over && desk.channel == nullptr) {
      return false;  // it has not begun
    }
    if (!desk.over) {
      give_asked_marks(watch);
    }
    desk.asks = desk.live && !desk.marks.empty();
    return !desk.asks;  // one that is behind gets them with its lines
  });
  if (now_ns < next_mark_ns_) {
    return;
  }
  next_mark_ns_ = now_ns + options_.mark_ns;
  for (const auto& [form, channel] : channels_) {
    for (const WatchRef& watch : channel->live) {
      if (watch->herald.marked < told_) {
        watch->herald.marked = told_;
        give(watch, {.marks = true, .position = {live_.tag(), told_}});
      }
    }
  }
}

// Those whose epochs the watch has. Within an epoch there are no marks.
void Herald::give_asked_marks(const WatchRef& watch) {
  Watch::Desk& desk = watch->herald;
  const FeedCursor at = desk.live ? FeedCursor{.epoch = told_} : desk.cursor;
  while (!desk.marks.empty() && at.lines == 0 && desk.marks.front().target <= at.epoch) {
    AskedMark mark = std::move(desk.marks.front());
    desk.marks.pop_front();
    desk.marked = at.epoch;
    give(watch, {.marks = true,
                 .position = {live_.tag(), at.epoch},
                 .opaque = std::move(mark.opaque),
                 .asked = true,
                 .charge = std::move(mark.charge)});
  }
}

// -- memory

// Lets the watches with the most bytes fall behind, some more than needed, so that this is not done for each one.
void Herald::shed() {
  if (share_.bytes(held::live) <= half_bytes()) {
    return;
  }
  std::vector<std::pair<std::size_t, WatchRef>> holders;
  for (const auto& [form, channel] : channels_) {
    for (const WatchRef& watch : channel->live) {
      if (const std::size_t bytes = watch->bytes(); bytes != 0) {
        holders.emplace_back(bytes, watch);
      }
    }
  }
  std::ranges::sort(holders, std::ranges::greater{}, [](const auto& holder) { return holder.first; });
  for (const auto& [bytes, watch] : holders) {
    if (share_.bytes(held::live) <= half_bytes() - half_bytes() / 4) {
      break;
    }
    fall_behind(watch);
  }
}

}  // namespace mxkv::server
