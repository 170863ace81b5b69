#include "server/journal/segment_header.hpp"

#include <algorithm>
#include <charconv>

#include "server/journal/hash.hpp"

namespace mxkv::server {
namespace {

constexpr std::string_view kSegmentMagic = "MXKVJRN1";
constexpr std::string_view kSegmentSuffix = ".mxj";
constexpr std::size_t kNumberDigits = 16;
constexpr std::size_t kHashAt = kPageBytes - 8;
constexpr std::uint32_t kAfterGap = 1;

}  // namespace

void begin_page(char* page, std::string_view magic, const DirectoryId& directory,
                std::uint16_t format) noexcept {
  std::memset(page, 0, kPageBytes);
  std::memcpy(page, magic.data(), 8);
  store_number(page + 8, format);
  store_number(page + 10, format);  // the oldest reader
  store_number(page + 12, static_cast<std::uint32_t>(kPageBytes));
  std::memcpy(page + 16, directory.data(), directory.size());
}

void seal_page(char* page) noexcept {
  store_number(page + kHashAt, hash_of({page, kHashAt}, 0));
}

std::string page_complaint(std::string_view file, std::string_view magic, std::string_view what) {
  if (file.size() < kPageBytes) {
    return "it is not a " + std::string{what} + ": " + std::to_string(file.size()) +
           " bytes are less than a header has";
  }
  if (file.substr(0, magic.size()) != magic) {
    return "it is not a " + std::string{what} + ", or its header is damaged";
  }
  if (hash_of(file.substr(0, kHashAt), 0) != load_number<std::uint64_t>(file.data() + kHashAt)) {
    return "the header of this " + std::string{what} + " is damaged";
  }
  const auto format = load_number<std::uint16_t>(file.data() + 8);
  const auto oldest = load_number<std::uint16_t>(file.data() + 10);
  if (oldest > kFormatVersion) {
    return "this " + std::string{what} + " is of format " + std::to_string(format) +
           ", which needs a reader of format " + std::to_string(oldest) + "; this is one of format " +
           std::to_string(kFormatVersion);
  }
  if (load_number<std::uint32_t>(file.data() + 12) != kPageBytes) {
    return "this " + std::string{what} + " has pages of another size";
  }
  return {};
}

bool is_newer_page(std::string_view file, std::string_view magic) noexcept {
  return file.size() >= kPageBytes && file.starts_with(magic) &&
         hash_of(file.substr(0, kHashAt), 0) == load_number<std::uint64_t>(file.data() + kHashAt) &&
         load_number<std::uint16_t>(file.data() + 10) > kFormatVersion;
}

void write_segment_header(char* page, const SegmentHeader& header) noexcept {
  begin_page(page, kSegmentMagic, header.directory, header.format);
  store_number(page + 32, header.number);
  store_number(page + 40, header.first_epoch);
  store_number(page + 48, header.incarnation);
  store_number(page + 52, header.stream);
  store_number(page + 54, kHashXxh3);
  store_number(page + 56, header.created_us);
  store_number(page + 64, header.chain_before);
  store_number(page + 72, header.after_gap ? kAfterGap : 0U);
  seal_page(page);
}

runtime::Result<SegmentHeader> read_segment_header(std::string_view file) {
  std::string complaint = page_complaint(file, kSegmentMagic, "journal segment");
  if (!complaint.empty()) {
    return runtime::Error{std::move(complaint)};
  }
  const char* const page = file.data();
  if (const auto hash = load_number<std::uint16_t>(page + 54); hash != kHashXxh3) {
    return runtime::Error{"this journal segment has a hash, " + std::to_string(hash) +
                          ", that this version does not know"};
  }
  SegmentHeader header;
  std::memcpy(header.directory.data(), page + 16, header.directory.size());
  header.format = load_number<std::uint16_t>(page + 8);
  header.number = load_number<std::uint64_t>(page + 32);
  header.first_epoch = load_number<std::uint64_t>(page + 40);
  header.incarnation = load_number<std::uint32_t>(page + 48);
  header.stream = load_number<std::uint16_t>(page + 52);
  header.created_us = load_number<std::uint64_t>(page + 56);
  header.chain_before = load_number<std::uint64_t>(page + 64);
  header.after_gap = (load_number<std::uint32_t>(page + 72) & kAfterGap) != 0;
  return header;
}

bool is_newer_segment(std::string_view file) noexcept {
  return is_newer_page(file, kSegmentMagic);
}

std::uint64_t segment_seed(const DirectoryId& directory, std::uint64_t number) noexcept {
  return hash_of({reinterpret_cast<const char*>(directory.data()), directory.size()}, number);
}

std::string segment_name(std::uint64_t number) {
  std::string name(kNumberDigits, '0');
  for (std::size_t digit = kNumberDigits; digit-- > 0; number >>= 4U) {
    name[digit] = "0123456789abcdef"[number & 15U];
  }
  return name.append(kSegmentSuffix);
}

std::uint64_t segment_number(std::string_view name) noexcept {
  if (name.size() != kNumberDigits + kSegmentSuffix.size() || !name.ends_with(kSegmentSuffix)) {
    return 0;
  }
  std::uint64_t number = 0;
  const std::string_view digits = name.substr(0, kNumberDigits);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  const bool lower = std::ranges::none_of(digits, [](char c) { return c >= 'A' && c <= 'F'; });
  return error == std::errc{} && end == digits.data() + digits.size() && lower ? number : 0;
}

}  // namespace mxkv::server
