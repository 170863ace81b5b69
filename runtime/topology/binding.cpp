// Thread affinity by pthread_setaffinity_np: unlike hwloc's call it needs no topology at hand.
#include "runtime/topology/binding.hpp"

#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace mxkv::runtime {
namespace {

struct CpuSetDeleter {
  void operator()(cpu_set_t* set) const noexcept { CPU_FREE(set); }
};

}  // namespace

Result<PuId> pin_current_thread(PuId pu) {
  const std::string name = "CPU " + std::to_string(pu.value());
  // A set of its own size: cpu_set_t ends at CPU 1023.
  const std::size_t count = pu.index() + 1;
  const std::size_t bytes = CPU_ALLOC_SIZE(count);
  const std::unique_ptr<cpu_set_t, CpuSetDeleter> set{CPU_ALLOC(count)};
  if (set == nullptr) {
    return Error{"cannot pin a thread to " + name + ": out of memory"};
  }
  CPU_ZERO_S(bytes, set.get());
  CPU_SET_S(pu.index(), bytes, set.get());
  const int failure = pthread_setaffinity_np(pthread_self(), bytes, set.get());
  if (failure == EINVAL) {
    return Error{"cannot pin a thread to " + name +
                 ": this machine has no such CPU, or this process may not use it"};
  }
  if (failure != 0) {
    return Error{"cannot pin a thread to " + name + ": " + std::strerror(failure)};
  }
  return pu;
}

}  // namespace mxkv::runtime
