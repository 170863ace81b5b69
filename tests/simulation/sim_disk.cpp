#include "tests/simulation/sim_disk.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace mxkv::test {
namespace {

using kind = SimStep::kind;

class CopiedBytes final : public server::DiskBytes {
 public:
  explicit CopiedBytes(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::string_view bytes() const noexcept override { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace

/// A file that was opened to be read; of no use after a cut or kill.
class SimDisk::Reader final : public server::DiskReader {
 public:
  Reader(SimDisk& disk, std::shared_ptr<SimFile> file)
      : disk_(&disk), file_(std::move(file)), life_(disk.life_) {}

  [[nodiscard]] Read read_at(std::span<char> to, std::uint64_t offset) noexcept override {
    const std::lock_guard guard(disk_->mutex_);
    if (life_ != disk_->life_ || disk_->is_off()) {
      return {0, EIO};
    }
    const std::string& bytes = file_->bytes();
    return {offset < bytes.size() ? bytes.copy(to.data(), to.size(), offset) : 0, 0};
  }

 private:
  SimDisk* disk_;
  std::shared_ptr<SimFile> file_;
  std::uint64_t life_;
};

/// A file that was opened; of no use after a cut or kill.
class SimDisk::Open final : public server::DiskFile {
 public:
  Open(SimDisk& disk, std::string path, std::shared_ptr<SimFile> file, bool locks)
      : disk_(&disk), path_(std::move(path)), file_(std::move(file)), life_(disk.life_), locks_(locks) {}
  ~Open() override {
    const std::lock_guard guard(disk_->mutex_);
    if (locks_ && life_ == disk_->life_) {
      disk_->locked_.erase(path_);
    }
  }

  [[nodiscard]] Written write_at(std::span<const iovec> pieces, std::uint64_t offset) noexcept override {
    std::string bytes;
    for (const iovec& piece : pieces) {
      bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    }
    const power state = disk_->step(kind::write, path_);
    const std::lock_guard guard(disk_->mutex_);
    if (life_ != disk_->life_ || state == power::off) {
      return {0, EIO};
    }
    if (disk_->failing_writes_ > 0) {
      --disk_->failing_writes_;
      return {0, disk_->write_error_};
    }
    const Written written = write(bytes, offset);
    return state == power::on ? written : Written{0, EIO};
  }

  [[nodiscard]] int sync() noexcept override {
    const power state = disk_->step(kind::sync, path_);
    const std::lock_guard guard(disk_->mutex_);
    if (life_ != disk_->life_ || state != power::on) {
      return EIO;
    }
    if (disk_->failing_syncs_ > 0) {
      --disk_->failing_syncs_;
      file_->fail_sync();
      return disk_->sync_error_;
    }
    file_->sync();
    return 0;
  }

  [[nodiscard]] int allocate(std::uint64_t bytes) noexcept override {
    const power state = disk_->step(kind::allocate, path_);
    const std::lock_guard guard(disk_->mutex_);
    if (life_ != disk_->life_ || state != power::on) {
      return EIO;
    }
    const std::uint64_t before = file_->bytes().size();
    if (bytes > before && disk_->used_bytes() + (bytes - before) > disk_->quota_) {
      return ENOSPC;
    }
    file_->extend(bytes);
    return 0;
  }

  [[nodiscard]] int truncate(std::uint64_t bytes) noexcept override {
    const power state = disk_->step(kind::allocate, path_);
    const std::lock_guard guard(disk_->mutex_);
    if (life_ != disk_->life_ || state != power::on) {
      return EIO;
    }
    file_->truncate(bytes);
    return 0;
  }

  [[nodiscard]] int size(std::uint64_t& bytes) noexcept override {
    const std::lock_guard guard(disk_->mutex_);
    bytes = file_->bytes().size();
    return life_ == disk_->life_ ? 0 : EIO;
  }

 private:
  Written write(std::string_view bytes, std::uint64_t offset) {
    if (disk_->short_writes_ && bytes.size() > 1 && disk_->random_() % 2 == 0) {
      bytes = bytes.substr(0, 1 + disk_->random_() % (bytes.size() - 1));
    }
    const std::uint64_t before = file_->bytes().size();
    const std::uint64_t used = disk_->used_bytes();
    const std::uint64_t most = before + (disk_->quota_ - std::min(disk_->quota_, used));
    if (offset + bytes.size() > std::max(before, most)) {
      const std::uint64_t end = std::max(before, most);
      bytes = bytes.substr(0, end - std::min(end, offset));
      if (bytes.empty()) {
        return {0, ENOSPC};
      }
    }
    file_->write(offset, bytes);
    return {bytes.size(), 0};
  }

  SimDisk* disk_;
  std::string path_;
  std::shared_ptr<SimFile> file_;
  std::uint64_t life_;
  bool locks_;
};

void SimDisk::power_off_at(std::uint64_t step) {
  const std::lock_guard guard(mutex_);
  off_at_ = step;
}

void SimDisk::power_off() {
  const std::lock_guard guard(mutex_);
  off_at_ = std::max<std::uint64_t>(steps_, 1);
}

void SimDisk::power_cut(std::uint64_t seed) {
  const std::lock_guard guard(mutex_);
  std::mt19937_64 random(seed);
  names_.cut(random);
  for (SimFile* const file : names_.files()) {
    file->cut(random);
  }
  locked_.clear();
  ++life_;
  off_at_ = 0;
}

void SimDisk::kill() {
  const std::lock_guard guard(mutex_);
  locked_.clear();
  ++life_;
}

void SimDisk::set_quota(std::uint64_t bytes) {
  const std::lock_guard guard(mutex_);
  quota_ = bytes;
}

void SimDisk::fill_up() {
  const std::lock_guard guard(mutex_);
  quota_ = used_bytes();
}

void SimDisk::write_short(bool is_wanted) {
  const std::lock_guard guard(mutex_);
  short_writes_ = is_wanted;
}

void SimDisk::fail_writes(unsigned count, int error) {
  const std::lock_guard guard(mutex_);
  failing_writes_ = count;
  write_error_ = error;
}

void SimDisk::fail_syncs(unsigned count, int error) {
  const std::lock_guard guard(mutex_);
  failing_syncs_ = count;
  sync_error_ = error;
}

std::shared_ptr<SimFile> SimDisk::exchange(const std::string& path, std::shared_ptr<SimFile> file) {
  const std::lock_guard guard(mutex_);
  return names_.exchange(path, std::move(file));
}

std::uint64_t SimDisk::steps() const {
  const std::lock_guard guard(mutex_);
  return steps_;
}

bool SimDisk::is_off() const {
  const std::lock_guard guard(mutex_);
  return off_at_ != 0 && steps_ >= off_at_;
}

SimDisk::power SimDisk::step(SimStep::kind what, const std::string& path) {
  std::uint64_t number = 0;
  {
    const std::lock_guard guard(mutex_);
    number = ++steps_;
  }
  if (hook_) {
    hook_({what, path, number});
  }
  const std::lock_guard guard(mutex_);
  if (off_at_ == 0 || number < off_at_) {
    return power::on;
  }
  return number == off_at_ ? power::failing : power::off;
}

int SimDisk::lock(const std::string& path, std::unique_ptr<server::DiskFile>& lock) {
  if (const int error = change(kind::lock, path, {"", path, std::make_shared<SimFile>()});
      error != 0 && error != EEXIST) {
    return error;
  }
  const std::lock_guard guard(mutex_);
  std::shared_ptr<SimFile> file;
  if (const int error = names_.find(path, file)) {
    return error;
  }
  if (!locked_.insert(path).second) {
    return EWOULDBLOCK;
  }
  lock = opened(path, std::move(file), true);
  return 0;
}

int SimDisk::create(const std::string& path, std::unique_ptr<server::DiskFile>& file) {
  auto created = std::make_shared<SimFile>();
  if (const int error = change(kind::create, path, {"", path, created})) {
    return error;
  }
  const std::lock_guard guard(mutex_);
  file = opened(path, std::move(created), false);
  return 0;
}

int SimDisk::open(const std::string& path, std::unique_ptr<server::DiskFile>& file) {
  const power state = step(kind::open, path);
  const std::lock_guard guard(mutex_);
  std::shared_ptr<SimFile> found;
  const int error = state == power::on ? names_.find(path, found) : EIO;
  if (error == 0) {
    file = opened(path, std::move(found), false);
  }
  return error;
}

int SimDisk::read(const std::string& path, std::unique_ptr<server::DiskBytes>& bytes) {
  const power state = step(kind::open, path);
  const std::lock_guard guard(mutex_);
  std::shared_ptr<SimFile> found;
  const int error = state == power::on ? names_.find(path, found) : EIO;
  if (error == 0) {
    bytes = std::make_unique<CopiedBytes>(found->bytes());
  }
  return error;
}

// No step: reading changes nothing, so the power may as well go at the next one.
int SimDisk::open_reader(const std::string& path, std::unique_ptr<server::DiskReader>& file) {
  const std::lock_guard guard(mutex_);
  std::shared_ptr<SimFile> found;
  const int error = off_at_ != 0 && steps_ >= off_at_ ? EIO : names_.find(path, found);
  if (error == 0) {
    file = std::make_unique<Reader>(*this, std::move(found));
  }
  return error;
}

int SimDisk::rename(const std::string& from, const std::string& to) {
  return change(kind::rename, from, {from, to});
}

int SimDisk::remove(const std::string& path) {
  return change(kind::remove, path, {path, ""});
}

int SimDisk::link(const std::string& from, const std::string& to) {
  std::shared_ptr<SimFile> file;
  {
    const std::lock_guard guard(mutex_);
    if (const int error = names_.find(from, file)) {
      return error;
    }
  }
  return change(kind::link, to, {"", to, std::move(file)});
}

int SimDisk::create_directory(const std::string& path) {
  return change(kind::directory, path, {"", path});
}

int SimDisk::remove_directory(const std::string& path) {
  return change(kind::directory, path, {path, ""});
}

int SimDisk::list(const std::string& path, std::vector<std::string>& names) {
  const power state = step(kind::names, path);
  const std::lock_guard guard(mutex_);
  names.clear();
  if (state != power::on || !names_.has(path)) {
    return state != power::on ? EIO : ENOENT;
  }
  names = names_.in(path);
  return 0;
}

int SimDisk::sync_directory(const std::string& path) {
  const power state = step(kind::names, path);
  const std::lock_guard guard(mutex_);
  if (state != power::on || !names_.has(path)) {
    return state != power::on ? EIO : ENOENT;
  }
  names_.sync(path);
  return 0;
}

std::string SimDisk::text(const std::string& path, int error) const {
  return path + ": " + std::generic_category().message(error);
}

int SimDisk::change(SimStep::kind what, const std::string& path, const SimNames::Change& change) {
  const power state = step(what, path);
  const std::lock_guard guard(mutex_);
  const int error = state == power::off ? EIO : names_.make(change);
  return error == 0 && state == power::failing ? EIO : error;
}

std::uint64_t SimDisk::used_bytes() const {
  std::uint64_t bytes = 0;
  for (const SimFile* const file : names_.files()) {
    bytes += file->bytes().size();
  }
  return bytes;
}

std::unique_ptr<server::DiskFile> SimDisk::opened(const std::string& path, std::shared_ptr<SimFile> file,
                                                  bool locks) {
  return std::make_unique<Open>(*this, path, std::move(file), locks);
}

}  // namespace mxkv::test
