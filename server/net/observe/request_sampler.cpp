#include "server/net/observe/request_sampler.hpp"

#include <algorithm>
#include <utility>

#include "protocol/point_request.hpp"
#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/probe.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::server {

namespace {

/// The name of a range: its prefix, or the bound where it begins.
std::string_view name_of_range(const protocol::RangeRequest& range) noexcept {
  const protocol::RangeBound& first = range.reverse ? range.high : range.low;
  const std::string_view name = range.by_prefix ? range.prefix : first.unbounded ? "" : first.key;
  return name.empty() ? "" : name;
}

}  // namespace

std::string key_in_one_word(std::string_view key) {
  if (key.empty() || (protocol::is_printable_key(key) && runtime::is_readable(key))) {
    return std::string{key};
  }
  std::string text(4 * ((key.size() + 2) / 3), '\0');
  protocol::write_base64(text.data(), key);
  return "base64:" + text;
}

void SlowLog::add(SlowRequest request) {
  const std::scoped_lock lock{mutex_};
  if (ring_.size() < kMost) {
    ring_.push_back(std::move(request));
  } else {
    ring_[next_] = std::move(request);
    next_ = (next_ + 1) % kMost;
  }
}

std::vector<SlowRequest> SlowLog::latest() const {
  const std::scoped_lock lock{mutex_};
  std::vector<SlowRequest> found = ring_;
  std::rotate(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(next_), found.end());
  return found;
}

void SlowLog::clear() {
  const std::scoped_lock lock{mutex_};
  ring_.clear();
  next_ = 0;
}

void RequestSampler::configure(const config::StatsOptions& options, const runtime::Clock& clock,
                               SlowLog& slow, std::uint16_t worker, Happenings* happenings) {
  MXKV_ASSERT(clock_ == nullptr, "a sampler is configured once");
  worker_ = worker;
  gap_ = runtime::RandomGap{worker};
  clock_ = &clock;
  slow_ = &slow;
  happenings_ = happenings;
  latencies_ = std::make_unique<LatencyHistogram[]>(kCommandKinds);
  samples_ = std::make_unique_for_overwrite<Sample[]>(kMostPending);
  change(options);
}

void RequestSampler::change(const config::StatsOptions& options) noexcept {
  if (options.sample != one_in()) {
    hot_keys_.clear();  // counts of the old sample would be scaled by the new rate
  }
  one_in_.store(options.sample, std::memory_order_relaxed);
  left_ = 0;
  if (options.sample != 0) {
    gap_.set_mean(options.sample);
    left_ = gap_.next();
  }
  slow_ns_ = std::uint64_t{options.slow_ms} * 1'000'000;
}

void RequestSampler::count_keys(const protocol::Request& request, std::uint64_t now_ns) {
  if (protocol::is_range(request.op)) {
    hot_keys_.add(HotKeys::what::range, name_of_range(request.range), now_ns);
  } else if (protocol::is_retrieval(request.op) && request.key_count > 1) {
    std::string_view keys = request.keys;
    for (std::string_view key = protocol::next_key(keys); !key.empty(); key = protocol::next_key(keys)) {
      hot_keys_.add(HotKeys::what::key, key, now_ns);
    }
  } else if (protocol::is_sampled_by_key(request.op)) {
    hot_keys_.add(HotKeys::what::key, request.key, now_ns);
  }
}

void RequestSampler::begin(ConnectionState& entry, const protocol::Request& request) {
  if (one_in() == 0) {
    return;
  }
  left_ = gap_.next();
  const command_kind kind = protocol::command_of(request.op).timed_as;
  const std::uint64_t now_ns = clock_->monotonic_ns();
  count_keys(request, now_ns);
  if (request.noreply) {
    return;
  }
  if (pending_ == kMostPending) {
    untimed_.store(untimed_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return;
  }
  Sample& sample = samples_[pending_++];
  // Each of several keys has a reply, and for gat so has the END behind them.
  const bool many = protocol::is_retrieval(request.op) && request.key_count > 1;
  const std::uint32_t more = request.key_count - (kind == command_kind::get ? 1 : 0);
  sample.entry = &entry;
  sample.generation = entry.generation;
  sample.ticket = entry.replies.next_ticket() + (many ? more : 0);
  sample.begun_ns = entry.asked_ns == 0 ? now_ns : entry.asked_ns;
  sample.request_bytes = protocol::takes_value(request.op) ? request.value_bytes : 0;
  sample.written_before = entry.replies.written_bytes();
  const bool by_key = protocol::is_sampled_by_key(request.op);
  sample.keys = kind == command_kind::batch          ? request.batch_lines
                : protocol::is_retrieval(request.op) ? request.key_count
                : by_key                             ? 1
                                                     : 0;
  sample.kind = kind;
  sample.answered = false;
  const std::string_view key = protocol::is_range(request.op) ? name_of_range(request.range)
                               : by_key                       ? request.key
                                                              : std::string_view{};
  sample.key_bytes = static_cast<std::uint8_t>(key.size());
  std::ranges::copy(key, sample.key.begin());
  MXKV_PROBE2(request_begin, name_of(kind).data(), worker_);
}

// The end of a reply is known only once it is written. Other bytes that the connection wrote in the same
// round count as part of it, because a gate holds or releases a round's output together.
bool RequestSampler::is_answered(Sample& sample) {
  ReplyQueue& replies = sample.entry->replies;
  if (!sample.answered && replies.is_past(sample.ticket)) {
    sample.answered = true;
    sample.reply_end = replies.output().end();
  }
  return sample.answered;
}

void RequestSampler::time_replies() {
  const std::uint64_t now_ns = clock_->monotonic_ns();
  for (std::size_t i = 0; i < pending_;) {
    Sample& sample = samples_[i];
    const bool gone = sample.entry->generation != sample.generation || sample.entry->owner == nullptr;
    if (!gone && !(is_answered(sample) && sample.entry->owner->has_left(sample.reply_end))) {
      ++i;
      continue;
    }
    if (!gone) {
      end(sample, now_ns);
    }
    samples_[i] = samples_[--pending_];
  }
}

void RequestSampler::time_last_replies(const ConnectionState& entry) {
  const std::uint64_t now_ns = clock_->monotonic_ns();
  const bool all_sent = entry.life.answers() && entry.replies.unsent_bytes() == 0;
  for (std::size_t i = 0; i < pending_;) {
    Sample& sample = samples_[i];
    if (sample.entry != &entry || sample.generation != entry.generation) {
      ++i;
      continue;
    }
    if (all_sent && is_answered(sample)) {
      end(sample, now_ns);
    }
    samples_[i] = samples_[--pending_];
  }
}

void RequestSampler::end(const Sample& sample, std::uint64_t now_ns) {
  MXKV_ASSERT(now_ns >= sample.begun_ns && latencies_ != nullptr, "a sample ends after it began");
  const std::uint64_t took_ns = now_ns - sample.begun_ns;
  latencies_[static_cast<std::size_t>(sample.kind)].add(took_ns);
  MXKV_PROBE3(request_end, name_of(sample.kind).data(), worker_, took_ns);
  if (slow_ns_ != 0 && took_ns >= slow_ns_) {
    SlowRequest slow{.unix_us = clock_->unix_us(),
                     .nanoseconds = took_ns,
                     .kind = sample.kind,
                     .worker = worker_,
                     .key = {sample.key.data(), sample.key_bytes},
                     .keys = sample.keys,
                     .client = sample.entry->owner->client_name(),
                     .request_bytes = sample.request_bytes,
                     .reply_bytes = sample.reply_end - sample.written_before};
    if (happenings_ != nullptr) {
      const std::string subject = key_in_one_word(slow.key);
      happenings_->note(happening::slow, {.client = slow.client,
                                          .text = subject.empty() ? "" : " " + subject,
                                          .command = std::string{name_of(slow.kind)},
                                          .took_ns = took_ns});
    }
    slow_->add(std::move(slow));
  }
}

}  // namespace mxkv::server
