// JournalWriter's functions for other threads: what they ask of the writer, and what they read of it.
#include <algorithm>

#include "runtime/base/assert.hpp"
#include "server/journal/journal_writer.hpp"

namespace mxkv::server {
namespace {

void raise_to(std::atomic<std::uint64_t>& word, std::uint64_t value) noexcept {
  std::uint64_t before = word.load(std::memory_order_relaxed);
  while (before < value && !word.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

void JournalWriter::need(std::uint64_t epoch, bool on_disk) noexcept {
  MXKV_DCHECK(epoch <= epochs_.current(), "the needed records were made in this epoch or before");
  raise_to(on_disk ? needed_on_disk_ : needed_, epoch);
}

void JournalWriter::truncate(std::uint64_t before_epoch) noexcept {
  raise_to(truncate_, before_epoch);
}

void JournalWriter::rebased(std::uint64_t checkpoint_epoch) noexcept {
  raise_to(rebased_, checkpoint_epoch);
}

void JournalWriter::set_mode(const JournalMode& mode) {
  const std::lock_guard lock(mutex_);
  wanted_mode_ = mode;
}

JournalMode JournalWriter::mode() const {
  const std::lock_guard lock(mutex_);
  return shown_mode_;
}

std::string JournalWriter::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

std::string JournalWriter::last_error() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

std::uint64_t JournalWriter::behind_ns(std::uint64_t now_ns) const noexcept {
  const std::uint64_t oldest = oldest_ns_.load(std::memory_order_relaxed);
  return oldest == 0 || now_ns < oldest ? 0 : now_ns - oldest;
}

}  // namespace mxkv::server
