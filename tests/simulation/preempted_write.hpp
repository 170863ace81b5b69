// A write of one key like the store's, whose worker may be preempted where that hurts most: under the leaf's
// latch, after it asked whether the key is held, before it writes. Where the key is held it gives up.
#pragma once

#include <string>

#include "server/store/point/write_operation.hpp"
#include "server/store/store.hpp"
#include "server/store/upkeep/background_writes.hpp"

namespace mxkv::simulation {

/// The receiver of a PreemptedWrite's events.
class WriteWitness {
 public:
  /// Under the latch.
  virtual void writing() = 0;
  /// It has ended; `cas` 0: it wrote nothing.
  virtual void ended(std::size_t write, std::uint64_t cas) = 0;

 protected:
  ~WriteWitness() = default;
};

class PreemptedWrite final : public index::UpdateTask<PreemptedWrite, server::ItemTraits> {
  using Base = index::UpdateTask<PreemptedWrite, server::ItemTraits>;

 public:
  static constexpr const char* kName = "preempted write";

  /// `key` outlives it. `asks`: false is a mistake made on purpose.
  PreemptedWrite(const runtime::TaskClass* task_class, server::ItemTree& tree, WriteWitness& witness,
                 std::size_t write, const std::string& key, std::uint64_t number, bool asks) noexcept
      : Base(task_class, tree), witness_(&witness), write_(write), key_(&key), number_(number), asks_(asks) {}

  [[nodiscard]] std::string_view key() const noexcept { return *key_; }
  index::Decision decide(bool /*found*/, std::uint64_t /*old*/, runtime::Worker& worker) {
    discard(worker);
    const std::string text = std::to_string(number_);
    made_ = server::Item::create(worker, {.key = *key_, .value_bytes = text.size()});
    if (made_ == nullptr) {
      return {};
    }
    text.copy(made_->value_begin(), text.size());
    return {index::Decision::what::put, server::ItemRecord::word(made_)};
  }
  [[nodiscard]] bool admitted(runtime::Worker& worker) const noexcept {
    return !asks_ || !worker.local<server::WorkerContext>().locks->holds_off(*key_);
  }
  index::Change commit(server::ItemNode& leaf, bool found, std::uint64_t old, std::uint64_t /*value*/,
                       runtime::Worker& worker) {
    witness_->writing();
    const server::Item* const before = found ? server::ItemRecord::item(old) : nullptr;
    order_ = server::WriteOperation::mint(*made_, server::order_before(before, leaf), worker);
    return index::Change::put(order_);
  }
  runtime::step committed(bool found, std::uint64_t old, runtime::Worker& worker) {
    server::count_added(worker.local<server::WorkerContext>(), *std::exchange(made_, nullptr));
    if (found) {
      server::retire_item(worker, server::ItemRecord::item(old));
    }
    witness_->ended(write_, order_);
    return runtime::step::done;
  }
  runtime::step left(bool /*found*/, std::uint64_t /*old*/, runtime::Worker& worker) {
    discard(worker);
    witness_->ended(write_, 0);
    return runtime::step::done;
  }
  runtime::step refused(runtime::Worker& worker) { return left(false, 0, worker); }
  runtime::step out_of_memory(runtime::Worker& worker) { return left(false, 0, worker); }
  void discard(runtime::Worker& worker) {
    if (made_ != nullptr) {
      server::Item::destroy(worker, std::exchange(made_, nullptr));
    }
  }

 private:
  WriteWitness* witness_;
  std::size_t write_;
  const std::string* key_;
  std::uint64_t number_;
  std::uint64_t order_ = 0;
  server::Item* made_ = nullptr;
  bool asks_;
};

}  // namespace mxkv::simulation
