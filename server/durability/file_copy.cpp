#include "server/durability/file_copy.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <system_error>

#include "server/journal/posix_file.hpp"

namespace mxkv::server {
namespace {

/// Closes its descriptor when it goes out of scope.
class OpenedPath {
 public:
  OpenedPath(const std::string& path, int flags) noexcept
      : file_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~OpenedPath() {
    if (file_ >= 0) {
      ::close(file_);
    }
  }
  OpenedPath(const OpenedPath&) = delete;
  OpenedPath& operator=(const OpenedPath&) = delete;

  [[nodiscard]] bool open() const noexcept { return file_ >= 0; }
  [[nodiscard]] int number() const noexcept { return file_; }

 private:
  int file_;
};

int read_all(int file, std::string& bytes) {
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got =
        ::pread(file, bytes.data() + filled, bytes.size() - filled, static_cast<off_t>(filled));
    if (got < 0 && errno != EINTR) {
      return errno;
    }
    if (got == 0) {
      bytes.resize(filled);
    }
    filled += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  return 0;
}

int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return errno;
    }
    bytes.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
  return 0;
}

/// Passes a file on, piece by piece, until `take` returns an errno value.
template <class Take>
int read_pieces(const std::string& path, const Take& take) {
  const OpenedPath file(path, O_RDONLY);
  if (!file.open()) {
    return errno;
  }
  std::string piece(std::size_t{1} << 20U, '\0');
  for (;;) {
    const ssize_t got = ::read(file.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return got == 0 ? 0 : errno;
    }
    if (const int error = take(std::string_view{piece.data(), static_cast<std::size_t>(got)})) {
      return error;
    }
  }
}

}  // namespace

int read_whole_file(const std::string& path, std::string& bytes) {
  const OpenedPath file(path, O_RDONLY);
  struct stat facts{};
  if (!file.open() || ::fstat(file.number(), &facts) != 0) {
    return errno;
  }
  try {
    bytes.resize(bytes_before_hole(file.number(), static_cast<std::uint64_t>(facts.st_size)));
  } catch (const std::exception&) {  // longer than memory, or than a string may be
    return ENOMEM;
  }
  return read_all(file.number(), bytes);
}

int read_through(const std::string& path) {
  return read_pieces(path, [](std::string_view) { return 0; });
}

int write_whole_file(const std::string& path, std::string_view bytes) {
  const OpenedPath file(path, O_WRONLY | O_CREAT | O_EXCL);
  if (!file.open()) {
    return errno;
  }
  const int error = write_all(file.number(), bytes);
  return error != 0 || ::fsync(file.number()) == 0 ? error : errno;
}

int copy_whole_file(const std::string& from, const std::string& to) {
  const OpenedPath file(to, O_WRONLY | O_CREAT | O_EXCL);
  if (!file.open()) {
    return errno;
  }
  const int error =
      read_pieces(from, [&](std::string_view piece) { return write_all(file.number(), piece); });
  return error != 0 || ::fsync(file.number()) == 0 ? error : errno;
}

int sync_folder(const std::string& path) {
  const OpenedPath folder(path, O_RDONLY | O_DIRECTORY);
  if (!folder.open()) {
    return errno;
  }
  // Some network file systems cannot sync folders; they return EINVAL.
  return ::fsync(folder.number()) == 0 || errno == EINVAL ? 0 : errno;
}

std::string file_complaint(const std::string& path, int error) {
  return path + ": " + std::generic_category().message(error);
}

bool directory_in_use(const std::string& directory) {
  struct stat facts{};
  if (::stat((directory + "/LOCK").c_str(), &facts) != 0) {
    return false;
  }
  // "1: FLOCK  ADVISORY  WRITE 708 fd:00:131 0 EOF": device in hexadecimal digits, inode in decimal ones.
  std::array<char, 64> place{};
  std::snprintf(place.data(), place.size(), " %02x:%02x:%ju ", major(facts.st_dev), minor(facts.st_dev),
                static_cast<std::uintmax_t>(facts.st_ino));
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find("FLOCK") != std::string::npos && line.find(place.data()) != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace mxkv::server
