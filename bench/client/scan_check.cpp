#include "bench/client/scan_check.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "bench/workload/java_text.hpp"

namespace mxkv::bench {

LoadedKeys::LoadedKeys(const WorkloadSpec& spec, KeyFormat format, ScanOrder order)
    : format_(format), order_(order), gaps_allowed_(spec.misses_expected()) {
  hashes_.reserve(spec.existing());
  for (std::uint64_t i = 0; i < spec.existing(); ++i) {
    hashes_.push_back(spec.key_number(spec.insert_start + i));
  }
  std::sort(hashes_.begin(), hashes_.end(),
            [this](std::uint64_t left, std::uint64_t right) { return before(left, right); });
}

std::int32_t LoadedKeys::score(std::uint64_t hash) const noexcept {
  std::array<char, KeyFormat::kMaxBytes> key;
  return java_hash({key.data(), format_.write(hash, key.data())});
}

bool LoadedKeys::before(std::uint64_t left, std::uint64_t right) const noexcept {
  if (order_ == ScanOrder::score) {
    const std::int32_t left_score = score(left);
    const std::int32_t right_score = score(right);
    if (left_score != right_score) {
      return left_score < right_score;
    }
  }
  return format_.before(left, right);
}

bool LoadedKeys::begins(std::uint64_t start, std::uint64_t first) const noexcept {
  return start == first || (order_ == ScanOrder::score && score(start) == score(first));
}

std::size_t LoadedKeys::find(std::uint64_t hash) const noexcept {
  const auto at =
      order_ == ScanOrder::key
          ? std::lower_bound(hashes_.begin(), hashes_.end(), hash,
                             [this](std::uint64_t left, std::uint64_t right) { return before(left, right); })
          : std::partition_point(
                hashes_.begin(), hashes_.end(),
                [this, wanted = score(hash)](std::uint64_t key) { return score(key) < wanted; });
  return static_cast<std::size_t>(at - hashes_.begin());
}

std::size_t LoadedKeys::count_prefix(std::string_view prefix) const noexcept {
  // Compare the first bytes of a key with the prefix: lesser keys come first, then equal ones.
  const auto compare = [this, prefix](std::uint64_t hash) {
    std::array<char, KeyFormat::kMaxBytes> key;
    return std::string_view(key.data(), format_.write(hash, key.data()))
        .substr(0, prefix.size())
        .compare(prefix);
  };
  const auto first = std::partition_point(hashes_.begin(), hashes_.end(),
                                          [&compare](std::uint64_t hash) { return compare(hash) < 0; });
  const auto end = std::partition_point(first, hashes_.end(),
                                        [&compare](std::uint64_t hash) { return compare(hash) == 0; });
  return static_cast<std::size_t>(end - first);
}

void ScanCheck::begin(const LoadedKeys& loaded, const Operation& scan) noexcept {
  *this = ScanCheck{};
  started_ = true;
  position_ = loaded.find(scan.key_hash);
}

void ScanCheck::accept(const LoadedKeys& loaded, const Operation& scan, std::uint64_t key_hash) noexcept {
  if (records_ == 0) {
    const bool behind = loaded.gaps_allowed() && loaded.before(scan.key_hash, key_hash);
    if (!behind && !loaded.begins(scan.key_hash, key_hash)) {
      note(ScanFlaw::what::start, key_hash, scan.key_hash);
    }
  } else if (!loaded.before(last_hash_, key_hash)) {
    note(ScanFlaw::what::order, key_hash, last_hash_);
  }
  if (!loaded.gaps_allowed() && position_ < loaded.size()) {
    if (loaded[position_] == key_hash) {
      ++position_;
    } else if (!loaded.before(key_hash, loaded[position_])) {
      note(ScanFlaw::what::skipped, key_hash, loaded[position_]);
    }
  }
  if (records_ >= scan.scan_length) {
    note(ScanFlaw::what::too_many, key_hash, 0);
  }
  last_hash_ = key_hash;
  ++records_;
}

bool ScanCheck::finish(const LoadedKeys& loaded, const Operation& scan, bool more_remains) noexcept {
  started_ = false;
  const bool whole =
      loaded.gaps_allowed() || records_ == scan.scan_length || position_ == loaded.size() || more_remains;
  if (records_ == 0 || !whole) {
    note(ScanFlaw::what::too_few, 0, position_ < loaded.size() ? loaded[position_] : 0);
  }
  return flaw_.kind == ScanFlaw::what::none;
}

std::string text_of(const ScanFlaw& flaw, KeyFormat format) {
  const auto key = [&format](std::uint64_t hash) {
    std::array<char, KeyFormat::kMaxBytes> text;
    return std::string(text.data(), format.write(hash, text.data()));
  };
  const std::string place = " after " + std::to_string(flaw.records) + " records";
  switch (flaw.kind) {
    case ScanFlaw::what::none:
      break;
    case ScanFlaw::what::start:
      return "the reply begins with " + key(flaw.got) + ", not with the start key";
    case ScanFlaw::what::order:
      return key(flaw.got) + " came behind " + key(flaw.other) + place + ", out of order";
    case ScanFlaw::what::skipped:
      return "the loaded record " + key(flaw.other) + " was skipped" + place + ": " + key(flaw.got) + " came";
    case ScanFlaw::what::too_many:
      return "more records than asked for: " + key(flaw.got) + " came" + place;
    case ScanFlaw::what::contents:
      return flaw.got == 0
                 ? "a key that mxkv-ycsb does not write came" + place
                 : "the value of " + key(flaw.got) + place + " is not one that mxkv-ycsb writes for it";
    case ScanFlaw::what::too_few:
      return "the reply ends" + place + ", though the loaded record " + key(flaw.other) + " follows";
  }
  return "the reply is not right";
}

}  // namespace mxkv::bench
