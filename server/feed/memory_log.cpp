#include "server/feed/memory_log.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/commit/record_reader.hpp"

namespace mxkv::server {

MemoryLog::MemoryLog(const std::vector<void*>& workers, index::CommitPoint<std::string_view>& commits,
                     const runtime::Clock& clock, runtime::MemoryBudget* budget, MemoryLogOptions options,
                     MemoryLogHooks hooks)
    : options_(options),
      hooks_(std::move(hooks)),
      commits_(commits),
      clock_(clock),
      epochs_(workers.size(), 1, 0),
      share_{.epochs = &epochs_, .budget = budget},
      ring_(options.ring_bytes, budget),
      passed_(epochs_.durable()),
      closed_(epochs_.durable()) {
  std::vector<RecordBuffer*> buffers;
  for (void* const worker : workers) {
    Desk& desk = *desks_.emplace_back(std::make_unique<Desk>(share_));
    desk.of_worker.buffer.set_context(worker);
    buffers.push_back(&desk.of_worker.buffer);
  }
  journal_ = std::make_unique<StoreJournal>(std::move(buffers), record_times::steady);
}

MemoryLog::~MemoryLog() {
  commits_.listen(nullptr);
  for (const std::unique_ptr<Desk>& desk : desks_) {
    if (desk->first != nullptr) {
      desk->of_worker.buffer.give_back(desk->first, desk->last);
    }
  }
}

// -- workers

void MemoryLog::answer(Desk& desk, runtime::WorkerId worker, std::uint64_t asked) noexcept {
  desk.heard = asked;
  switch (static_cast<request>(asked % kRequests)) {
    case request::sit:
      desk.seated = true;
      static_cast<void>(desk.of_worker.begin_round(epochs_, worker, 0));
      break;
    case request::stand_up:
      if (std::exchange(desk.seated, false)) {
        static_cast<void>(desk.of_worker.park(epochs_, worker));
      }
      break;
    case request::take_back:
      desk.of_worker.buffer.park();
      break;
    case request::none:
    case request::begin_round:
      break;
  }
  // Release: the seat is taken, or the last records are sealed. Pairs with all_answered().
  desk.answered.store(asked, std::memory_order_release);
  hooks_.wake();
}

// -- the herald's thread

void MemoryLog::ask(request what) noexcept {
  const std::uint64_t asked = asked_.load(std::memory_order_relaxed) / kRequests * kRequests + kRequests +
                              static_cast<std::uint64_t>(what);
  asked_.store(asked, std::memory_order_release);
  for (std::size_t worker = 0; worker < desks_.size(); ++worker) {
    hooks_.wake_worker(worker);
  }
}

bool MemoryLog::all_answered() const noexcept {
  const std::uint64_t asked = asked_.load(std::memory_order_relaxed);
  return std::ranges::all_of(desks_, [asked](const std::unique_ptr<Desk>& desk) {
    return desk->answered.load(std::memory_order_acquire) == asked;
  });
}

bool MemoryLog::step(std::uint64_t now_ns) {
  return advance(now_ns) || (state_ != state::off && close_epoch(now_ns));
}

// Each state but `off` and `on` ends when all workers have answered its request, or its epoch has passed.
bool MemoryLog::advance(std::uint64_t now_ns) {
  const state before = state_;
  switch (state_) {
    case state::off:
      if (wanted_) {
        state_ = state::seating;
        ask(request::sit);
      }
      break;
    case state::seating:
      if (all_answered()) {
        state_ = state::listening;
        commits_.listen(journal_.get());
        ask(request::begin_round);
      }
      break;
    case state::listening:
      if (all_answered()) {
        state_ = state::settling;
        settle_ = epochs_.current();
      }
      break;
    case state::settling:
      if (passed() >= settle_) {
        state_ = state::on;
        ring_.begin(passed());
      }
      break;
    case state::on:
      if (wanted_) {
        unwanted_since_ns_ = 0;
      } else if (unwanted_since_ns_ == 0) {
        unwanted_since_ns_ = now_ns;
      } else if (now_ns - unwanted_since_ns_ >= options_.linger_ns) {
        unwanted_since_ns_ = 0;
        state_ = state::leaving;
        commits_.listen(nullptr);
        ask(request::begin_round);
      }
      break;
    case state::leaving:
      if (all_answered()) {
        state_ = state::unseating;
        ask(request::stand_up);
      }
      break;
    case state::unseating:
      if (all_answered()) {
        state_ = state::taking_back;
        drop_collected();
        ring_.begin(passed());
        ask(request::take_back);
      }
      break;
    case state::taking_back:
      if (all_answered()) {
        state_ = state::off;
      }
      break;
  }
  return state_ != before;
}

std::uint64_t MemoryLog::next_step_ns() const noexcept {
  if (state_ != state::on) {
    return kNever;  // the answer of the last worker wakes the herald
  }
  std::uint64_t next = kNever;
  if (!closing_ && epochs_.last_recorded() > closed_) {
    next = closed_ns_ + options_.epoch_ns;
  }
  if (unwanted_since_ns_ != 0) {
    next = std::min(next, unwanted_since_ns_ + options_.linger_ns);
  }
  return next;
}

bool MemoryLog::due(std::uint64_t now_ns) const noexcept {
  return settle_ > closed_ || (epochs_.last_recorded() > closed_ && now_ns - closed_ns_ >= options_.epoch_ns);
}

bool MemoryLog::close_epoch(std::uint64_t now_ns) {
  if (!closing_) {
    if (!due(now_ns)) {
      return false;
    }
    closed_ = epochs_.close(clock_.steady_us(clock_.monotonic_ns()));
    closed_ns_ = now_ns;
    closing_ = true;
  }
  if (!epochs_.await_passed(closed_)) {
    return false;  // the last worker that passes wakes the herald
  }
  closing_ = false;
  collect();
  ring_bytes_.store(ring_.bytes(), std::memory_order_relaxed);
  passed_.store(closed_, std::memory_order_release);
  return true;
}

void MemoryLog::collect() {
  for (const std::unique_ptr<Desk>& desk : desks_) {
    if (RecordBlock* const sealed = desk->of_worker.buffer.collect(); sealed != nullptr) {
      (desk->first == nullptr ? desk->first : desk->last->next) = sealed;
      for (desk->last = sealed; desk->last->next != nullptr; desk->last = desk->last->next) {
      }
    }
  }
  RingEpoch epoch{.number = closed_};
  const bool fits = make_room(epoch);
  for (const std::unique_ptr<Desk>& desk : desks_) {
    RecordBlock* const first = desk->first;
    RecordBlock* last = nullptr;
    for (; desk->first != nullptr && desk->first->epoch <= closed_; desk->first = desk->first->next) {
      if (fits) {
        copy(*desk->first, last == nullptr, epoch);
      }
      last = desk->first;
    }
    if (last != nullptr) {
      desk->of_worker.buffer.give_back(first, last);
    }
  }
  if (!fits) {
    ring_.begin(closed_);
  } else if (!epoch.runs.empty() && state_ == state::on) {
    ring_.add(std::move(epoch));
  }
}

// Gives `to` the room that the epoch needs, and no more. False: the epoch is larger than the ring.
bool MemoryLog::make_room(RingEpoch& to) const {
  std::size_t bytes = 0;
  std::size_t runs = 0;
  for (const std::unique_ptr<Desk>& desk : desks_) {
    for (const RecordBlock* block = desk->first; block != nullptr && block->epoch <= closed_;
         block = block->next) {
      bytes += block->payload_bytes + (keeps_apart(*block) ? block->apart.bytes : 0);
      ++runs;
    }
  }
  if (bytes + runs * sizeof(RingEpoch::Run) > ring_.most_bytes()) {
    return false;
  }
  to.bytes.reserve(bytes);
  to.runs.reserve(runs);
  return true;
}

void MemoryLog::copy(RecordBlock& block, bool first_of_worker, RingEpoch& to) {
  RingEpoch::Run run{.payload_bytes = block.payload_bytes, .of_next_worker = first_of_worker};
  to.bytes.append(block.payload(), block.payload_bytes);
  if (keeps_apart(block)) {
    pieces_.clear();
    block.apart.of->pieces(block.apart.owner, pieces_);
    for (const std::string_view piece : pieces_) {
      to.bytes.append(piece);
      run.apart_bytes += piece.size();
    }
  }
  to.runs.push_back(run);
}

void MemoryLog::drop_collected() noexcept {
  for (const std::unique_ptr<Desk>& desk : desks_) {
    if (desk->first != nullptr) {
      desk->of_worker.buffer.give_back(desk->first, desk->last);
      desk->first = desk->last = nullptr;
    }
    if (RecordBlock* const first = desk->of_worker.buffer.collect(); first != nullptr) {
      RecordBlock* last = first;
      while (last->next != nullptr) {
        last = last->next;
      }
      desk->of_worker.buffer.give_back(first, last);
    }
  }
}

// -- the ring's readers

position_state RingSource::seek(const Position& position) {
  if (position.tag != tag() || position.epoch > through()) {
    return position_state::lost;
  }
  if (position.epoch < log_.ring().complete_behind()) {
    return position_state::old;
  }
  at_ = position.epoch;
  return position_state::ok;
}

ChangeSource::outcome RingSource::next(ChangeEpoch& to) {
  if (at_ < log_.ring().complete_behind()) {
    return outcome::old;
  }
  const RingEpoch* const epoch = log_.ring().behind(at_);
  if (epoch == nullptr) {
    return outcome::none;
  }
  at_ = to.number = epoch->number;
  to.records.clear();
  std::string_view left = epoch->bytes;
  BatchMarks marks;
  std::uint32_t before = 0;  // batches of the workers before
  for (const RingEpoch::Run& run : epoch->runs) {
    if (run.of_next_worker) {
      before += std::exchange(marks, {}).batches;
    }
    RecordReader reader{left.substr(0, run.payload_bytes), &marks};
    while (const std::optional<Record> record = reader.next()) {
      to.records.push_back({.record = *record, .batch = marks.open ? before + marks.batches : 0});
    }
    MXKV_ASSERT(reader.at_end(), "a worker writes records");
    left.remove_prefix(run.payload_bytes);
    if (run.apart_bytes != 0) {
      to.records.back().apart = left.substr(0, run.apart_bytes);
      left.remove_prefix(run.apart_bytes);
    }
  }
  return outcome::epoch;
}

}  // namespace mxkv::server
