#include "server/journal/posix_disk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "server/journal/posix_file.hpp"

namespace mxkv::server {
namespace {

constexpr mode_t kDirectoryMode = 0700;
constexpr mode_t kFileMode = 0600;

int errno_of(int result) noexcept {
  return result == 0 ? 0 : errno;
}

/// Why a directory cannot be used, with advice.
std::string directory_complaint(const std::string& path, int error) {
  if (error == EACCES || error == EROFS || error == EPERM) {
    struct stat facts{};
    if (error != EROFS && ::stat(path.c_str(), &facts) == 0 && facts.st_uid != ::geteuid()) {
      return path + ": belongs to user " + std::to_string(facts.st_uid) + ", this process runs as user " +
             std::to_string(::geteuid());
    }
    return path + ": is not writable" + (error == EROFS ? ": its file system is mounted read-only" : "");
  }
  return path + ": " + std::generic_category().message(error);
}

}  // namespace

runtime::Result<std::unique_ptr<PosixDisk>> PosixDisk::open_directory(const std::string& path) {
  if (::mkdir(path.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
    if (errno == ENOENT) {
      return runtime::Error{path + ": does not exist, nor does its parent directory"};
    }
    // The parent is not writable, or read-only, but the directory may exist.
    if (const int error = errno; ::access(path.c_str(), F_OK) != 0) {
      return runtime::Error{
          path + ": does not exist and cannot be created: " + std::generic_category().message(error)};
    }
  }
  auto opened = open_to_read(path);
  if (opened && ::faccessat(opened.value()->directory_, ".", R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
    return runtime::Error{directory_complaint(path, errno)};
  }
  return opened;
}

runtime::Result<std::unique_ptr<PosixDisk>> PosixDisk::open_to_read(const std::string& path) {
  const int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) {
    return runtime::Error{directory_complaint(path, errno)};
  }
  return std::unique_ptr<PosixDisk>(new PosixDisk(directory, path));
}

PosixDisk::~PosixDisk() {
  ::close(directory_);
}

int PosixDisk::lock(const std::string& path, std::unique_ptr<DiskFile>& lock) {
  const int file = ::openat(directory_, path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode);
  if (file < 0) {
    return errno;
  }
  auto opened = std::make_unique<PosixFile>(file);
  if (const int error = opened->lock()) {
    return error;
  }
  lock = std::move(opened);
  return 0;
}

int PosixDisk::create(const std::string& path, std::unique_ptr<DiskFile>& file) {
  const int opened = ::openat(directory_, path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
  if (opened < 0) {
    return errno;
  }
  file = std::make_unique<PosixFile>(opened);
  return 0;
}

int PosixDisk::open(const std::string& path, std::unique_ptr<DiskFile>& file) {
  const int opened = ::openat(directory_, path.c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0) {
    return errno;
  }
  file = std::make_unique<PosixFile>(opened);
  return 0;
}

int PosixDisk::read(const std::string& path, std::unique_ptr<DiskBytes>& bytes) {
  return map_file(directory_, path, bytes);
}

int PosixDisk::open_reader(const std::string& path, std::unique_ptr<DiskReader>& file) {
  const int opened = ::openat(directory_, path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) {
    return errno;
  }
  file = std::make_unique<PosixReader>(opened);
  return 0;
}

int PosixDisk::rename(const std::string& from, const std::string& to) {
  return errno_of(::renameat(directory_, from.c_str(), directory_, to.c_str()));
}

int PosixDisk::remove(const std::string& path) {
  return errno_of(::unlinkat(directory_, path.c_str(), 0));
}

int PosixDisk::link(const std::string& from, const std::string& to) {
  return errno_of(::linkat(directory_, from.c_str(), directory_, to.c_str(), 0));
}

int PosixDisk::create_directory(const std::string& path) {
  return errno_of(::mkdirat(directory_, path.c_str(), kDirectoryMode));
}

int PosixDisk::remove_directory(const std::string& path) {
  return errno_of(::unlinkat(directory_, path.c_str(), AT_REMOVEDIR));
}

int PosixDisk::list(const std::string& path, std::vector<std::string>& names) {
  names.clear();
  const int opened =
      ::openat(directory_, path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) {
    return errno;
  }
  DIR* const entries = ::fdopendir(opened);
  if (entries == nullptr) {
    const int error = errno;
    ::close(opened);
    return error;
  }
  errno = 0;
  while (const dirent* const entry = ::readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      names.emplace_back(name);
    }
    errno = 0;
  }
  const int error = errno;
  ::closedir(entries);
  std::sort(names.begin(), names.end());
  return error;
}

int PosixDisk::sync_directory(const std::string& path) {
  const int opened =
      ::openat(directory_, path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) {
    return errno;
  }
  const int error = errno_of(::fsync(opened));
  ::close(opened);
  // Some network file systems cannot sync directories; they return EINVAL.
  return error == EINVAL ? 0 : error;
}

std::string PosixDisk::text(const std::string& path, int error) const {
  const std::string whole = path.empty() ? root_ : root_ + "/" + path;
  if (error == EWOULDBLOCK) {
    return whole + ": another process uses this directory";
  }
  return directory_complaint(whole, error);
}

}  // namespace mxkv::server
