#include "tests/simulation/sim_file.hpp"

#include <algorithm>

namespace mxkv::test {

void SimFile::write(std::uint64_t offset, std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  extend(offset + bytes.size());
  bytes.copy(now_.data() + offset, bytes.size());
  for (std::size_t sector = offset / kSectorBytes; sector * kSectorBytes < offset + bytes.size(); ++sector) {
    dirty_.insert(sector);
    dropped_.erase(sector);
  }
}

void SimFile::extend(std::uint64_t bytes) {
  now_.resize(std::max<std::uint64_t>(now_.size(), bytes));
}

void SimFile::truncate(std::uint64_t bytes) {
  now_.resize(std::min<std::uint64_t>(now_.size(), bytes));
  const std::size_t behind = (bytes + kSectorBytes - 1) / kSectorBytes;
  dirty_.erase(dirty_.lower_bound(behind), dirty_.end());
  dropped_.erase(dropped_.lower_bound(behind), dropped_.end());
}

void SimFile::sync() {
  durable_.resize(now_.size());
  for (const std::size_t sector : dirty_) {
    durable_.replace(sector * kSectorBytes, kSectorBytes, now_, sector * kSectorBytes, kSectorBytes);
  }
  dirty_.clear();
}

void SimFile::fail_sync() {
  dropped_.merge(dirty_);
  dirty_.clear();
}

void SimFile::cut(std::mt19937_64& random) {
  dropped_.merge(dirty_);
  std::string after = durable_;
  if (random() % 2 == 0) {
    after.resize(now_.size());
  }
  const auto all = static_cast<fate>(random() % 4);
  const std::size_t certain = dropped_.empty() ? 0 : random() % dropped_.size();
  std::size_t index = 0;
  for (const std::size_t sector : dropped_) {
    const std::size_t begin = sector * kSectorBytes;
    const bool fresh = all == fate::fresh || (all == fate::first_ones && index++ < certain);
    if (begin >= after.size() || all == fate::old || (all == fate::first_ones && !fresh)) {
      continue;
    }
    const std::string_view old = std::string_view{after}.substr(begin, kSectorBytes);
    const std::string sector_after = fresh ? now_.substr(begin, old.size()) : cut_sector(sector, old, random);
    after.replace(begin, sector_after.size(), sector_after);
  }
  now_ = durable_ = std::move(after);
  dropped_.clear();
}

std::string SimFile::cut_sector(std::size_t sector, std::string_view old, std::mt19937_64& random) const {
  std::string bytes = now_.substr(sector * kSectorBytes, old.size());
  switch (random() % 5) {
    case 0:
    case 1:
      return std::string{old};
    case 2:
    case 3:
      return bytes;
    default:
      // Torn in the middle, or with garbage from there on.
      for (std::size_t i = random() % bytes.size(), garbage = random() % 2; i < bytes.size(); ++i) {
        bytes[i] = garbage != 0 ? static_cast<char>(random()) : old[i];
      }
      return bytes;
  }
}

}  // namespace mxkv::test
