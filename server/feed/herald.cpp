#include "server/feed/herald.hpp"

#include <algorithm>
#include <utility>

#include "server/feed/watch_lines.hpp"

namespace mxkv::server {

namespace {

/// A tiding's place in a queue, and what malloc adds.
constexpr std::size_t kTidingBytes = sizeof(Tiding) + 16;

}  // namespace

Herald::Herald(FeedSwitch& log, ChangeSource& live, ChangeSource& past, const runtime::Clock& clock,
               runtime::MemoryBudget* budget, const HeraldOptions& options, HeraldHooks hooks)
    : log_(log),
      live_(live),
      past_(past),
      clock_(clock),
      budget_(budget),
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

bool Herald::mark(WatchRef watch, std::string opaque) {
  const std::size_t most = share_.bytes(held::fixed) < memory_bytes() / 4 ? kMostMarks : 1;
  if (watch->asked >= most) {
    return false;
  }
  ++watch->asked;
  FrameCharge charge{share_, held::fixed, kTidingBytes + sizeof(Letter) + opaque.size()};
  send({.is = Letter::what::mark,
        .watch = std::move(watch),
        .mark = {.opaque = std::move(opaque), .target = log_.need_recorded(), .charge = std::move(charge)}});
  return true;
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
    give_marks(now_ns);
    shed();
    next = std::min(next, serve_behind(now_ns, now_us));
    if (live_.through() > told_) {
      next = now_ns;
    } else if (counts_.live.load(std::memory_order_relaxed) != 0) {
      next = std::min(next, next_mark_ns_);
    }
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
        if (Watch::Desk& desk = letter.watch->herald; !desk.over) {
          desk.marks.push_back(std::move(letter.mark));
          if (!std::exchange(desk.asks, true)) {
            asking_.push_back(std::move(letter.watch));
          }
        }
        break;
      case Letter::what::taken:
        if (!letter.watch->herald.over && !letter.watch->herald.live) {
          become_hungry(letter.watch);
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
  watch->herald.cursor = {.epoch = from.epoch};
  watch->herald.marked = from.epoch;
  give(watch, {.is = Tiding::what::begun, .position = from});
  if (from.epoch == told_) {
    become_live(watch);
  } else {
    set(counts_.behind, ++behind_);
    if (watch->wants_more_or_tells()) {
      become_hungry(watch);
    }
  }
}

void Herald::become_live(const WatchRef& watch) {
  Channel& channel = *watch->herald.channel;
  watch->herald.live = true;
  watch->herald.at = channel.live.size();
  index_is_old_ = index_is_old_ || channel.live.empty();
  channel.live.push_back(watch);
  count(counts_.live);
  if (!watch->herald.marks.empty() && !std::exchange(watch->herald.asks, true)) {
    asking_.push_back(watch);
  }
}

void Herald::become_hungry(const WatchRef& watch) {
  if (!std::exchange(watch->herald.hungry, true)) {
    hungry_.push_back(watch);
  }
}

void Herald::leave_live(const WatchRef& watch) {
  Channel& channel = *watch->herald.channel;
  watch->herald.live = false;
  const std::size_t at = watch->herald.at;  // `watch` may refer to this place
  channel.live.back()->herald.at = at;
  channel.live[at].swap(channel.live.back());
  channel.live.pop_back();
  index_is_old_ = index_is_old_ || channel.live.empty();
  set(counts_.live, counts_.live.load(std::memory_order_relaxed) - 1);
}

// The watch gets nothing more.
void Herald::detach(const WatchRef& watch) {
  if (std::exchange(watch->herald.over, true)) {
    return;
  }
  counts_.watches.fetch_sub(1, std::memory_order_relaxed);
  watch->herald.marks.clear();
  if (watch->herald.channel == nullptr) {
    std::erase_if(beginning_, [&](const Letter& letter) { return letter.watch == watch; });
    return;
  }
  if (watch->herald.live) {
    leave_live(watch);
  } else {
    set(counts_.behind, --behind_);
    if (std::exchange(watch->herald.hungry, false)) {
      std::erase(hungry_, watch);
    }
  }
  if (std::exchange(watch->herald.served, false)) {
    std::erase_if(served_, [&](const Served& one) { return one.watch == watch; });
  }
  Channel& channel = *std::exchange(watch->herald.channel, nullptr);
  if (--channel.watches == 0) {
    index_is_old_ = true;
    channels_.erase(channels_.find(watch->form()));
    set(counts_.channels, channels_.size());
  }
}

// What the connection has not taken it will not get: the client begins anew.
void Herald::end(const WatchRef& watch, watch_end why, const Position& oldest) {
  static_cast<void>(watch->take_back({}, watch->herald.marks));
  detach(watch);
  count(why == watch_end::old ? counts_.old : counts_.lost);
  give(watch, {.is = Tiding::what::over, .end = why, .position = oldest});
}

// -- live watches

// Epochs that come to count meanwhile wait for the next step, so that workers hear of these ones first.
void Herald::tell_live(std::uint64_t now_us) {
  const std::uint64_t through = live_.through();  // before next(): all up to it is given or has no records
  while (told_ < through) {
    switch (live_.next(now_.epoch)) {
      case ChangeSource::outcome::epoch:
        dispatch(now_us);
        told_ = now_.epoch.number;
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
void Herald::rank(RankedEpoch& ranked) {
  const std::vector<ChangeRecord>& records = ranked.epoch.records;
  ranked.ranks.resize(records.size());
  for (std::size_t i = 0; i < records.size();) {
    std::uint64_t least = order_of(records[i].record);
    std::size_t to = i + 1;
    while (records[i].batch != 0 && to < records.size() && records[to].batch == records[i].batch) {
      least = std::min(least, order_of(records[to++].record));
    }
    std::fill(ranked.ranks.begin() + static_cast<std::ptrdiff_t>(i),
              ranked.ranks.begin() + static_cast<std::ptrdiff_t>(to), least);
    i = to;
  }
}

void Herald::sort(RankedEpoch& ranked, std::vector<std::uint32_t>& hits) {
  if (ranked.ranks.empty()) {
    rank(ranked);
  }
  std::ranges::sort(hits, [&ranks = ranked.ranks](std::uint32_t one, std::uint32_t other) {
    return ranks[one] != ranks[other] ? ranks[one] < ranks[other] : one < other;
  });
}

void Herald::dispatch(std::uint64_t now_us) {
  count(counts_.epochs);
  count(counts_.changes, now_.epoch.records.size());
  if (index_is_old_) {
    build_index();
  }
  if (index_.size() == 0) {
    return;
  }
  now_.ranks.clear();
  find_hits();
  for (Channel* const channel : touched_) {
    tell(*channel, now_us);
  }
  touched_.clear();
}

void Herald::find_hits() {
  const std::size_t most = half_bytes() / sizeof(std::uint32_t);
  std::size_t hits = 0;
  for (std::uint32_t i = 0; i < now_.epoch.records.size(); ++i) {
    const Record& record = now_.epoch.records[i].record;
    const std::uint8_t kind = kind_of(record);
    const auto hit = [&](std::uint32_t number) {
      Channel& channel = *indexed_[number];
      if ((channel.form.kinds & kind) == 0 || channel.has_many) {
        return;
      }
      if (channel.hits.empty()) {
        touched_.push_back(&channel);
      }
      channel.hits.push_back(i);
      if (++hits > most && channel.hits.size() > 1) {
        hits -= channel.hits.size();
        channel.hits = {};
        channel.has_many = true;
      }
    };
    if (const std::string_view key = key_of(record); !key.empty()) {
      index_.find(key, hit);
    } else if (const KeySpan span = span_of(record); !span.empty()) {
      index_.find(span, hit);
    }
  }
}

// A frame at a time, so that watches whose clients do not keep up fall behind before the next one is made.
void Herald::tell(Channel& channel, std::uint64_t now_us) {
  if (std::exchange(channel.has_many, false)) {
    while (!channel.live.empty()) {
      const WatchRef last = channel.live.back();
      fall_behind(last);
    }
    return;
  }
  sort(now_, channel.hits);
  while (channel.lines < channel.hits.size() && !channel.live.empty()) {
    const FrameRef frame = encode(channel.form, now_, channel.hits, channel.lines, held::live, now_us);
    const FrameLines& which = frame->which();
    count(counts_.lines, which.to - which.from);
    count(counts_.told, (which.to - which.from) * channel.live.size());
    for (const WatchRef& watch : channel.live) {
      give(watch, {.marks = which.ends_epoch, .position = {live_.tag(), which.epoch}, .frame = frame});
      watch->herald.marked = which.ends_epoch ? which.epoch : watch->herald.marked;
    }
    channel.lines = which.to;
    if (which.ends_epoch) {
      channel.lines = 0;
      channel.done = which.epoch;
    }
    shed();
    if (which.ends_epoch) {
      break;
    }
  }
  channel.lines = 0;
  channel.hits.clear();
}

// The lines of the records at `hits`, which are sorted, from number `from` on. A line before each batch says how many lines
// it has.
FrameRef Herald::encode(const WatchForm& form, const RankedEpoch& of, const std::vector<std::uint32_t>& hits,
                        std::uint32_t from, held by, std::uint64_t now_us) {
  const std::vector<ChangeRecord>& records = of.epoch.records;
  const auto batch_of = [&](std::size_t at) { return records[hits[at]].batch; };
  lines_.clear();
  std::uint32_t at = from;
  while (at < hits.size() && lines_.size() < Frame::kBytes) {
    if (batch_of(at) != 0 && (at == 0 || batch_of(at - 1) != batch_of(at))) {
      std::size_t to = at + 1;
      while (to < hits.size() && batch_of(to) == batch_of(at)) {
        ++to;
      }
      if (to - at > 1) {
        write_batch(lines_, to - at);
      }
    }
    write_change(lines_, records[hits[at++]], form, now_us, options_.value_bytes);
  }
  return std::make_shared<const Frame>(
      std::string{lines_},  // in its true size
      FrameLines{.epoch = of.epoch.number, .from = from, .to = at, .ends_epoch = at == hits.size()}, by,
      share_);
}

void Herald::give(const WatchRef& watch, Tiding&& tiding) {
  if (tiding.charge.bytes() == 0) {
    // A watch has one mark without a frame that nobody asked for: see Watch::add().
    const held by = tiding.frame != nullptr ? tiding.frame->by() : held::fixed;
    tiding.charge = FrameCharge{share_, by, kTidingBytes};
  }
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
