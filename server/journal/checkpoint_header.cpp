#include "server/journal/checkpoint_header.hpp"

#include "server/commit/record.hpp"
#include "server/journal/hash.hpp"

namespace mxkv::server {
namespace {

constexpr std::string_view kPartMagic = "MXKVCKP1";
constexpr std::uint16_t kCompressed = 1;
constexpr std::size_t kFromAt = 72;
constexpr std::size_t kToAt = 328;
constexpr std::size_t kFooterKeysAt = 32;

}  // namespace

void write_checkpoint_header(char* page, const CheckpointHeader& header) noexcept {
  MXKV_ASSERT(header.from.size() <= kMostKeyBytes && header.to.size() <= kMostKeyBytes, "bounds are keys");
  begin_page(page, kPartMagic, header.directory, kPartFormat);
  store_number(page + 32, header.begun);
  store_number(page + 40, header.part);
  store_number(page + 44, header.parts);
  store_number(page + 48, header.incarnation);
  store_number(page + 52, header.compressed ? kCompressed : std::uint16_t{0});
  store_number(page + 54, kHashXxh3);
  store_number(page + 56, header.created_us);
  store_number(page + 64, static_cast<std::uint8_t>(header.from.size()));
  store_number(page + 65, static_cast<std::uint8_t>(header.to.size()));
  store_number(page + 66, static_cast<std::uint8_t>(header.has_no_end));
  header.from.copy(page + kFromAt, kMostKeyBytes);
  header.to.copy(page + kToAt, kMostKeyBytes);
  seal_page(page);
}

runtime::Result<CheckpointHeader> read_checkpoint_header(std::string_view file) {
  std::string complaint = page_complaint(file, kPartMagic, "checkpoint");
  if (!complaint.empty()) {
    return runtime::Error{std::move(complaint)};
  }
  const char* const page = file.data();
  if (const auto hash = load_number<std::uint16_t>(page + 54); hash != kHashXxh3) {
    return runtime::Error{"this checkpoint has a hash, " + std::to_string(hash) +
                          ", that this version does not know"};
  }
  CheckpointHeader header;
  std::memcpy(header.directory.data(), page + 16, header.directory.size());
  header.begun = load_number<std::uint64_t>(page + 32);
  header.part = load_number<std::uint32_t>(page + 40);
  header.parts = load_number<std::uint32_t>(page + 44);
  header.incarnation = load_number<std::uint32_t>(page + 48);
  header.compressed = (load_number<std::uint16_t>(page + 52) & kCompressed) != 0;
  header.created_us = load_number<std::uint64_t>(page + 56);
  header.from.assign(page + kFromAt, load_number<std::uint8_t>(page + 64));
  header.to.assign(page + kToAt, load_number<std::uint8_t>(page + 65));
  header.has_no_end = page[66] != 0;
  return header;
}

std::uint64_t checkpoint_seed(const DirectoryId& directory, std::uint64_t begun,
                              std::uint32_t part) noexcept {
  return chain_on(chain_on(segment_seed(directory, 0), begun), part);
}

std::string footer_payload(const CheckpointFooter& footer) {
  MXKV_ASSERT(footer.first.size() <= kMostKeyBytes && footer.last.size() <= kMostKeyBytes,
              "first and last are keys");
  std::string payload(kFooterKeysAt, '\0');
  char* at = payload.data();
  at = store_number(at, footer.items);
  at = store_number(at, footer.bytes);
  at = store_number(at, footer.chain);
  at = store_number(at, footer.blocks);
  at = store_number(at, static_cast<std::uint8_t>(footer.first.size()));
  store_number(at, static_cast<std::uint8_t>(footer.last.size()));
  return payload.append(footer.first).append(footer.last);
}

const char* read_footer(std::string_view payload, CheckpointFooter& footer) noexcept {
  if (payload.size() < kFooterKeysAt) {
    return "a footer is cut off";
  }
  const char* const at = payload.data();
  footer.items = load_number<std::uint64_t>(at);
  footer.bytes = load_number<std::uint64_t>(at + 8);
  footer.chain = load_number<std::uint64_t>(at + 16);
  footer.blocks = load_number<std::uint32_t>(at + 24);
  const std::size_t first = load_number<std::uint8_t>(at + 28);
  const std::size_t last = load_number<std::uint8_t>(at + 29);
  if (payload.size() != kFooterKeysAt + first + last) {
    return "a footer is not as long as it says";
  }
  footer.first = payload.substr(kFooterKeysAt, first);
  footer.last = payload.substr(kFooterKeysAt + first, last);
  return nullptr;
}

}  // namespace mxkv::server
