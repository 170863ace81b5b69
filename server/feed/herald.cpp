#include "server/feed/herald.hpp"

#include <algorithm>
#include <utility>

#include "server/feed/watch_lines.hpp"

namespace mxkv::server {

Herald::Herald(FeedSwitch& log, ChangeSource& live, ChangeSource& past, const runtime::Clock& clock,
               runtime::MemoryBudget* budget, const HeraldOptions& options, HeraldHooks hooks)
    : log_(log),
      live_(live),
      past_(past),
      clock_(clock),
      options_(options),
      hooks_(std::move(hooks)),
      share_(budget),
      news_(options.workers),
      woken_(options.workers) {}

// -- any thread

void Herald::send(Letter letter) {
  {
    const std::scoped_lock lock{letters_mutex_};
    letters_.push_back(std::move(letter));
  }
  hooks_.wake();
}

bool Herald::add(WatchRef watch) {
  if (counts_.watches.fetch_add(1, std::memory_order_relaxed) >= options_.most_watches) {
    counts_.watches.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  send({.is = Letter::what::add, .watch = std::move(watch), .target = log_.need_recorded()});
  return true;
}

void Herald::remove(WatchRef watch) {
  send({.is = Letter::what::remove, .watch = std::move(watch)});
}

void Herald::mark(WatchRef watch, std::string opaque) {
  send({.is = Letter::what::mark,
        .watch = std::move(watch),
        .opaque = std::move(opaque),
        .target = log_.need_recorded()});
}

std::vector<WatchRef> Herald::take_news(std::size_t worker) {
  News& news = news_[worker];
  const std::scoped_lock lock{news.mutex};
  news.any.store(false, std::memory_order_relaxed);
  return std::exchange(news.watches, {});
}

// -- the herald's thread

std::uint64_t Herald::step(std::uint64_t now_ns) {
  take_letters();
  const bool wanted = counts_.watches.load(std::memory_order_relaxed) != 0;
  log_.want(wanted);
  while (log_.step(now_ns)) {
  }
  const bool was_on = std::exchange(on_, log_.is_on());
  std::uint64_t next = log_.next_step_ns();
  if (on_) {
    if (!was_on) {
      told_ = live_.seek_end();
    }
    const std::uint64_t now_us = clock_.steady_us(now_ns);
    tell_live(now_us);
    begin_waiting();
    bool goes_on = live_.through() > told_;
    goes_on = serve_behind(now_us) || goes_on;
    give_marks(now_ns);
    goes_on = shed() || goes_on;
    next = goes_on ? now_ns
                   : std::min(next, counts_.live.load(std::memory_order_relaxed) == 0 ? FeedSwitch::kNever
                                                                                      : next_mark_ns_);
  }
  tell_workers();
  // The last watch may have ended in this step: then the log has to hear of it.
  return (counts_.watches.load(std::memory_order_relaxed) != 0) == wanted ? next : now_ns;
}

void Herald::take_letters() {
  std::vector<Letter> letters;
  {
    const std::scoped_lock lock{letters_mutex_};
    letters.swap(letters_);
  }
  for (Letter& letter : letters) {
    switch (letter.is) {
      case Letter::what::add:
        beginning_.push_back(std::move(letter));
        break;
      case Letter::what::remove:
        detach(letter.watch);
        break;
      case Letter::what::mark:
        if (!letter.watch->herald.over) {
          marks_.push_back(std::move(letter));
        }
        break;
    }
  }
}

void Herald::begin_waiting() {
  for (Letter& letter : std::exchange(beginning_, {})) {
    if (!letter.watch->from() && letter.target > told_) {
      beginning_.push_back(std::move(letter));
    } else {
      begin(letter.watch);
    }
  }
}

void Herald::begin(const WatchRef& watch) {
  const Position from = watch->from().value_or(Position{live_.tag(), told_});
  position_state found = position_state::ok;
  if (watch->from()) {
    // The server has given no position behind the last epoch that it read.
    found = from.epoch > told_ ? position_state::lost : past_.seek(from);
  }
  if (found != position_state::ok) {
    end(watch, found == position_state::old ? watch_end::old : watch_end::lost, past_.oldest());
    return;
  }
  std::unique_ptr<Channel>& channel = channels_[watch->form()];
  if (channel == nullptr) {
    channel = std::make_unique<Channel>(watch->form());
    set(counts_.channels, channels_.size());
  }
  ++channel->watches;
  watch->herald.channel = channel.get();
  watch->herald.told = watch->herald.marked = from.epoch;
  give(watch, {.is = Tiding::what::begun, .position = from});
  if (from.epoch == told_) {
    become_live(watch);
  } else {
    behind_.push_back(watch);
    set(counts_.behind, behind_.size());
  }
}

void Herald::become_live(const WatchRef& watch) {
  Channel& channel = *watch->herald.channel;
  watch->herald.live = true;
  index_is_old_ = index_is_old_ || channel.live.empty();
  channel.live.push_back(watch);
  count(counts_.live);
}

void Herald::leave_live(const WatchRef& watch) {
  Channel& channel = *watch->herald.channel;
  watch->herald.live = false;
  std::erase(channel.live, watch);
  index_is_old_ = index_is_old_ || channel.live.empty();
  set(counts_.live, counts_.live.load(std::memory_order_relaxed) - 1);
}

// The watch gets nothing more.
void Herald::detach(const WatchRef& watch) {
  if (std::exchange(watch->herald.over, true)) {
    return;
  }
  counts_.watches.fetch_sub(1, std::memory_order_relaxed);
  std::erase_if(beginning_, [&](const Letter& letter) { return letter.watch == watch; });
  std::erase_if(marks_, [&](const Letter& mark) { return mark.watch == watch; });
  if (watch->herald.channel == nullptr) {
    return;
  }
  if (watch->herald.live) {
    leave_live(watch);
  } else {
    std::erase(behind_, watch);
    set(counts_.behind, behind_.size());
  }
  Channel& channel = *std::exchange(watch->herald.channel, nullptr);
  if (--channel.watches == 0) {
    index_is_old_ = true;
    channels_.erase(channels_.find(watch->form()));
    set(counts_.channels, channels_.size());
  }
}

void Herald::end(const WatchRef& watch, watch_end why, const Position& oldest) {
  detach(watch);
  count(why == watch_end::old ? counts_.old : counts_.lost);
  give(watch, {.is = Tiding::what::over, .end = why, .position = oldest});
}

// -- live watches

// Epochs that come to count meanwhile wait for the next step, so that workers hear of these ones first.
void Herald::tell_live(std::uint64_t now_us) {
  const std::uint64_t through = live_.through();  // before next(): all up to it is given or has no records
  while (told_ < through) {
    switch (live_.next(epoch_)) {
      case ChangeSource::outcome::epoch:
        dispatch(now_us);
        told_ = epoch_.number;
        static_cast<void>(shed());  // serve_behind() follows
        break;
      case ChangeSource::outcome::old:
        count(counts_.gaps);
        end_all();
        told_ = live_.seek_end();
        break;
      case ChangeSource::outcome::none:
        told_ = through;
        break;
    }
  }
}

void Herald::end_all() {
  const Position oldest = past_.oldest();
  std::vector<WatchRef> all;
  for (const auto& [form, channel] : channels_) {
    all.insert(all.end(), channel->live.begin(), channel->live.end());
  }
  for (const WatchRef& watch : all) {
    end(watch, watch_end::old, oldest);
  }
}

void Herald::build_index() {
  std::vector<WatchIndex::Entry> entries;
  indexed_.clear();
  for (const auto& [form, channel] : channels_) {
    if (!channel->live.empty() && !form.span.empty()) {
      entries.push_back({.span = form.span, .number = static_cast<std::uint32_t>(indexed_.size())});
      indexed_.push_back(channel.get());
    }
  }
  index_.build(std::move(entries));
  index_is_old_ = false;
}

// The place of each record of the epoch: its order, or the least order of its batch, whose records stand together.
void Herald::rank() {
  const std::vector<ChangeRecord>& records = epoch_.records;
  ranks_.resize(records.size());
  for (std::size_t i = 0; i < records.size();) {
    std::uint64_t least = order_of(records[i].record);
    std::size_t to = i + 1;
    while (records[i].batch != 0 && to < records.size() && records[to].batch == records[i].batch) {
      least = std::min(least, order_of(records[to++].record));
    }
    std::fill(ranks_.begin() + static_cast<std::ptrdiff_t>(i),
              ranks_.begin() + static_cast<std::ptrdiff_t>(to), least);
    i = to;
  }
}

void Herald::dispatch(std::uint64_t now_us) {
  count(counts_.epochs);
  count(counts_.changes, epoch_.records.size());
  if (index_is_old_) {
    build_index();
  }
  if (index_.size() == 0) {
    return;
  }
  rank();
  for (std::uint32_t i = 0; i < epoch_.records.size(); ++i) {
    const Record& record = epoch_.records[i].record;
    const std::uint8_t kind = kind_of(record);
    const auto hit = [&](std::uint32_t number) {
      Channel& channel = *indexed_[number];
      if ((channel.form.kinds & kind) != 0) {
        if (channel.hits.empty()) {
          touched_.push_back(&channel);
        }
        channel.hits.push_back(i);
      }
    };
    if (const std::string_view key = key_of(record); !key.empty()) {
      index_.find(key, hit);
    } else if (const KeySpan span = span_of(record); !span.empty()) {
      index_.find(span, hit);
    }
  }
  for (Channel* const channel : touched_) {
    const std::vector<FrameRef> frames = encode(channel->form, channel->hits, now_us);
    count(counts_.told, channel->hits.size() * channel->live.size());
    channel->hits.clear();
    for (const WatchRef& watch : channel->live) {
      deliver(watch, frames);
    }
  }
  touched_.clear();
}

// The lines of the records at `hits`, which are sorted. A line before each batch says how many lines it has.
std::vector<FrameRef> Herald::encode(const WatchForm& form, std::vector<std::uint32_t>& hits,
                                     std::uint64_t now_us) {
  std::ranges::sort(hits, [this](std::uint32_t one, std::uint32_t other) {
    return ranks_[one] != ranks_[other] ? ranks_[one] < ranks_[other] : one < other;
  });
  count(counts_.lines, hits.size());
  std::vector<FrameRef> frames;
  std::string lines;
  const auto batch_of = [&](std::size_t at) { return epoch_.records[hits[at]].batch; };
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (batch_of(i) != 0 && (i == 0 || batch_of(i - 1) != batch_of(i))) {
      std::size_t to = i + 1;
      while (to < hits.size() && batch_of(to) == batch_of(i)) {
        ++to;
      }
      if (to - i > 1) {
        write_batch(lines, to - i);
      }
    }
    write_change(lines, epoch_.records[hits[i]], form, now_us, options_.value_bytes);
    if (lines.size() >= Frame::kBytes && i + 1 < hits.size()) {
      frames.push_back(std::make_shared<const Frame>(std::move(lines), epoch_.number, false, share_));
      lines.clear();
    }
  }
  frames.push_back(std::make_shared<const Frame>(std::move(lines), epoch_.number, true, share_));
  return frames;
}

void Herald::deliver(const WatchRef& watch, const std::vector<FrameRef>& frames) {
  for (const FrameRef& frame : frames) {
    give(watch, {.marks = frame->ends_epoch(), .position = {live_.tag(), frame->epoch()}, .frame = frame});
  }
  watch->herald.marked = epoch_.number;
}

void Herald::give(const WatchRef& watch, Tiding&& tiding) {
  if (!watch->add(std::move(tiding))) {
    return;
  }
  News& news = news_[watch->worker()];
  const std::scoped_lock lock{news.mutex};
  news.watches.push_back(watch);
  woken_[watch->worker()] = 1;
}

void Herald::tell_workers() {
  for (std::size_t worker = 0; worker < woken_.size(); ++worker) {
    if (std::exchange(woken_[worker], 0) != 0) {
      news_[worker].any.store(true, std::memory_order_relaxed);
      hooks_.wake_worker(worker);
    }
  }
}

}  // namespace mxkv::server
