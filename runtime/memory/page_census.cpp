#include "runtime/memory/page_census.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <memory>

namespace mxkv::runtime {

namespace {

constexpr std::size_t kLineBytes = 256;  // what a path has beyond is no line of ours
constexpr std::uint64_t kBytesPerKib = 1024;

bool holds(const PageCount& count, std::uintptr_t address) noexcept {
  return address - reinterpret_cast<std::uintptr_t>(count.begin) < count.bytes;
}

}  // namespace

void add_mappings(std::FILE* smaps, std::span<PageCount> counts) {
  std::array<char, kLineBytes> line{};
  PageCount* count = nullptr;  // of the mapping that the lines are about
  while (std::fgets(line.data(), static_cast<int>(line.size()), smaps) != nullptr) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    std::uint64_t kib = 0;
    if (std::sscanf(line.data(), "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2) {
      const auto of = std::ranges::find_if(counts, [from](const PageCount& one) { return holds(one, from); });
      count = of == counts.end() ? nullptr : &*of;
    } else if (count == nullptr) {
      continue;
    } else if (std::sscanf(line.data(), "Rss: %" SCNu64 " kB", &kib) == 1) {
      count->resident_bytes += kib * kBytesPerKib;
    } else if (std::sscanf(line.data(), "AnonHugePages: %" SCNu64 " kB", &kib) == 1) {
      count->huge_bytes += kib * kBytesPerKib;
    }
  }
}

void PageCensus::take(const Clock& clock, std::span<PageCount> counts) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t began_ns = clock.monotonic_ns();
  if (began_ns >= due_ns_) {
    last_.assign(counts.begin(), counts.end());
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> smaps{std::fopen("/proc/self/smaps", "re"),
                                                                &std::fclose};
    if (smaps != nullptr) {
      add_mappings(smaps.get(), last_);
    }
    const std::uint64_t ended_ns = clock.monotonic_ns();
    due_ns_ = ended_ns + kPause * (ended_ns - began_ns);
  }
  std::ranges::copy(last_, counts.begin());
}

}  // namespace mxkv::runtime
