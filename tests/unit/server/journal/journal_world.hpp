// A journal on a disk in memory, by a clock that a test moves, with two workers that are calls.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/journal/journal.hpp"
#include "tests/unit/server/journal/memory_disk.hpp"
#include "tests/unit/server/journal/read_back.hpp"

namespace mxkv::server::test {

/// A value apart that counts its releases.
struct Value {
  std::string bytes;
  mutable int releases = 0;

  static void pieces(const void* owner, std::vector<std::string_view>& to) {
    const std::string_view bytes = static_cast<const Value*>(owner)->bytes;
    to.push_back(bytes.substr(0, bytes.size() / 3));
    to.push_back(bytes.substr(bytes.size() / 3));
  }
  static void release(const void* owner, void* /*context*/) noexcept {
    ++static_cast<const Value*>(owner)->releases;
  }
  static constexpr ApartClass kClass{&pieces, &release};
};

struct JournalWorld {
  static constexpr std::uint64_t kSegmentBytes = 64 << 10;
  static constexpr std::uint64_t kSecondNs = 1'000'000'000;

  MemoryDisk disk;
  runtime::ManualClock clock;
  runtime::MemoryBudget budget{runtime::MemoryBudget::kUnlimited, 2};
  JournalOptions options;
  std::uint64_t order = 0;
  std::uint64_t changes = 0;
  std::vector<std::string> warnings;
  std::unique_ptr<Journal> journal;

  JournalWorld() {
    options.workers = 2;
    options.segments.segment_bytes = kSegmentBytes;
    options.budget = &budget;
  }

  static runtime::WorkerId worker(unsigned index) {
    return runtime::WorkerId{static_cast<std::uint16_t>(index)};
  }

  void open() {
    make();
    EXPECT_EQ(journal->open(), "");
  }
  void make() {
    WriterHooks hooks;
    hooks.greatest_order = [this] { return order; };
    hooks.on_change = [this] { ++changes; };
    hooks.warn = [this](std::string_view text) { warnings.emplace_back(text); };
    journal = std::make_unique<Journal>(disk, clock, options, std::move(hooks));
  }

  /// The worker wakes up, runs `f`, and parks again.
  template <class F>
  void round(unsigned index, F&& inside) {
    static_cast<void>(journal->begin_round(worker(index), clock.steady_us()));
    inside();
    journal->end_round(worker(index));
    journal->park(worker(index));
  }
  void put(unsigned index, std::string_view key, std::string_view value) {
    PutRecord record;
    record.order = ++order;
    record.key = key;
    record.value = value;
    journal->buffer(worker(index)).append(record);
  }
  void put_apart(unsigned index, std::string_view key, const Value& value) {
    PutRecord record;
    record.order = ++order;
    record.key = key;
    record.apart_bytes = value.bytes.size();
    journal->buffer(worker(index)).put_apart(record, {&value, &Value::kClass, value.bytes.size()});
  }
  /// Writes `groups` groups of one record, of 8 KB.
  void fill(int groups) {
    for (int i = 0; i < groups; ++i) {
      round(0, [&] { put(0, "fill", std::string(8000, 'f')); });
      settle();
    }
  }
  /// The writer notices the records, and writes them when they are 10 ms old: sync never.
  void settle_lazily() {
    settle();
    clock.advance_us(10'000);
    settle();
  }
  /// The writer does all that it can.
  void settle() const {
    while (journal->step()) {
    }
  }
};

}  // namespace mxkv::server::test
