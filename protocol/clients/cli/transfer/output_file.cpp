#include "protocol/clients/cli/transfer/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/interrupt.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::cli {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1024} * 1024;

[[noreturn]] void fail(const std::string& name) {
  throw Failure(Outcome::file, name + ": " + std::generic_category().message(errno));
}

void write_all(int descriptor, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EPIPE) {
      end_by_closed_pipe();
    }
    if (written < 0 && errno != EINTR) {
      fail(name);
    }
    bytes.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    if (!bytes.empty()) {  // a whole write is kept, even behind an interrupt: a later run resumes from there
      check_interrupt();
    }
  }
}

}  // namespace

std::string part_name(const std::string& path) {
  return path + ".part";
}

OutputFile::OutputFile(const std::string& path, std::uint64_t keep) : path_(path), part_(part_name(path)) {
  if (path.empty()) {
    part_ = "standard output";
    descriptor_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    to_terminal_ = ::isatty(STDOUT_FILENO) != 0;
  } else {
    // Only the user who exports the items may read them.
    descriptor_ = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  }
  if (descriptor_ < 0) {
    fail(part_);
  }
  if (!path.empty() &&
      (::ftruncate(descriptor_, static_cast<off_t>(keep)) != 0 || ::lseek(descriptor_, 0, SEEK_END) < 0)) {
    fail(part_);
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void OutputFile::write(std::string_view bytes) {
  if (to_terminal_) {
    buffer_ += runtime::readable(bytes, "\n");
  } else {
    buffer_ += bytes;
  }
  if (buffer_.size() >= kBufferBytes) {
    flush();
  }
}

void OutputFile::flush() {
  if (memory_) {
    return;
  }
  write_all(descriptor_, buffer_, part_);
  buffer_.clear();
}

void OutputFile::commit() {
  flush();
  if (memory_ || path_.empty()) {
    return;
  }
  if (::fsync(descriptor_) != 0 || std::rename(part_.c_str(), path_.c_str()) != 0) {
    fail(part_);
  }
  // The name is flushed, too: without this a power cut could leave the file as .part.
  std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  if (const int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
}

}  // namespace mxkv::cli
