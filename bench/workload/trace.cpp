#include "bench/workload/trace.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

namespace mxkv::bench {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
constexpr std::size_t kLeastTable = 1024;
constexpr std::size_t kHead = 2;  // bytes in front of a key: its length, its marks
constexpr char kOpaque = 1;
constexpr char kCounter = 2;

std::size_t table_hash(std::string_view key) noexcept {
  return std::hash<std::string_view>{}(key);
}

}  // namespace

std::string_view TraceKeys::operator[](std::uint32_t number) const noexcept {
  const char* const place = places_[number];
  return {place + kHead, static_cast<unsigned char>(place[0])};
}

std::size_t TraceKeys::slot_of(std::string_view key) const noexcept {
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = table_hash(key) & mask;
  while (table_[slot] != 0 && (*this)[table_[slot] - 1] != key) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void TraceKeys::grow_table() {
  table_.assign(std::max(kLeastTable, 2 * table_.size()), 0);
  for (std::uint32_t number = 0; number < places_.size(); ++number) {
    table_[slot_of((*this)[number])] = number + 1;
  }
}

std::uint32_t TraceKeys::intern(std::string_view key) {
  if (3 * (places_.size() + 1) > 2 * table_.size()) {
    grow_table();
  }
  const std::size_t slot = slot_of(key);
  if (table_[slot] != 0) {
    return table_[slot] - 1;
  }
  const std::size_t bytes = kHead + key.size();
  if (chunks_.empty() || kChunkBytes - chunk_used_ < bytes) {
    chunks_.push_back(std::make_unique<char[]>(kChunkBytes));
    chunk_used_ = 0;
  }
  char* const place = chunks_.back().get() + chunk_used_;
  chunk_used_ += bytes;
  place[0] = static_cast<char>(key.size());
  place[1] = 0;
  std::memcpy(place + kHead, key.data(), key.size());
  places_.push_back(place);
  table_[slot] = static_cast<std::uint32_t>(places_.size());
  return table_[slot] - 1;
}

void TraceKeys::mark_opaque(std::uint32_t number) noexcept {
  places_[number][1] |= kOpaque;
}

bool TraceKeys::opaque(std::uint32_t number) const noexcept {
  return (places_[number][1] & kOpaque) != 0;
}

void TraceKeys::mark_counter(std::uint32_t number) noexcept {
  places_[number][1] |= kOpaque | kCounter;
}

bool TraceKeys::counter(std::uint32_t number) const noexcept {
  return (places_[number][1] & kCounter) != 0;
}

double Trace::length_s() const noexcept {
  return static_cast<double>(seconds_.back().second - seconds_.front().second) + 1;
}

double Trace::offset_s(std::size_t number) const noexcept {
  const auto after = std::ranges::upper_bound(seconds_, number, {}, &Second::first);
  const Second& mine = *(after - 1);
  const std::size_t end = after == seconds_.end() ? requests_.size() : after->first;
  return static_cast<double>(mine.second - seconds_.front().second) +
         static_cast<double>(number - mine.first) / static_cast<double>(end - mine.first);
}

}  // namespace mxkv::bench
