#include "protocol/clients/cli/transfer/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/interrupt.hpp"

namespace mxkv::cli {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1024} * 1024;

}  // namespace

InputFile::InputFile(const std::string& path) : name_(path) {
  if (path == "-") {
    name_ = "standard input";
    descriptor_ = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  } else {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  struct stat facts{};
  if (descriptor_ < 0 || ::fstat(descriptor_, &facts) != 0) {
    throw Failure(Outcome::file, name_ + ": " + std::generic_category().message(errno));
  }
  if (S_ISDIR(facts.st_mode)) {
    throw Failure(Outcome::file, name_ + ": is a directory");
  }
  size_ = S_ISREG(facts.st_mode) ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

InputFile::InputFile(std::string name, std::string bytes)
    : name_(std::move(name)), buffer_(std::move(bytes)), ended_(true), size_(buffer_.size()) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

bool InputFile::read_more() {
  if (ended_) {
    return false;
  }
  if (begin_ > buffer_.size() / 2) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  for (;;) {
    check_interrupt();
    const ssize_t got = ::read(descriptor_, buffer_.data() + before, kReadBytes);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0) {
      throw Failure(Outcome::file, name_ + ": " + std::generic_category().message(errno));
    }
    ended_ = got == 0;
    return !ended_;
  }
}

std::string_view InputFile::peek(std::size_t bytes) {
  while (buffer_.size() - begin_ < bytes && read_more()) {
  }
  return std::string_view(buffer_).substr(begin_, bytes);
}

std::string_view InputFile::peek_line() {
  for (std::size_t seen = 0;;) {
    const std::string_view all = std::string_view(buffer_).substr(begin_);
    const std::size_t end = all.find('\n', seen);
    if (end != std::string_view::npos) {
      return all.substr(0, end + 1);
    }
    seen = all.size();
    if (!read_more()) {
      return std::string_view(buffer_).substr(begin_);
    }
  }
}

void InputFile::skip(std::size_t bytes) noexcept {
  begin_ += bytes;
  offset_ += bytes;
}

bool InputFile::rewind() {
  if (descriptor_ < 0) {
    begin_ = 0;
    offset_ = 0;
    return true;
  }
  if (size_ == 0 || ::lseek(descriptor_, 0, SEEK_SET) != 0) {
    return false;
  }
  buffer_.clear();
  begin_ = 0;
  offset_ = 0;
  ended_ = false;
  return true;
}

}  // namespace mxkv::cli
