// The threads of a measurement. One worker: the calling thread, by its CPU time, so that other programs do
// not count. More: threads that start together, by the wall clock until the last one ends.
#pragma once

#include <barrier>
#include <thread>
#include <vector>

#include "bench/figures/figure.hpp"

namespace mxkv::bench {

/// Seconds that body(worker) takes on all of `workers` threads.
template <class Body>
double timed(unsigned workers, const Body& body) {
  if (workers == 1) {
    const double start = thread_cpu_seconds();
    body(0U);
    return thread_cpu_seconds() - start;
  }
  double start = 0;
  double end = 0;
  std::barrier begin{static_cast<std::ptrdiff_t>(workers), [&start]() noexcept { start = wall_seconds(); }};
  std::barrier finish{static_cast<std::ptrdiff_t>(workers), [&end]() noexcept { end = wall_seconds(); }};
  std::vector<std::jthread> threads;
  for (unsigned worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&begin, &finish, &body, worker] {
      begin.arrive_and_wait();
      body(worker);
      finish.arrive_and_wait();
    });
  }
  threads.clear();  // joins
  return end - start;
}

}  // namespace mxkv::bench
