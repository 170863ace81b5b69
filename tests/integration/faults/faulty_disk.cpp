// A disk that fails on command, for tests of a whole process: loaded by LD_PRELOAD, it stands between the process and
// the files of one folder, as far as the process opens them by openat and the like.
//
//   FAULTY_DISK_FOLDER    the folder with the files; FAULTY_DISK_SIDE: a folder beside it, of the same file system
//   FAULTY_DISK_FULL      not empty: the disk is full from the beginning
//   FAULTY_DISK_CONTROL   a FIFO with one command a line; NAME.obeyed gets a line for each command obeyed:
//     cut SEED        the power is cut: unsynced data are old, new or garbage, and the process ends (code 99)
//     fail sync N     the N-th sync from now on fails with EIO, and its data are lost; later syncs succeed
//     fail write N    the same for a write
//     full on|off     writes and allocations find no space
//     slow MS         syncs take so much longer
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include "tests/integration/faults/disk_state.hpp"

namespace {

using mxkv::faults::DiskState;

constexpr int kCutCode = 99;
constexpr std::chrono::microseconds kSyncTime{1500};

std::mutex disk_mutex;  ///< guards the variables below, and blocks every call once the power is cut
DiskState disk;
std::string folder;
unsigned fail_sync = 0;
unsigned fail_write = 0;
bool full = false;
std::atomic<unsigned> slow_ms{0};

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::string path_of(int file) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t bytes = ::readlink(link.c_str(), path, sizeof path);
  return bytes > 0 ? std::string{path, static_cast<std::size_t>(bytes)} : "";
}

std::string path_at(int folder_file, const std::string& path) {
  return folder_file == AT_FDCWD || path.starts_with('/') ? path : path_of(folder_file) + "/" + path;
}

bool watched(const std::string& path) {
  return !folder.empty() && path.starts_with(folder);
}

bool counts_down(unsigned& counter) {
  return counter != 0 && --counter == 0;
}

void obey(const std::string& line) {
  const std::lock_guard lock{disk_mutex};
  unsigned long long number = 0;
  char word[16] = {};
  if (std::sscanf(line.c_str(), "cut %llu", &number) == 1) {
    disk.cut(number);
    _exit(kCutCode);
  } else if (std::sscanf(line.c_str(), "fail sync %llu", &number) == 1) {
    fail_sync = static_cast<unsigned>(number);
  } else if (std::sscanf(line.c_str(), "fail write %llu", &number) == 1) {
    fail_write = static_cast<unsigned>(number);
  } else if (std::sscanf(line.c_str(), "full %15s", word) == 1) {
    full = std::string{word} == "on";
  } else if (std::sscanf(line.c_str(), "slow %llu", &number) == 1) {
    slow_ms = static_cast<unsigned>(number);
  }
}

void listen(const std::string& control) {
  const int fifo =
      ::open(control.c_str(), O_RDWR | O_CLOEXEC);  // read-write, so that read() never meets an end
  const int obeyed = ::open((control + ".obeyed").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  std::string line;
  for (char next = 0; ::read(fifo, &next, 1) == 1;) {
    if (next == '\n') {
      obey(line);
      line.clear();
      [[maybe_unused]] const ssize_t told = ::write(obeyed, "\n", 1);
    } else {
      line += next;
    }
  }
}

bool begin() {
  const char* const where = std::getenv("FAULTY_DISK_FOLDER");
  const char* const side = std::getenv("FAULTY_DISK_SIDE");
  const char* const control = std::getenv("FAULTY_DISK_CONTROL");
  if (where == nullptr || side == nullptr || control == nullptr) {
    return false;
  }
  const char* const is_full = std::getenv("FAULTY_DISK_FULL");
  full = is_full != nullptr && *is_full != '\0';
  folder = where;
  disk.set_side(side);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals must go to the process's own threads
  std::thread{listen, std::string{control}}.detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return true;
}

/// Defined after all variables that begin() uses, because a file's variables are initialised in the order of definition.
[[maybe_unused]] const bool begun = begin();

/// A write by `really`, under the lock. Returns the result of `really`.
template <class Really>
ssize_t write_by(int file, std::uint64_t offset, std::uint64_t bytes, Really really) {
  if (!watched(path_of(file))) {
    return really();
  }
  const std::lock_guard lock{disk_mutex};
  if (full || counts_down(fail_write)) {
    errno = full ? ENOSPC : EIO;
    return -1;
  }
  disk.before_write(file, offset, bytes);
  return really();
}

int sync_by(int file, const char* name) {
  const auto really = next<int(int)>(name);
  const std::string path = path_of(file);
  if (!watched(path)) {
    return really(file);
  }
  // A real disk takes as long, so that a cut can come in between.
  std::this_thread::sleep_for(kSyncTime + std::chrono::milliseconds{slow_ms.load()});
  const std::lock_guard lock{disk_mutex};
  struct stat about{};
  fstat(file, &about);
  if (S_ISDIR(about.st_mode)) {
    disk.synced_folder(path);
    return 0;
  }
  if (counts_down(fail_sync)) {
    disk.sync_failed(file);
    errno = EIO;
    return -1;
  }
  disk.synced(file);
  return 0;
}

std::uint64_t bytes_of(const iovec* pieces, int count) {
  std::uint64_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    bytes += pieces[i].iov_len;
  }
  return bytes;
}

}  // namespace

extern "C" {

// NOLINTBEGIN(cert-dcl50-cpp): as it is declared.
int openat(int folder_file, const char* path, int flags, ...) {
  static const auto really = next<int(int, const char*, int, ...)>("openat64");
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  const std::string whole = path_at(folder_file, path);
  if (!watched(whole) || (flags & O_CREAT) == 0) {
    return really(folder_file, path, flags, mode);
  }
  const std::lock_guard lock{disk_mutex};
  const bool there = ::access(whole.c_str(), F_OK) == 0;
  const int file = really(folder_file, path, flags, mode);
  if (file >= 0 && !there) {
    disk.created(whole);
  }
  return file;
}
int openat64(int folder_file, const char* path, int flags, ...) __attribute__((alias("openat")));
// NOLINTEND(cert-dcl50-cpp)

ssize_t pwrite(int file, const void* data, size_t bytes, off_t offset) {
  static const auto really = next<ssize_t(int, const void*, size_t, off_t)>("pwrite64");
  return write_by(file, static_cast<std::uint64_t>(offset), bytes,
                  [=] { return really(file, data, bytes, offset); });
}
ssize_t pwrite64(int file, const void* data, size_t bytes, off_t offset) __attribute__((alias("pwrite")));

ssize_t pwritev(int file, const iovec* pieces, int count, off_t offset) {
  static const auto really = next<ssize_t(int, const iovec*, int, off_t)>("pwritev64");
  return write_by(file, static_cast<std::uint64_t>(offset), bytes_of(pieces, count),
                  [=] { return really(file, pieces, count, offset); });
}
ssize_t pwritev64(int file, const iovec* pieces, int count, off_t offset) __attribute__((alias("pwritev")));

int fdatasync(int file) {
  return sync_by(file, "fdatasync");
}
int fsync(int file) {
  return sync_by(file, "fsync");
}

int fallocate(int file, int mode, off_t offset, off_t bytes) {
  static const auto really = next<int(int, int, off_t, off_t)>("fallocate64");
  if (watched(path_of(file))) {
    const std::lock_guard lock{disk_mutex};
    if (full) {
      errno = ENOSPC;
      return -1;
    }
  }
  return really(file, mode, offset, bytes);
}
int fallocate64(int file, int mode, off_t offset, off_t bytes) __attribute__((alias("fallocate")));

int renameat(int from_file, const char* from, int to_file, const char* to) {
  static const auto really = next<int(int, const char*, int, const char*)>("renameat");
  const std::string whole = path_at(from_file, from);
  if (!watched(whole)) {
    return really(from_file, from, to_file, to);
  }
  const std::lock_guard lock{disk_mutex};
  disk.before_rename(whole, path_at(to_file, to));
  return really(from_file, from, to_file, to);
}

int unlinkat(int folder_file, const char* path, int flags) {
  static const auto really = next<int(int, const char*, int)>("unlinkat");
  const std::string whole = path_at(folder_file, path);
  if (!watched(whole) || flags != 0) {
    return really(folder_file, path, flags);
  }
  const std::lock_guard lock{disk_mutex};
  disk.before_unlink(whole);
  return really(folder_file, path, flags);
}

}  // extern "C"
