#include "server/journal/posix_file.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace mxkv::server {
namespace {

class MappedBytes final : public DiskBytes {
 public:
  MappedBytes(void* begin, std::size_t bytes) noexcept : begin_(begin), bytes_(bytes) {}
  ~MappedBytes() override {
    if (bytes_ != 0) {
      ::munmap(begin_, bytes_);
    }
  }
  MappedBytes(const MappedBytes&) = delete;
  MappedBytes& operator=(const MappedBytes&) = delete;
  [[nodiscard]] std::string_view bytes() const noexcept override {
    return {static_cast<const char*>(begin_), bytes_};
  }

 private:
  void* begin_;
  std::size_t bytes_;
};

}  // namespace

PosixFile::~PosixFile() {
  ::close(file_);
}

int PosixFile::lock() noexcept {
  return ::flock(file_, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
}

DiskFile::Written PosixFile::write_at(std::span<const iovec> pieces, std::uint64_t offset) noexcept {
  const auto count = static_cast<int>(std::min<std::size_t>(pieces.size(), IOV_MAX));
  ssize_t written = 0;
  do {
    written = ::pwritev(file_, pieces.data(), count, static_cast<off_t>(offset));
  } while (written < 0 && errno == EINTR);
  return written < 0 ? Written{0, errno} : Written{static_cast<std::size_t>(written), 0};
}

int PosixFile::sync() noexcept {
  return ::fdatasync(file_) == 0 ? 0 : errno;
}

int PosixFile::allocate(std::uint64_t bytes) noexcept {
  std::uint64_t before = 0;
  if (const int error = size(before); error != 0 || bytes <= before) {
    return error;
  }
  int error = 0;
  do {
    error = ::fallocate(file_, 0, static_cast<off_t>(before), static_cast<off_t>(bytes - before)) == 0
                ? 0
                : errno;
  } while (error == EINTR);
  return error == EOPNOTSUPP || error == ENOSYS ? fill_with_zeros(before, bytes) : error;
}

int PosixFile::truncate(std::uint64_t bytes) noexcept {
  return ::ftruncate(file_, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
}

int PosixFile::size(std::uint64_t& bytes) noexcept {
  struct stat facts{};
  if (::fstat(file_, &facts) != 0) {
    return errno;
  }
  bytes = static_cast<std::uint64_t>(facts.st_size);
  return 0;
}

int PosixFile::fill_with_zeros(std::uint64_t from, std::uint64_t to) noexcept {
  static constexpr std::array<char, 65536> kFill{};
  while (from < to) {
    const std::size_t bytes = std::min<std::uint64_t>(kFill.size(), to - from);
    const iovec piece{const_cast<char*>(kFill.data()), bytes};
    const Written written = write_at({&piece, 1}, from);
    if (written.error != 0) {
      return written.error;
    }
    from += written.bytes;
  }
  return 0;
}

PosixReader::~PosixReader() {
  ::close(file_);
}

DiskReader::Read PosixReader::read_at(std::span<char> to, std::uint64_t offset) noexcept {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t bytes =
        ::pread(file_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (bytes < 0 && errno != EINTR) {
      return {0, errno};
    }
    if (bytes == 0) {
      break;
    }
    done += bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
  }
  return {done, 0};
}

std::uint64_t bytes_before_hole(int file, std::uint64_t size) noexcept {
  constexpr std::uint64_t kMostZeros = std::uint64_t{256} << 20U;
  if (size <= kMostZeros) {
    return size;
  }
  off_t end = 0;
  for (;;) {
    const off_t data = ::lseek(file, end, SEEK_DATA);
    if (data < 0) {
      return errno == ENXIO ? std::min(size, static_cast<std::uint64_t>(end) + kMostZeros) : size;
    }
    end = ::lseek(file, data, SEEK_HOLE);
    if (end < 0) {
      return size;
    }
  }
}

int map_file(int directory, const std::string& path, std::unique_ptr<DiskBytes>& bytes) {
  const int file = ::openat(directory, path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return errno;
  }
  struct stat facts{};
  int error = ::fstat(file, &facts) == 0 ? 0 : errno;
  if (error == 0 && S_ISDIR(facts.st_mode)) {
    error = EISDIR;
  }
  const auto length =
      error == 0 ? bytes_before_hole(file, static_cast<std::uint64_t>(facts.st_size)) : std::uint64_t{0};
  void* begin = nullptr;
  if (error == 0 && length != 0) {
    begin = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, 0);
    error = begin == MAP_FAILED ? errno : 0;
  }
  ::close(file);
  if (error == 0) {
    bytes = std::make_unique<MappedBytes>(begin, length);
  }
  return error;
}

}  // namespace mxkv::server
