// A journal in memory that follows a store's commit point, with as many epochs as a test likes; and the files
// that it would have written.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "server/durability/checkpointer.hpp"
#include "tests/unit/server/durability/text_store.hpp"
#include "tests/unit/server/journal/journal_builder.hpp"

namespace mxkv::server::testing {

class RecordedStore final : public index::CommitListener<std::string_view>, public CheckpointJournal {
 public:
  /// `keys`: all that there may be, in order; what a range ends at is told by them.
  RecordedStore(TextStore& store, std::vector<std::string> keys) : store_(store), keys_(std::move(keys)) {
    store_.store.tree().commits().listen(this);
  }

  void passed(const index::Commit<std::string_view>& commit, runtime::Worker& /*worker*/) noexcept override {
    const std::uint64_t order = commit.change.order;
    switch (commit.change.what) {
      case index::change::put:
        return add_put(Item::View{*ItemRecord::item(commit.value)});
      case index::change::gone:
        if (commit.change.why != index::cause::expired) {
          add({{GoneRecord{.order = order, .key = keep(commit.key)}}});
        }
        return;
      case index::change::touched:
        return add({{TouchRecord{.order = order,
                                 .key = keep(commit.key),
                                 .expiry = ItemRecord::item(commit.value)->expiry()}}});
      case index::change::range_gone:
        return add({{RangeGoneRecord{.order = order, .bounds = bounds_of(*commit.range)}}});
      case index::change::range_touched:
        return add({{RangeTouchRecord{.order = order,
                                      .bounds = bounds_of(*commit.range),
                                      .moment_us = commit.moment_us,
                                      .expiry = static_cast<std::uint32_t>(commit.value)}}});
      case index::change::flushed:
        if (commit.moment_us != 0 && commit.moment_us > 1) {
          return add({{FlushAtRecord{
              .order = order, .point_us = commit.moment_us, .now_us = store_.machine.clock.steady_us()}}});
        }
        return add({{FlushRecord{order}}});
      default:
        return;
    }
  }

  // --- CheckpointJournal ---
  std::uint64_t end_epoch() override { return current_++; }
  std::uint64_t passed() override { return current_ - 1; }
  std::uint64_t last_recorded() override { return epochs_.empty() ? 0 : epochs_.rbegin()->first; }
  void need_on_disk(std::uint64_t epoch) override { needed = epoch; }
  bool on_disk(std::uint64_t epoch) override { return durable >= epoch; }
  std::uint64_t ceiling() override { return store_.store.greatest_cas(0); }
  void checkpointed(std::uint64_t epoch) override { truncated = epoch; }

  std::uint64_t durable = ~std::uint64_t{0};
  std::uint64_t needed = 0;
  std::uint64_t truncated = 0;

  /// Writes all epochs from `first` to the current one into segments of a few groups each.
  void write_segments(const std::string& directory, const DirectoryId& id, std::uint64_t first = 1) {
    std::filesystem::create_directories(directory + "/journal");
    std::uint64_t chain = 0;
    for (std::uint64_t epoch = first; epoch <= current_;) {
      SegmentHeader header = test::header_of(number_, epoch, chain);
      header.directory = id;
      test::SegmentBuilder builder{header};
      for (const std::uint64_t end = epoch + 7; epoch <= std::min(end, current_); ++epoch) {
        builder.add(epochs_[epoch], epoch - 1);
      }
      chain = builder.chain();
      std::ofstream{directory + "/journal/" + segment_name(number_++), std::ios::binary} << builder.bytes();
    }
  }
  [[nodiscard]] std::uint64_t current() const noexcept { return current_; }
  void next_epoch() { ++current_; }

 private:
  std::string_view keep(std::string_view text) { return kept_.emplace_back(text); }
  void add(test::BuiltBlock block) { epochs_[current_].push_back(std::move(block)); }

  void add_put(const Item::View& item) {
    PutRecord put{.order = item.item().cas(),
                  .key = keep(item.key()),
                  .flags = item.flags(),
                  .expiry = item.expiry(),
                  .marks = static_cast<std::uint8_t>(item.item().marks()),
                  .has_unique = item.item().has_unique_field()};
    put.unique = put.has_unique ? item.item().unique() : 0;
    test::BuiltBlock block;
    if (item.large()) {
      put.apart_bytes = item.value_bytes();
      for (const Chunk* chunk : item.item().list()->pieces()) {
        block.apart.emplace_back(chunk->data(), chunk->bytes);
      }
    } else {
      put.value = keep(item.value());
    }
    block.records.emplace_back(put);
    add(std::move(block));
  }

  RecordBounds bounds_of(const index::ChangedRange<std::string_view>& range) {
    RecordBounds bounds{.from = keep(range.from), .from_is_open = range.skips_from};
    bounds.has_no_end = true;
    for (const std::string& key : keys_) {
      if (key >= range.from && range.beyond(range.context, key)) {
        bounds.to = keep(key);
        bounds.to_is_open = true;
        bounds.has_no_end = false;
        break;
      }
    }
    return bounds;
  }

  TextStore& store_;
  std::vector<std::string> keys_;
  std::deque<std::string> kept_;
  std::map<std::uint64_t, std::vector<test::BuiltBlock>> epochs_;
  std::uint64_t current_ = 1;
  std::uint64_t number_ = 1;
};

}  // namespace mxkv::server::testing
