// The tree's peers: Abseil's B-tree (one thread, or many readers) and oneTBB's ordered map, a skip list that
// many threads may insert into. They look up one key after the other.
//
// Keys and values are std::string where ours are bytes. An update overwrites the value in place, where ours
// makes a new item. Their memory is the sum of their allocations, rounded as malloc rounds.
#pragma once

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/index/crew.hpp"
#include "bench/index/job.hpp"
#include "bench/index/keys.hpp"

namespace mxkv::bench {

/// Bytes that the calling thread allocated minus the bytes that it freed. A number for each thread, because a
/// pointer to a shared number would make each string longer.
struct AllocatedHere {
  static inline thread_local std::int64_t bytes = 0;
};

template <class T>
struct CountingAllocator {
  using value_type = T;
  CountingAllocator() = default;
  template <class Other>
  CountingAllocator(const CountingAllocator<Other>& /*other*/) noexcept {}  // NOLINT: as allocators are

  T* allocate(std::size_t n) {
    void* memory = std::malloc(n * sizeof(T));  // NOLINT: counts malloc's blocks
    if (memory == nullptr) {
      throw std::bad_alloc{};
    }
    AllocatedHere::bytes += taken_by(memory);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t /*n*/) noexcept {
    AllocatedHere::bytes -= taken_by(memory);
    std::free(memory);  // NOLINT
  }
  friend bool operator==(const CountingAllocator&, const CountingAllocator&) noexcept { return true; }

 private:
  /// With malloc's own word before the block.
  static std::int64_t taken_by(void* memory) noexcept {
    return static_cast<std::int64_t>(::malloc_usable_size(memory) + sizeof(std::size_t));
  }
};

/// A value that threads may overwrite while others read it.
class SharedWord {
 public:
  SharedWord() = default;
  explicit SharedWord(std::uint64_t word) noexcept : word_(word) {}
  SharedWord(const SharedWord& other) noexcept : word_(other.get()) {}
  SharedWord& operator=(const SharedWord& other) noexcept {
    set(other.get());
    return *this;
  }
  ~SharedWord() = default;
  [[nodiscard]] std::uint64_t get() const noexcept { return word_.load(std::memory_order_relaxed); }
  void set(std::uint64_t word) noexcept { word_.store(word, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> word_{0};  // relaxed: values follow from keys, so it orders no other data
};

struct PeerIntegers {
  using Key = std::uint64_t;
  using Value = SharedWord;
  static constexpr bool kSharedUpdates = true;
  using Less = std::less<Key>;
  static Key lookup_key(std::uint64_t record) noexcept { return key_of(record); }
  static Key view(Key key) noexcept { return key; }
  static Key key(std::uint64_t record) noexcept { return key_of(record); }
  static Value value(Key key) noexcept { return SharedWord{~key}; }
  static bool right(Key key, const Value& value) noexcept { return value.get() == ~key; }
  static void update(Key key, Value& value) noexcept { value.set(~key); }
};

struct PeerTexts {
  using Text = std::basic_string<char, std::char_traits<char>, CountingAllocator<char>>;
  using Key = Text;
  using Value = Text;
  static constexpr bool kSharedUpdates = false;
  struct Less {
    using is_transparent = void;
    bool operator()(std::string_view left, std::string_view right) const noexcept { return left < right; }
  };
  static TextKey<24> lookup_key(std::uint64_t record) noexcept { return TextKey<24>{record}; }
  static std::string_view view(const TextKey<24>& key) noexcept { return key.view(); }
  static Text key(std::uint64_t record) { return Text{TextKey<24>{record}.view()}; }
  static Text value(std::string_view key) {
    Text text(kTextValueBytes, '\0');
    write_value(key, text.data());
    return text;
  }
  static bool right(std::string_view key, std::string_view value) noexcept { return is_value(key, value); }
  static void update(std::string_view key, Text& value) noexcept { write_value(key, value.data()); }
};

/// `Map` maps Kind::Key to Kind::Value; `SharedInserts`: threads may insert side by side.
template <class Map, class Kind, bool SharedInserts>
class Peer final : public Container {
 public:
  explicit Peer(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] bool can(workload what, unsigned workers) const override {
    switch (what) {
      case workload::load:
      case workload::insert:
        return workers == 1 || SharedInserts;
      case workload::mixed:
        return workers == 1 || (SharedInserts && Kind::kSharedUpdates);
      case workload::read:
      case workload::scan:
        break;
    }
    return true;
  }
  double run(const Job& job) override {
    return timed(job.workers, [&](unsigned i) {
      const std::int64_t before = AllocatedHere::bytes;
      wrong_.fetch_add(work(job, i), std::memory_order_relaxed);
      bytes_.fetch_add(AllocatedHere::bytes - before, std::memory_order_relaxed);
    });
  }
  [[nodiscard]] std::uint64_t wrong() const override { return wrong_.load(std::memory_order_relaxed); }
  std::string check(std::uint64_t records) override {
    return map_.size() == records ? "" : "holds " + std::to_string(map_.size()) + " entries";
  }
  std::vector<Part> parts(std::uint64_t records) override {
    return {
        {"all", static_cast<double>(bytes_.load(std::memory_order_relaxed)) / static_cast<double>(records)}};
  }

 private:
  std::uint64_t work(const Job& job, unsigned worker) {
    Stream& stream = (*job.streams)[worker];
    NewRecords new_records{job, worker};
    std::uint64_t wrong = 0;
    switch (job.what) {
      case workload::load:
      case workload::insert:
        for (std::uint64_t i = 0; i < job.operations; ++i) {
          wrong += insert(new_records.next()) ? 0 : 1;
        }
        break;
      case workload::read:
        for (std::uint64_t i = 0; i < job.operations; ++i) {
          wrong += find(stream.record(), false) ? 0 : 1;
        }
        break;
      case workload::mixed:
        for (std::uint64_t i = 0; i < job.operations; ++i) {
          const bool update = stream.update();
          wrong += find(stream.record(), update) ? 0 : 1;
        }
        break;
      case workload::scan:
        for (std::uint64_t i = 0; i < job.operations; ++i) {
          wrong += scan(stream.record()) ? 0 : 1;
        }
        break;
    }
    return wrong;
  }
  bool insert(std::uint64_t record) {
    auto key = Kind::key(record);
    auto value = Kind::value(key);
    return map_.emplace(std::move(key), std::move(value)).second;
  }
  bool find(std::uint64_t record, bool update) {
    const auto looked_up = Kind::lookup_key(record);
    const auto key = Kind::view(looked_up);
    const auto found = map_.find(key);
    if (found == map_.end()) {
      return false;
    }
    if (update) {
      Kind::update(key, found->second);
      return true;
    }
    return Kind::right(key, found->second);
  }
  bool scan(std::uint64_t record) {
    const auto looked_up = Kind::lookup_key(record);
    const auto key = Kind::view(looked_up);
    auto at = map_.lower_bound(key);
    bool right = at != map_.end() && at->first == key;
    auto last = at;
    for (std::uint64_t seen = 0; seen < kScanEntries && at != map_.end(); ++seen, ++at) {
      right = right && Kind::right(at->first, at->second) &&
              (seen == 0 || typename Kind::Less{}(last->first, at->first));
      last = at;
    }
    return right;
  }

  std::string name_;
  Map map_;
  std::atomic<std::uint64_t> wrong_{0};  // sums, read when the threads have ended
  std::atomic<std::int64_t> bytes_{0};
};

}  // namespace mxkv::bench
