// Traversal: a tree task with its fast path.
//
// run_fast() looks with cases::plain at nodes that nobody writes; at all else guarded execution goes on from where
// it came. A turn takes a task up to lines that it has to wait for. Near nodes are searched on the way, first of all
// the root, so that a search begins at once. Nodes below Tree::near_level() are a hop each while they fit the
// second-level cache, and those below Tree::staged_below() two: one for the header, one for the block.
//
// Derived (CRTP) gives what TreeTask asks for. For the fast path at its target it gives both or neither of
//   template <cases, class Compare> inspect_target()          that takes a LookupScratch with cases::plain
//   bool fast_target(LookupScratch&, Worker&, step& next)     false: guarded execution goes on
// and, to write, bool fast_commit(Worker&, step& next), which ends what resume_item() began.
#pragma once

#include "index/tree_task.hpp"

namespace mxkv::index {

template <class Derived, class TraitsT, class ScratchT = TraverseScratch>
class TraverseTask : public TreeTask<Derived, TraitsT, ScratchT> {
  using Base = TreeTask<Derived, TraitsT, ScratchT>;

 public:
  using Traits = TraitsT;
  using typename Base::Key;
  using typename Base::NodeT;
  using typename Base::TreeT;

  /// How the tasks of a loop take it: by which instructions lines are compared, and whether a task asks for its
  /// next lines itself.
  template <class CompareT, bool kAsksT>
  struct Way {
    using Compare = CompareT;
    static constexpr bool kAsks = kAsksT;
  };
  template <class F>
  [[gnu::always_inline]] static auto in_best_way(const F& f) {
    return line_compare::in_best_way([&](auto compare) { return f(Way<decltype(compare), true>{}); });
  }

  /// False: at something that plain cases do not cover, where guarded execution goes on.
  [[nodiscard]] bool run_fast(runtime::Worker& worker, runtime::step& next) {
    return run_fast<Way<line_compare::AsFound, false>>(worker, next) != runtime::went::astray;
  }
  template <class W>
  [[nodiscard, gnu::always_inline]] runtime::went run_fast(runtime::Worker& worker, runtime::step& next) {
    runtime::went how = fast_hop<W>(worker, next);
    if (how == runtime::went::told && next == runtime::step::again && begins()) {
      // The next search begins where all is near.
      MXKV_PATH(fast_at_once);
      how = fast_from_header<W>(next);
      if (how == runtime::went::told && next == runtime::step::now) [[unlikely]] {
        next = runtime::step::again;
      }
    }
    return how;
  }

 protected:
  using Base::Base;

 private:
  /// Whether it is at the root, nothing read yet, and nothing special about it.
  [[nodiscard]] bool begins() const noexcept {
    return this->free_at() == way_at(stage::header) && this->annotations().line_count == 0;
  }
  [[nodiscard]] static constexpr std::uint32_t way_at(stage at, std::uint8_t known = 0) noexcept {
    return runtime::Annotations::free_at(static_cast<std::uint8_t>(static_cast<std::uint8_t>(at) | known));
  }

  /// One turn, up to the next lines that it has to wait for.
  template <class W>
  [[nodiscard, gnu::always_inline]] runtime::went fast_hop(runtime::Worker& worker, runtime::step& next) {
    using runtime::went;
    const std::uint32_t at = this->free_at();
    bool from_block = at == way_at(stage::block, Base::kReadAsIs);
    if (!from_block && at != way_at(stage::header, Base::kReadAsIs)) {
      if constexpr (!Traits::kExact) {
        if (at == way_at(stage::item)) {
          next = this->self().resume_item(worker);
          return next != runtime::step::now ? went::told : commit_if_writer(worker, next);
        }
      }
      if (!detail::reads_optimistically(this->object().synchronization())) [[unlikely]] {
        return went::astray;
      }
      if (at == way_at(stage::commit)) {
        return commit_if_writer(worker, next);
      }
      from_block = at == way_at(stage::block);
      if (!from_block && at != way_at(stage::header)) [[unlikely]] {
        return went::astray;
      }
    }
    if (!from_block) {
      const went how = fast_from_header<W>(next);
      if (how != went::told || next != runtime::step::now) [[likely]] {
        return how;
      }
    }
    return fast_from_block<W>(worker, next);
  }

  // Each look's outcome is told apart before the version is checked: so each has its own way through the code.

  /// From a header on: through near nodes, to the block of the first one that is not, or of the target. Says
  /// step::now if the task may go on there at once, since its lines are near.
  template <class W>
  [[nodiscard, gnu::always_inline]] runtime::went fast_from_header(runtime::step& next) {
    using kind = TraverseScratch::kind;
    const Key key = this->self().key();
    const unsigned near_level = this->tree_->near_level();
    const unsigned staged_below = TreeT::staged_below(near_level);
    runtime::TaggedPointer at = this->object();
    for (;;) {
      const NodeT& node = *static_cast<const NodeT*>(at.object());
      const runtime::OptimisticRead read{node};
      if (read.locked()) [[unlikely]] {
        break;
      }
      LookupScratch scratch{};
      const kind what = this->template locate<cases::plain, typename W::Compare>(node, key, true,
                                                                                 staged_below, read, scratch);
      const unsigned level = scratch.meta.level();
      if (what == kind::block) {
        if (!read.valid()) [[unlikely]] {
          break;
        }
        MXKV_PATH(fast_header);
        this->see_version(read.version());
        const unsigned first = NodeT::first_line_of(scratch.block, level == 0);
        if (level >= near_level) {
          this->move_to(at, first, 2, static_cast<std::uint8_t>(stage::block));
          next = runtime::step::now;
          return runtime::went::told;
        }
        return await<W>(at, stage::block, first, 2, next);
      }
      if (what != kind::child || !read.valid()) [[unlikely]] {
        break;
      }
      this->leaves_for_child(at);
      at = runtime::TaggedPointer{scratch.next};
      if (level <= near_level || level - 1 <= this->self().target_level()) {
        if (level < near_level) {
          MXKV_PATH(fast_one_hop);
        }
        const runtime::went how = fast_enter<W>(at, level - 1, near_level, next);
        if (how != runtime::went::told || next != runtime::step::now) {
          return how;
        }
        if (!detail::reads_optimistically(at.synchronization())) {
          return runtime::went::astray;
        }
      }
      MXKV_PATH(fast_near_node);
    }
    MXKV_PATH(fast_left);
    if (at != this->object()) {
      this->enter(at);
    }
    return runtime::went::astray;
  }

  /// At the block that a header named.
  template <class W>
  [[nodiscard, gnu::always_inline]] runtime::went fast_from_block(runtime::Worker& worker,
                                                                  runtime::step& next) {
    using kind = TraverseScratch::kind;
    const NodeT& node = this->here();
    const runtime::OptimisticRead read{node, this->seen_version()};
    LookupScratch scratch{};
    const kind what = this->template locate<cases::plain, typename W::Compare>(node, this->self().key(),
                                                                               false, 0, read, scratch);
    if (what == kind::child && read.valid()) [[likely]] {
      MXKV_PATH(fast_block);
      this->leaves_for_child(this->object());
      const runtime::went how = fast_enter<W>(runtime::TaggedPointer{scratch.next}, scratch.meta.level() - 1,
                                              this->tree_->near_level(), next);
      return how == runtime::went::told && next == runtime::step::now ? runtime::went::astray : how;
    }
    if constexpr (Base::kFastTarget) {
      if (what == kind::target && read.valid()) [[likely]] {
        MXKV_PATH(fast_target);
        return this->self().fast_target(scratch, worker, next) ? runtime::went::told : runtime::went::astray;
      }
    }
    return runtime::went::astray;
  }

  /// Enters a node, as enter() and hop() do. Says step::now where it is near.
  template <class W>
  [[nodiscard, gnu::always_inline]] runtime::went fast_enter(runtime::TaggedPointer at, unsigned level,
                                                             unsigned near_level,
                                                             runtime::step& next) noexcept {
    if (level >= near_level || (Derived::kWholeTarget && level <= this->self().target_level())) [[unlikely]] {
      this->enter(at);
      next = this->hop(level);
      return runtime::went::told;
    }
    if (Derived::kWrites && level <= this->self().target_level()) {
      this->annotate(runtime::access::write);
    }
    return await<W>(at, stage::header, 0, 1, next);
  }

  /// Moves the task to lines that are not near.
  template <class W>
  [[nodiscard, gnu::always_inline]] runtime::went await(runtime::TaggedPointer at, stage to,
                                                        std::size_t first, unsigned count,
                                                        runtime::step& next) noexcept {
    next = runtime::step::again;
    if (!W::kAsks || at.synchronization() != runtime::primitive::optimistic_latch) [[unlikely]] {
      this->move_to(at, first, count, static_cast<std::uint8_t>(to));
      return runtime::went::told;
    }
    this->move_to(at, first, count,
                  static_cast<std::uint8_t>(static_cast<std::uint8_t>(to) | Base::kReadAsIs));
    const std::byte* const line = at.first_line() + first * runtime::kCacheLineBytes;
    runtime::prefetch_read(line);
    if (count == 2) {
      runtime::prefetch_read(line + runtime::kCacheLineBytes);
    }
    return runtime::went::on;
  }

  [[nodiscard, gnu::always_inline]] runtime::went commit_if_writer(runtime::Worker& worker,
                                                                   runtime::step& next) {
    if constexpr (requires { this->self().fast_commit(worker, next); }) {
      return this->self().fast_commit(worker, next) ? runtime::went::told : runtime::went::astray;
    }
    return runtime::went::astray;
  }
};

}  // namespace mxkv::index
