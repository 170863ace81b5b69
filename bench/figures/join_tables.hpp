// The data of figure-hash-join: rows of customer and orders as TPC-H has them, hash tables by partition of
// the keys, and the two phases, each of which cuts an input into batches by partition.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/cache_line.hpp"
#include "runtime/base/random.hpp"
#if MXKV_HAVE_TBB
#include <tbb/spin_mutex.h>
#endif

namespace mxkv::bench {

struct Row {
  std::uint64_t customer;
  std::uint64_t payload;
};

inline constexpr std::uint64_t kCustomersPerScale = 150'000;
inline constexpr std::uint64_t kOrdersPerCustomer = 10;
inline constexpr std::size_t kMorselRows = 16'384;

inline std::uint64_t hash_of(std::uint64_t key) noexcept {
  return key * 0x9E3779B97F4A7C15ULL;
}

struct Tables {
  std::vector<Row> customers;
  std::vector<Row> orders;
};

/// As TPC-H: ten orders a customer on average, and a third of the customers without any.
inline Tables generate(std::uint64_t customers) {
  runtime::Random random{1};
  Tables tables;
  for (std::uint64_t i = 0; i < customers; ++i) {
    tables.customers.push_back({i + 1, random()});
  }
  for (std::uint64_t i = customers - 1; i > 0; --i) {
    std::swap(tables.customers[i], tables.customers[random.below(i + 1)]);
  }
  while (tables.orders.size() < customers * kOrdersPerCustomer) {
    const std::uint64_t customer = 1 + random.below(customers);
    if (customer % 3 != 0 || customers < 3) {
      tables.orders.push_back({customer, random()});
    }
  }
  return tables;
}

/// One partition: open addressing, at most half full.
class alignas(2 * runtime::kCacheLineBytes) Partition {
 public:
  void resize(std::size_t rows) {
    std::size_t slots = 16;
    while (slots < 2 * rows) {
      slots *= 2;
    }
    slots_.assign(slots, Row{0, 0});
    mask_ = slots - 1;
  }
  void build(const Row* rows, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t at = hash_of(rows[i].customer) & mask_;
      while (slots_[at].customer != 0) {
        at = (at + 1) & mask_;
      }
      slots_[at] = rows[i];
    }
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return slots_.size() * sizeof(Row); }
  [[nodiscard]] std::uint64_t probe(const Row* rows, std::size_t count) const noexcept {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t at = hash_of(rows[i].customer) & mask_;
      while (slots_[at].customer != 0 && slots_[at].customer != rows[i].customer) {
        at = (at + 1) & mask_;
      }
      found += slots_[at].customer == rows[i].customer ? 1 : 0;
    }
    return found;
  }
#if MXKV_HAVE_TBB
  tbb::spin_mutex latch;  ///< taken to build where tasks run anywhere
#endif
  std::atomic<std::uint64_t> matches{0};  // relaxed: a count

 private:
  std::vector<Row> slots_;
  std::size_t mask_ = 0;
};

/// The buffers for an input's rows, by worker and partition. All joins of a program use them one after the
/// other, so that their pages are mapped.
class Batches {
 public:
  Batches(std::size_t rows, std::size_t workers) {
    for (std::size_t i = 0; i < workers * workers; ++i) {
      rows_.push_back(std::make_unique_for_overwrite<Row[]>(rows));
    }
  }
  [[nodiscard]] Row* of(std::size_t i) const noexcept { return rows_[i].get(); }

 private:
  std::vector<std::unique_ptr<Row[]>> rows_;
};

/// One phase: an input and its progress.
class Phase {
 public:
  Phase(const std::vector<Row>& input, const Batches& batches, bool probes, std::size_t workers)
      : input_(input), probes_(probes), workers_(workers) {
    for (std::size_t i = 0; i < workers * workers; ++i) {
      outputs_.push_back({batches.of(i), 0, 0});
    }
  }
  [[nodiscard]] bool probes() const noexcept { return probes_; }
  [[nodiscard]] std::size_t rows() const noexcept { return input_.size(); }
  /// Rows that were dispatched and are not done.
  [[nodiscard]] std::size_t under_way() const noexcept {
    const std::size_t done = done_.load(std::memory_order_relaxed);
    return std::min(next_.load(std::memory_order_relaxed), input_.size()) - std::min(done, input_.size());
  }
  [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire) == input_.size(); }

  /// Partitions the next morsel on `worker`. Calls dispatch(partition, rows, count) for every full batch, and
  /// at the end of the input for the remaining rows. Returns false at the end.
  template <class Dispatch>
  bool partition(std::size_t worker, std::size_t batch_rows, const Dispatch& dispatch) {
    const std::size_t begin = next_.fetch_add(kMorselRows, std::memory_order_relaxed);
    const std::size_t end = std::min(begin + kMorselRows, input_.size());
    for (std::size_t i = begin; i < end; ++i) {
      // The upper bits, since the tables use the lower ones.
      const std::size_t partition = (hash_of(input_[i].customer) >> 40U) % workers_;
      Output& output = outputs_[worker * workers_ + partition];
      output.rows[output.count++] = input_[i];
      if (output.count - output.dispatched == batch_rows) {
        dispatch(partition, &output.rows[output.dispatched], batch_rows);
        output.dispatched = output.count;
      }
    }
    if (end == begin + kMorselRows) {
      return true;
    }
    for (std::size_t partition = 0; partition < workers_; ++partition) {
      Output& output = outputs_[worker * workers_ + partition];
      if (output.count > output.dispatched) {
        dispatch(partition, &output.rows[output.dispatched], output.count - output.dispatched);
        output.dispatched = output.count;
      }
    }
    return false;
  }

  /// Builds or probes one batch.
  void run_batch(Partition& partition, const Row* rows, std::size_t count) noexcept {
    if (probes_) {
      partition.matches.fetch_add(partition.probe(rows, count), std::memory_order_relaxed);
    } else {
      partition.build(rows, count);
    }
    done_.fetch_add(count, std::memory_order_release);  // pairs with done()
  }

 private:
  struct Output {
    Row* rows;
    std::size_t count;
    std::size_t dispatched;
  };
  const std::vector<Row>& input_;
  bool probes_;
  std::size_t workers_;
  std::vector<Output> outputs_;
  std::atomic<std::size_t> next_{0};  // relaxed: only who gets which morsel
  alignas(2 * runtime::kCacheLineBytes) std::atomic<std::size_t> done_{0};
};

inline std::vector<Partition> partitions_for(const Tables& tables, std::size_t workers) {
  std::vector<Partition> partitions(workers);
  for (Partition& partition : partitions) {
    partition.resize(tables.customers.size() / workers + tables.customers.size() / 8 + kMorselRows);
  }
  return partitions;
}

}  // namespace mxkv::bench
