// The static class of a task type: its name and its guarded execution. It is instantiated once per type, so
// that the compiler sees through the synchronisation into the task's own code.
#pragma once

#include <concepts>

#include "runtime/pool/dependent_task.hpp"
#include "runtime/synchronization/guarded_execute.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime {

/// Has a name, for errors and statistics.
template <class T>
concept NamedTask = requires {
  { T::kName } -> std::convertible_to<const char*>;
};

/// Gives up what it holds when it will never run.
template <class T>
concept DiscardedTask = requires(T& task, Worker& worker) {
  { task.discard(worker) } -> std::same_as<void>;
};

/// Says what it waits at, see TaskClass.
template <class T>
concept DescribedTask = requires(const T& task, char* out) {
  { task.describe(out, std::size_t{}) } -> std::same_as<std::size_t>;
};

/// Minds that its object has moved, see TaskClass.
template <class T>
concept ForwardedTask = requires(T& task, Worker& worker) {
  { task.forwarded(worker) } -> std::same_as<void>;
};

/// Does the work of guarded execution by itself in the usual case; returns false in all others.
template <class T>
concept HasFastPath = requires(T& task, Worker& worker, step& next) {
  { task.run_fast(worker, next) } -> std::same_as<bool>;
};

/// Has a fast path in several ways: T::in_best_way<asks>(f) calls f(way) with the best one for many turns, in which a
/// task asks for its next lines itself, or does not.
template <class T>
concept HasFastWays = requires { T::in_best_way([](auto) { return true; }); };

namespace detail {
[[nodiscard]] bool worker_leases(const Worker& worker, PoolId pool) noexcept;
void finish_task(Worker& worker, MxTask& task) noexcept;
/// Tells the join that counts the task. At its end, executed or not.
void end_dependent(Worker& worker, DependentTask& task) noexcept;

template <class T>
constexpr const char* task_name() noexcept {
  if constexpr (NamedTask<T>) {
    return T::kName;
  } else {
    return "task";
  }
}
template <GuardedTask T>
[[gnu::noinline]] step run_guarded(MxTask& task, Worker& worker) {
  step next{};
  do {
    next = guarded_execute(static_cast<T&>(task), worker,
                           [&worker](PoolId pool) { return detail::worker_leases(worker, pool); });
  } while (next == step::now);
  if constexpr (std::derived_from<T, DependentTask>) {
    if (next == step::done) {
      end_dependent(worker, static_cast<T&>(task));
    }
  }
  return next;
}

/// See TaskClass.
template <class T, bool kAsks>
went take_turn(MxTask& task, Worker& worker, step& next) {
  if constexpr (HasFastWays<T> && !std::derived_from<T, DependentTask>) {
    const went how = T::template in_best_way<kAsks>(
        [&](auto way) { return static_cast<T&>(task).template run_fast<decltype(way)>(worker, next); });
    if (how != went::astray) [[likely]] {
      return how;
    }
  } else if constexpr (HasFastPath<T> && !std::derived_from<T, DependentTask>) {
    if (static_cast<T&>(task).run_fast(worker, next)) [[likely]] {
      return went::told;
    }
  }
  next = run_guarded<T>(task, worker);
  return went::told;
}

/// See TaskClass. Defined with the worker.
template <class T>
std::uint64_t run_stretch(Worker& worker, std::uint64_t most);

template <class T>
constexpr auto run_stretch_of() noexcept -> std::uint64_t (*)(Worker&, std::uint64_t) {
  if constexpr (HasFastPath<T> && !std::derived_from<T, DependentTask>) {
    return &run_stretch<T>;
  } else {
    return nullptr;
  }
}

template <class T>
constexpr auto describe_of() noexcept -> std::size_t (*)(const MxTask&, char*, std::size_t) {
  if constexpr (DescribedTask<T>) {
    return [](const MxTask& task, char* out, std::size_t size) {
      return static_cast<const T&>(task).describe(out, size);
    };
  } else {
    return nullptr;
  }
}

template <class T>
constexpr auto forwarded_of() noexcept -> void (*)(MxTask&, Worker&) {
  if constexpr (ForwardedTask<T>) {
    return [](MxTask& task, Worker& worker) { static_cast<T&>(task).forwarded(worker); };
  } else {
    return nullptr;
  }
}
}  // namespace detail

/// A type may be a DiscardedTask, a DescribedTask, a ForwardedTask, and have a fast path; see the concepts above.
template <class T>
inline constinit const TaskClass kTaskClassOf{
    detail::task_name<T>(),
    [](MxTask& task, Worker& worker) { return detail::run_guarded<T>(task, worker); },
    [](MxTask& task, Worker& worker) {
      if constexpr (DiscardedTask<T>) {
        static_cast<T&>(task).discard(worker);
      }
      if constexpr (std::derived_from<T, DependentTask>) {
        detail::end_dependent(worker, static_cast<T&>(task));
      }
      detail::finish_task(worker, task);
    },
    detail::take_turn<T, true>,
    detail::take_turn<T, false>,
    detail::run_stretch_of<T>(),
    detail::describe_of<T>(),
    detail::forwarded_of<T>()};

}  // namespace mxkv::runtime

/// Compiles a task's loops and guarded execution in one source alone. A task class costs a second or more of compile
/// time in each source that creates such a task, unless its header says that it is compiled elsewhere.
///   the header   MXKV_TASK_CLASS(extern, SomeTask);
///   one .cpp     MXKV_TASK_CLASS(, SomeTask);
/// Both at global scope, behind the class.
#define MXKV_TASK_CLASS(keyword, ...) \
  keyword template const ::mxkv::runtime::TaskClass mxkv::runtime::kTaskClassOf<__VA_ARGS__>
