// The time of a start: makes a data directory with a checkpoint, a journal, or both, and recovers it while
// its files are in the page cache. Also the bulk load alone.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "runtime/base/command_line.hpp"
#include "runtime/base/standard_streams.hpp"
#include "server/durability/data_directory.hpp"
#include "server/durability/item_loader.hpp"
#include "server/durability/part_writer.hpp"
#include "server/durability/recovery.hpp"
#include "server/journal/journal.hpp"
#include "server/journal/posix_disk.hpp"

namespace {

using namespace mxkv::server;  // NOLINT(google-build-using-namespace): a program, not a header
using Clock = std::chrono::steady_clock;
namespace runtime = mxkv::runtime;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

/// 24 bytes, in the order of the numbers.
std::string key_of(std::uint64_t number) {
  const unsigned long long spread = number * 1'000'003;
  char key[32];
  std::snprintf(key, sizeof key, "user%020llu", spread);
  return key;
}

CheckpointEntry write_checkpoint(Disk& disk, const Manifest& manifest, std::uint64_t items,
                                 std::size_t value_bytes, bool compress) {
  CheckpointEntry entry;
  entry.begun = 1;
  entry.parts = 1;
  entry.items = items;
  (void)disk.create_directory(checkpoint_path(entry.begun));
  PartWriter writer;
  CheckpointHeader header;
  header.directory = manifest.directory;
  header.begun = entry.begun;
  header.compressed = compress;
  header.has_no_end = true;
  int error = writer.begin(disk, checkpoint_part_path(entry.begun, 0), header);
  const std::string value(value_bytes, 'v');
  std::string block;
  std::string first;
  std::uint32_t records = 0;
  for (std::uint64_t i = 0; error == 0 && i < items; ++i) {
    const std::string key = key_of(i);
    const PutRecord put{.order = 1'700'000'000'000'000 + i, .key = key, .value = value};
    first = records == 0 ? key : first;
    const std::size_t before = block.size();
    block.resize(before + encoded_bytes(put));
    write_record(block.data() + before, put);
    if (++records == 1800 || i + 1 == items) {
      error = writer.add(block, records, first, key);
      block.clear();
      records = 0;
    }
  }
  error = error != 0 ? error : writer.end();
  if (error != 0) {
    std::fprintf(stderr, "%s\n", disk.text("checkpoint", error).c_str());
    std::exit(1);
  }
  entry.bytes = writer.bytes();
  return entry;
}

/// Writes `records` records: each of `keys` keys once, in no order, then some keys again.
void write_journal(Disk& disk, const Manifest& manifest, std::uint64_t records, std::uint64_t keys,
                   std::size_t value_bytes) {
  const runtime::SystemClock clock;
  JournalOptions options;
  options.segments.directory = manifest.directory;
  options.writer.mode.sync = mxkv::config::sync_mode::never;
  WriterHooks hooks;
  hooks.greatest_order = [] { return std::uint64_t{1'800'000'000'000'000}; };
  Journal journal{disk, clock, options, hooks};
  if (const std::string wrong = journal.open(); !wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::exit(1);
  }
  const runtime::WorkerId worker{0};
  const std::string value(value_bytes, 'j');
  for (std::uint64_t i = 0; i < records;) {
    (void)journal.begin_round(worker, clock.steady_us());
    for (const std::uint64_t end = std::min(i + 10'000, records); i < end; ++i) {
      const std::string key = key_of(i * 7'919'999 % keys);
      journal.buffer(worker).append(
          PutRecord{.order = 1'750'000'000'000'000 + i, .key = key, .value = value});
    }
    journal.end_round(worker);
    journal.need(journal.epochs().current());
    while (journal.step()) {
    }
  }
  journal.park(worker);
  (void)journal.flush_all_now();
}

runtime::RuntimeOptions runtime_options(std::size_t workers) {
  runtime::RuntimeOptions options;
  options.workers.resize(workers, runtime::WorkerPlacement{.pinned = false});
  options.memory.numa_placement = false;
  return options;
}

void bulk_load(std::uint64_t items, std::size_t value_bytes, std::size_t workers) {
  const runtime::SystemClock clock;
  runtime::Runtime runtime{runtime_options(workers), clock};
  Store store{runtime, {}};
  const std::string value(value_bytes, 'v');
  const auto begin = Clock::now();
  std::vector<std::unique_ptr<mxkv::index::LeafRun<ItemTraits>>> runs;
  std::vector<mxkv::index::LeafRun<ItemTraits>*> all;
  for (std::size_t i = 0; i < workers; ++i) {
    runs.push_back(std::make_unique<mxkv::index::LeafRun<ItemTraits>>(
        store.tree(), runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)})));
    all.push_back(runs.back().get());
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < workers; ++i) {
    threads.emplace_back([&, i] {
      for (std::uint64_t n = items * i / workers; n < items * (i + 1) / workers; ++n) {
        const std::string key = key_of(n);
        const StoredItem stored{.put = {.order = n + 1, .key = key, .value = value}};
        mxkv::server::Item* const item = make_item(runs[i]->worker(), stored, 0);
        if (item == nullptr || !runs[i]->append(key, ItemRecord::word(item))) {
          std::fprintf(stderr, "out of memory\n");
          std::exit(1);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const double appended = seconds_since(begin);
  if (!mxkv::index::BulkLoader<ItemTraits>::finish(store.tree(), all)) {
    std::exit(1);
  }
  const double took = seconds_since(begin);
  std::printf("bulk load, %zu threads: %.2f s, %.2f M items/s; levels above %.3f s; %u levels\n", workers,
              took, static_cast<double>(items) / took / 1e6, took - appended, store.tree().root_level() + 1);
}

}  // namespace

int main(int argc, char** argv) {
  mxkv::runtime::open_standard_streams();
  std::uint64_t items = 10'000'000;
  std::uint64_t records = 0;
  std::size_t value_bytes = 100;
  std::size_t workers = 2;
  std::string path = "/tmp/recovery_bench";
  bool compress = false;
  bool only_load = false;
  CLI::App app{"How long a start takes"};
  app.add_option("--items", items, "of the checkpoint")->capture_default_str();
  app.add_option("--records", records, "of the journal")->capture_default_str();
  app.add_option("--value", value_bytes, "bytes of a value")->capture_default_str();
  app.add_option("--workers", workers, "threads")->capture_default_str();
  app.add_option("--directory", path, "is removed before and after")->capture_default_str();
  app.add_flag("--compress", compress, "the checkpoint");
  app.add_flag("--only-load", only_load, "the bulk load by itself");
  if (const auto code = mxkv::runtime::parse_or_exit(app, argc, argv)) {
    return *code;
  }
  if (only_load) {
    bulk_load(items, value_bytes, workers);
    return 0;
  }
  std::filesystem::remove_all(path);
  auto disk = PosixDisk::open_directory(path);
  if (!disk) {
    std::fprintf(stderr, "%s\n", disk.error().message.c_str());
    return 1;
  }
  auto directory = open_data_directory(*disk.value());
  if (!directory || begin_service(*disk.value(), directory.value(), 1)) {
    return 1;
  }
  Manifest& manifest = directory.value().manifest;
  if (items > 0) {
    manifest.checkpoint = write_checkpoint(*disk.value(), manifest, items, value_bytes, compress);
  }
  if (records > 0) {
    write_journal(*disk.value(), manifest, records, std::max(items, records), value_bytes);
  }
  std::printf("made, %.1f s of CPU\n", cpu_seconds());
  {
    const runtime::SystemClock clock;
    runtime::Runtime runtime{runtime_options(workers), clock};
    Store store{runtime, {}};
    const double cpu = cpu_seconds();
    const auto begin = Clock::now();
    const auto recovered = recover(*disk.value(), manifest, store, {});
    const double took = seconds_since(begin);
    if (!recovered) {
      std::fprintf(stderr, "%s\n", recovered.error().message.c_str());
      return 1;
    }
    const Recovered& what = recovered.value();
    std::printf(
        "recovered %llu items (%llu records) in %.2f s: journal %.2f s, merge and load %.2f s; CPU %.2f s\n",
        static_cast<unsigned long long>(what.items), static_cast<unsigned long long>(what.records), took,
        what.journal_seconds, what.checkpoint_seconds, cpu_seconds() - cpu);
    std::fflush(stdout);
  }
  std::filesystem::remove_all(path);
  return 0;
}
