#include "tests/integration/faults/disk_state.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace mxkv::faults {

namespace {

// By system call, because faulty_disk.cpp's wrappers would take the lock that the caller already holds.
void move(const std::string& from, const std::string& to) {
  if (!from.empty()) {
    ::syscall(SYS_rename, from.c_str(), to.c_str());
  }
}
void remove(const std::string& path) {
  ::syscall(SYS_unlink, path.c_str());
}

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

}  // namespace

DiskState::Unsynced& DiskState::of(int file) {
  struct stat about{};
  fstat(file, &about);
  const auto [at, is_new] = files_.try_emplace({about.st_dev, about.st_ino});
  if (is_new) {
    const std::string name = "/proc/self/fd/" + std::to_string(file);
    at->second.file = ::open(name.c_str(), O_RDWR | O_CLOEXEC);
    at->second.length = static_cast<std::uint64_t>(about.st_size);
  }
  return at->second;
}

void DiskState::before_write(int file, std::uint64_t offset, std::uint64_t bytes) {
  Unsynced& known = of(file);
  for (std::uint64_t sector = offset / kSectorBytes; sector * kSectorBytes < offset + bytes; ++sector) {
    known.lost.erase(sector);
    const auto [at, is_new] = known.before.try_emplace(sector);
    if (is_new) {
      at->second.fill(0);
      static_cast<void>(
          ::pread(known.file, at->second.data(), kSectorBytes, static_cast<off_t>(sector * kSectorBytes)));
    }
  }
}

void DiskState::synced(int file) {
  Unsynced& known = of(file);
  known.before.clear();
  struct stat about{};
  fstat(file, &about);
  known.length = static_cast<std::uint64_t>(about.st_size);
}

void DiskState::sync_failed(int file) {
  Unsynced& known = of(file);
  known.lost.merge(known.before);
  known.before.clear();
}

void DiskState::synced_folder(const std::string& folder) {
  std::erase_if(names_, [&folder](const NameChange& change) {
    if (folder_of(change.path) != folder) {
      return false;
    }
    if (!change.saved.empty()) {
      remove(change.saved);
    }
    return true;
  });
}

void DiskState::created(const std::string& path) {
  names_.push_back({NameChange::kind::created, path, {}, {}});
}

void DiskState::before_rename(const std::string& from, const std::string& to) {
  names_.push_back({NameChange::kind::renamed, from, to, save(to)});
}

void DiskState::before_unlink(const std::string& path) {
  names_.push_back({NameChange::kind::unlinked, path, {}, save(path)});
}

std::string DiskState::save(const std::string& path) {
  // The name has the process's number, because files of an earlier process may be there.
  const std::string saved = side_ + "/" + std::to_string(::getpid()) + "." + std::to_string(saved_++);
  return ::link(path.c_str(), saved.c_str()) == 0 ? saved : "";
}

void DiskState::undo(const NameChange& change) {
  switch (change.what) {
    case NameChange::kind::created:
      remove(change.path);
      return;
    case NameChange::kind::renamed:
      move(change.to, change.path);
      move(change.saved, change.to);
      return;
    case NameChange::kind::unlinked:
      move(change.saved, change.path);
      return;
  }
}

void DiskState::cut(std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::uint64_t spoiled = 0;
  for (auto& [id, known] : files_) {
    // Some cuts keep most of the unsynced sectors, others few.
    const std::uint64_t kept_of_16 = random() % 17;
    const auto spoil = [&](const std::map<std::uint64_t, Sector>& sectors, bool may_keep) {
      for (const auto& [sector, before] : sectors) {
        if (may_keep && random() % 16 < kept_of_16) {
          continue;
        }
        Sector now = before;
        if (random() % 8 == 0) {
          std::generate(now.begin(), now.end(), [&random] { return static_cast<char>(random()); });
        }
        ++spoiled;
        const iovec piece{now.data(), now.size()};
        static_cast<void>(::pwritev2(known.file, &piece, 1, static_cast<off_t>(sector * kSectorBytes), 0));
      }
    };
    spoil(known.before, true);
    spoil(known.lost, false);
    struct stat about{};
    fstat(known.file, &about);
    if (static_cast<std::uint64_t>(about.st_size) > known.length && random() % 2 == 0) {
      static_cast<void>(::ftruncate(known.file, static_cast<off_t>(known.length)));
    }
  }
  // File systems keep the order of name changes, so the last ones are undone.
  const std::uint64_t undone = random() % (names_.size() + 1);
  for (std::uint64_t left = undone; left > 0; --left) {
    undo(names_.back());
    names_.pop_back();
  }
  if (std::FILE* const told = std::fopen((side_ + "/cuts").c_str(), "a")) {
    std::fprintf(told, "%llu %llu\n", static_cast<unsigned long long>(spoiled),
                 static_cast<unsigned long long>(undone));
    std::fclose(told);
  }
}

}  // namespace mxkv::faults
