// Counts a process's calls of malloc and the like, for a test in another process: loaded by LD_PRELOAD. The count
// is the first word of the file that MALLOC_COUNT_FILE names. operator new calls malloc, so it counts, too.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

using Count = std::atomic<std::uint64_t>;

Count unmapped{0};
std::atomic<Count*> shared{nullptr};

void count() noexcept {
  Count* target = shared.load(std::memory_order_acquire);
  (target == nullptr ? unmapped : *target).fetch_add(1, std::memory_order_relaxed);
}

[[gnu::constructor]] void open_file() {
  const char* name = std::getenv("MALLOC_COUNT_FILE");
  const int file = name == nullptr ? -1 : open(name, O_RDWR | O_CLOEXEC);
  if (file < 0) {
    return;
  }
  void* page = mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (page != MAP_FAILED) {
    shared.store(static_cast<Count*>(page), std::memory_order_release);
  }
}

}  // namespace

// glibc's own entry points, so that no symbol has to be looked up before the first allocation.
extern "C" {
void* __libc_malloc(std::size_t bytes);                           // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(std::size_t count, std::size_t bytes);        // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* memory, std::size_t bytes);            // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(std::size_t alignment, std::size_t bytes);  // NOLINT(bugprone-reserved-identifier)

void* malloc(std::size_t bytes) {
  count();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t elements, std::size_t bytes) {
  count();
  return __libc_calloc(elements, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  count();
  return __libc_realloc(memory, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  count();
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
}
