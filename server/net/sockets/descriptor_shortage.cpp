#include "server/net/sockets/descriptor_shortage.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kTellEveryNs = 10 * kNsPerSecond;

std::string allowed_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return "";
  }
  return ", " + std::to_string(limit.rlim_cur) + " may be open";
}

}  // namespace

void DescriptorShortage::begin(int error) {
  if (std::exchange(lasts_, true)) {
    return;
  }
  begun_ns_ = clock_.monotonic_ns();
  counters_.accepting.store(false, std::memory_order_relaxed);
  counters_.shortages.fetch_add(1, std::memory_order_relaxed);
  told_ = told_ns_ == 0 || begun_ns_ - told_ns_ >= kTellEveryNs;
  if (told_) {
    told_ns_ = begun_ns_;
    log_.warn(std::string{"no connection can be accepted ("} + std::strerror(error) + allowed_descriptors() +
              "): new connections are refused; raise ulimit -n or LimitNOFILE, "
              "or lower limits.connections");
  }
}

void DescriptorShortage::note_end() {
  MXKV_ASSERT(lasts_, "a shortage ends once");
  lasts_ = false;
  keep_reserve();
  const std::uint64_t lasted_ns = clock_.monotonic_ns() - begun_ns_;
  counters_.accepting.store(true, std::memory_order_relaxed);
  counters_.shortage_us.fetch_add(lasted_ns / 1000, std::memory_order_relaxed);
  if (told_) {
    const std::uint64_t refused = counters_.starved.load(std::memory_order_relaxed);
    log_.warn("connections are accepted again after " + std::to_string(lasted_ns / kNsPerSecond) + " s; " +
              std::to_string(refused - std::exchange(refused_before_, refused)) + " were refused");
  }
}

}  // namespace mxkv::server
