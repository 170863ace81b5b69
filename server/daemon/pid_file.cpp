#include "server/daemon/pid_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "config/parse.hpp"
#include "runtime/base/assert.hpp"

namespace mxkv::server {

namespace {

/// The process id in the file; 0: none.
pid_t named_in(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t bytes = pread(descriptor, text.data(), text.size(), 0);
  std::string_view number{text.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
  number = number.substr(0, number.find_first_of(" \r\n"));
  const runtime::Result<std::uint64_t> process = config::parse_number(number);
  return process && process.value() <= static_cast<std::uint64_t>(std::numeric_limits<pid_t>::max())
             ? static_cast<pid_t>(process.value())
             : 0;
}

/// Whether the process has ended, and only its parent has not collected its exit code.
bool is_zombie(pid_t process) {
  std::ifstream file{"/proc/" + std::to_string(process) + "/stat"};
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(") ");
  return name_end != std::string::npos && line.compare(name_end + 2, 1, "Z") == 0;
}

bool lives(pid_t process) {
  return process > 0 && (kill(process, 0) == 0 || errno == EPERM) && !is_zombie(process);
}

/// Whether `path` is still the file that was opened.
bool still_there(const std::string& path, int descriptor) {
  struct stat opened{};
  struct stat named{};
  return descriptor >= 0 && fstat(descriptor, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

bool write_number(int descriptor) {
  const std::string text = std::to_string(getpid()) + "\n";
  return ftruncate(descriptor, 0) == 0 &&
         pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

}  // namespace

runtime::Result<PidFile> PidFile::hold(const std::string& path) {
  const auto failed = [&path](const std::string& why) {
    return runtime::Error{"pid file " + path + ": " + why};
  };
  if (path.empty()) {
    return PidFile{"", -1};
  }
  for (;;) {
    const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (descriptor < 0) {
      return failed(std::strerror(errno));
    }
    PidFile file{path, descriptor};
    const pid_t other = named_in(descriptor);
    const bool locked = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    if (!locked || (other != getpid() && lives(other))) {
      file.path_.clear();  // the file belongs to the other process
      return failed(
          "process " + std::to_string(other) +
          (locked ? " is alive (if it is another program, remove the file)" : " holds it and is alive"));
    }
    if (!still_there(path, descriptor)) {  // its last holder removed it in between
      file.path_.clear();
      continue;
    }
    if (fchmod(descriptor, 0644) != 0 || !write_number(descriptor)) {
      return failed(std::strerror(errno));
    }
    MXKV_ASSERT(named_in(descriptor) == getpid(), "the file names its holder");
    return file;
  }
}

PidFile::PidFile(PidFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), descriptor_(std::exchange(other.descriptor_, -1)) {}

void PidFile::remove() noexcept {
  if (!path_.empty() && still_there(path_, descriptor_)) {
    unlink(path_.c_str());
  }
  path_.clear();
  if (descriptor_ >= 0) {
    close(std::exchange(descriptor_, -1));
  }
}

}  // namespace mxkv::server
