// Disturbances of a world between two steps: time passes, versions of nodes move, a node is held for a while as
// by a preempted writer, memory runs out and comes back.
#pragma once

#include <optional>

#include "index/checker.hpp"
#include "tests/simulation/world_options.hpp"
#include "tests/unit/index/taken_blocks.hpp"
#include "tests/unit/index/turned_leaf.hpp"

namespace mxkv::simulation {

/// Thread-safety: one thread.
template <class Traits>
class Interference {
 public:
  using NodeT = index::Node<typename Traits::Shape>;

  Interference(runtime::Runtime& runtime, runtime::ManualClock& clock, index::Tree<Traits>& tree,
               runtime::Random& random, bool short_of_memory)
      : runtime_(runtime), clock_(clock), tree_(tree), random_(random), short_of_memory_(short_of_memory) {}

  /// To be called between two steps.
  void interfere() {
    if (held_.has_value() && random_.below(6) == 0) {
      let_go();
    }
    switch (random_.below(24)) {
      case 0:
        clock_.advance_us(random_.below(2'000));
        break;
      case 1:
        if (!held_.has_value()) {
          hold();
        }
        break;
      case 2:
        if (!held_.has_value()) {
          const auto moved = runtime::WriteLatch::acquire(any_node(), 1);
        }
        break;
      case 3:
        if (short_of_memory_) {
          take_memory();
        }
        break;
      case 4:
        give_memory_back();
        break;
      case 5:
      case 6:
        index::testing::turn_some_leaf(tree_, random_, worker(0));
        break;
      default:
        break;
    }
  }
  /// Ends all interference.
  void end() {
    let_go();
    give_memory_back();
  }

 private:
  static constexpr runtime::WorkerId kHolder{0};

  [[nodiscard]] runtime::Worker& worker(std::size_t i) {
    return runtime_.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
  }

  /// A task that holds a node is in an epoch, as a writer is.
  void hold() {
    if (runtime_.epochs().published(kHolder) != runtime::EpochManager::kInfinity) {
      slot_ = runtime_.epochs().pin(kHolder);
      held_.emplace(runtime::WriteLatch::acquire(any_node(), 1));
    }
  }
  void let_go() {
    if (held_.has_value()) {
      held_.reset();
      runtime_.epochs().unpin(kHolder, slot_);
    }
  }

  NodeT& any_node() {
    const NodeT* node = static_cast<const NodeT*>(tree_.root().object());
    for (std::uint64_t hops = random_.below(6); hops > 0; --hops) {
      const index::NodeMeta meta = node->meta();
      std::uint64_t next = node->right();
      if (meta.level() > 0 && random_.below(3) > 0) {
        const auto block = static_cast<std::uint8_t>(random_.below(meta.blocks()));
        next = node->value(
            false, index::Position{block, static_cast<std::uint8_t>(random_.below(meta.count(block)))});
      }
      if (next == 0) {
        break;
      }
      node = static_cast<const NodeT*>(runtime::TaggedPointer{next}.object());
    }
    return const_cast<NodeT&>(*node);
  }

  /// No worker gets another span, and some find no free node or fence either.
  void take_memory() {
    runtime_.budget().set_limit_bytes(0);
    for (std::size_t i = 0; i < runtime_.worker_count(); ++i) {
      for (const std::size_t bytes : {sizeof(NodeT), std::size_t{16}, std::size_t{64}}) {
        if (random_.below(2) == 0) {
          taken_.take(worker(i).nodes(), bytes, random_.below(3));
        }
      }
    }
  }
  void give_memory_back() {
    runtime_.budget().set_limit_bytes(kMemoryBytes);
    taken_.give_back();
  }

  runtime::Runtime& runtime_;
  runtime::ManualClock& clock_;
  index::Tree<Traits>& tree_;
  runtime::Random& random_;
  bool short_of_memory_;
  std::optional<runtime::WriteLatch> held_;
  std::uint8_t slot_ = 0;
  index::testing::TakenBlocks taken_;
};

}  // namespace mxkv::simulation
