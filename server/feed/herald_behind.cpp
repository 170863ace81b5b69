// The herald's functions for watches that are behind, for marks, and for the limit of memory.
#include <algorithm>
#include <utility>

#include "server/feed/herald.hpp"
#include "server/feed/watch_lines.hpp"

namespace mxkv::server {

namespace {

/// A watch that is behind gets about so much at a time, and at least an epoch. All of them get half the frames' memory.
constexpr std::size_t kPartBytes = std::size_t{256} << 10U;

bool wants(const WatchForm& form, const Record& record) {
  if ((form.kinds & kind_of(record)) == 0) {
    return false;
  }
  const std::string_view key = key_of(record);
  return key.empty() ? span_of(record).meets(form.span) : form.span.has(key);
}

}  // namespace

// -- watches that are behind

void Herald::fall_behind(const WatchRef& watch) {
  std::vector<std::string> marks;
  watch->herald.told = watch->take_back(told_, marks);
  leave_live(watch);
  behind_.push_back(watch);
  count(counts_.falls);
  set(counts_.behind, behind_.size());
  for (std::string& opaque : marks) {  // the latest first
    marks_.insert(marks_.begin(),
                  {.is = Letter::what::mark, .watch = watch, .opaque = std::move(opaque), .target = told_});
  }
}

// Returns whether to go on at once: some watch has taken all and is still behind.
bool Herald::serve_behind(std::uint64_t now_us) {
  bool goes_on = false;
  const std::vector<WatchRef> behind = behind_;  // those that catch up, or end, leave the list
  for (const WatchRef& watch : behind) {
    if (!watch->all_taken_or_tell()) {
      continue;
    }
    if (read_for(watch, now_us)) {
      std::erase(behind_, watch);
      set(counts_.behind, behind_.size());
      become_live(watch);
    } else {
      goes_on = goes_on || (!watch->herald.over && watch->all_taken_or_tell());
    }
  }
  return goes_on;
}

// Reads on for one watch. Returns whether it has all that live watches have.
bool Herald::read_for(const WatchRef& watch, std::uint64_t now_us) {
  Watch::Desk& desk = watch->herald;
  if (past_.seek({live_.tag(), desk.told}) != position_state::ok) {
    end(watch, watch_end::old, past_.oldest());
    return false;
  }
  const std::size_t most = std::min(kPartBytes, options_.memory_bytes / (2 * behind_.size()));
  for (std::size_t bytes = 0; bytes <= most && desk.told < told_;) {
    switch (past_.next(epoch_)) {
      case ChangeSource::outcome::old:
        end(watch, watch_end::old, past_.oldest());
        return false;
      case ChangeSource::outcome::none:
        desk.told = told_;
        break;
      case ChangeSource::outcome::epoch: {
        if (epoch_.number > told_) {
          desk.told = told_;
          break;
        }
        std::vector<std::uint32_t> hits;
        for (std::uint32_t i = 0; i < epoch_.records.size(); ++i) {
          bytes += kRecordHeaderBytes;  // records that nobody wants cost time, too
          if (wants(watch->form(), epoch_.records[i].record)) {
            hits.push_back(i);
          }
        }
        if (!hits.empty()) {
          rank();
          count(counts_.told, hits.size());
          for (const FrameRef& frame : encode(watch->form(), hits, now_us)) {
            bytes += frame->lines().size();
            deliver(watch, {frame});
          }
        }
        desk.told = epoch_.number;
        break;
      }
    }
  }
  return desk.told == told_;
}

// -- marks

void Herald::give_marks(std::uint64_t now_ns) {
  std::erase_if(marks_, [this](Letter& mark) {
    const std::uint64_t told = mark.watch->herald.live ? told_ : mark.watch->herald.told;
    if (mark.watch->herald.channel == nullptr || told < mark.target) {
      return false;
    }
    give(mark.watch,
         {.marks = true, .position = {live_.tag(), told}, .opaque = std::move(mark.opaque), .asked = true});
    mark.watch->herald.marked = told;
    return true;
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

// -- memory

// Returns whether to go on at once, as serve_behind(). A watch that fell behind tells the herald when it has taken all:
// perhaps nothing else wakes the herald.
bool Herald::shed() {
  bool goes_on = false;
  while (share_.bytes() > options_.memory_bytes) {
    WatchRef most;
    std::size_t most_bytes = 0;
    for (const auto& [form, channel] : channels_) {
      for (const WatchRef& watch : channel->live) {
        if (const std::size_t bytes = watch->bytes(); bytes > most_bytes) {
          most = watch;
          most_bytes = bytes;
        }
      }
    }
    if (most == nullptr) {
      break;
    }
    fall_behind(most);
    goes_on = most->all_taken_or_tell() || goes_on;
  }
  return goes_on;
}

}  // namespace mxkv::server
