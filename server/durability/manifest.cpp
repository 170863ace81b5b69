#include "server/durability/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "server/journal/hash.hpp"
#include "server/journal/segment_files.hpp"

namespace mxkv::server {

namespace {

using runtime::Error;
using runtime::Result;

constexpr const char* kNewManifestName = "MANIFEST.new";
constexpr std::uint64_t kFirstWithEnd = 2;  ///< format
constexpr std::string_view kLineagePrefix = "lineage.";
constexpr std::string_view kTitle = "mxkv manifest";
constexpr std::string_view kCounterPrefix = "counter.";
constexpr int kHex = 16;
constexpr int kDecimal = 10;

std::string hex_of(const DirectoryId& id) {
  std::string text;
  for (const std::uint8_t byte : id) {
    text += fmt::format("{:02x}", byte);
  }
  return text;
}

std::optional<std::uint64_t> number_of(std::string_view text, int base = kDecimal) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional{number} : std::nullopt;
}

/// Reads the lines in order. The first error stays.
class Lines {
 public:
  explicit Lines(std::string_view text) noexcept : left_(text) {}

  /// The value of the line, which must be the next; empty: an error.
  std::string_view value(std::string_view name) {
    std::string_view line;
    if (!error_.empty() || !take_line(line)) {
      return {};
    }
    if (line.size() <= name.size() + 1 || !line.starts_with(name) || line[name.size()] != ' ') {
      fail(fmt::format("`{} ...` was expected, not `{}`", name, line.substr(0, 40)));
      return {};
    }
    return line.substr(name.size() + 1);
  }
  std::uint64_t number(std::string_view name, std::uint64_t most = ~std::uint64_t{0}, int base = kDecimal) {
    const std::string_view text = value(name);
    const std::optional<std::uint64_t> number = number_of(text, base);
    if (error_.empty() && (!number || *number > most)) {
      fail(fmt::format("`{}` is not a number that `{}` may be", text, name));
    }
    return number.value_or(0);
  }
  bool yes(std::string_view name) {
    const std::string_view text = value(name);
    if (error_.empty() && text != "yes" && text != "no") {
      fail(fmt::format("`{}` is yes or no, not `{}`", name, text));
    }
    return text == "yes";
  }
  /// Whether the next line's name begins so.
  [[nodiscard]] bool next_begins(std::string_view name) const noexcept {
    return error_.empty() && left_.starts_with(name);
  }
  /// The next line, for any name.
  std::string_view line() {
    std::string_view line;
    return error_.empty() && take_line(line) ? line : std::string_view{};
  }
  void fail(const std::string& what) { error_ = fmt::format("line {}: {}", number_, what); }
  [[nodiscard]] const std::string& error() const noexcept { return error_; }
  [[nodiscard]] std::string_view left() const noexcept { return left_; }

 private:
  bool take_line(std::string_view& line) {
    ++number_;
    const std::size_t end = left_.find('\n');
    if (end == std::string_view::npos) {
      fail("the file ends here");
      return false;
    }
    line = left_.substr(0, end);
    left_.remove_prefix(end + 1);
    return true;
  }

  std::string_view left_;
  std::string error_;
  unsigned number_ = 0;
};

DirectoryId directory_of(Lines& lines) {
  DirectoryId id{};
  const std::string_view text = lines.value("directory");
  bool right = text.size() == 2 * id.size();
  for (std::size_t i = 0; right && i < id.size(); ++i) {
    const std::optional<std::uint64_t> byte = number_of(text.substr(2 * i, 2), kHex);
    right = byte.has_value();
    id[i] = static_cast<std::uint8_t>(byte.value_or(0));
  }
  if (!right && lines.error().empty()) {
    lines.fail("`directory` has 32 hexadecimal digits");
  }
  return id;
}

CheckpointEntry checkpoint_of(Lines& lines) {
  CheckpointEntry entry;
  entry.begun = lines.number("checkpoint.begun");
  if (entry.begun == 0 && lines.error().empty()) {
    lines.fail("`checkpoint.begun` is an epoch: at least 1");
  }
  entry.needs = lines.number("checkpoint.needs");
  entry.parts = static_cast<std::uint32_t>(lines.number("checkpoint.parts", 0xFFFF));
  entry.items = lines.number("checkpoint.items");
  entry.bytes = lines.number("checkpoint.bytes");
  entry.made_us = lines.number("checkpoint.made_us");
  entry.flushes.next = lines.number("checkpoint.flush_next");
  entry.flushes.before = lines.number("checkpoint.flush_before");
  return entry;
}

void read_lineage(Lines& lines, Lineage& lineage) {
  std::string_view line = lines.line();
  line.remove_prefix(std::min(line.size(), kLineagePrefix.size()));
  const std::size_t blank = std::min(line.find(' '), line.size());
  const auto tag = read_tag(line.substr(0, blank));
  const auto first = number_of(line.substr(std::min(blank + 1, line.size())));
  if (!tag || !first || *first == 0) {
    return lines.fail("a lineage has a tag of 16 hexadecimal digits, and an epoch: at least 1");
  }
  const auto& entries = lineage.entries();
  if (lineage.knows(*tag) || entries.size() == Lineage::kMost ||
      (!entries.empty() && entries.back().first > *first)) {
    return lines.fail("a lineage has up to 64 tags, each once, in the order of their epochs");
  }
  lineage.begin(*tag, *first);
}

void read_counter(Lines& lines, Manifest& manifest) {
  std::string_view line = lines.line();
  line.remove_prefix(std::min(line.size(), kCounterPrefix.size()));
  const std::size_t blank = std::min(line.find(' '), line.size());
  const auto number = number_of(line.substr(std::min(blank + 1, line.size())));
  if (blank == 0 || !number) {
    return lines.fail("a counter has a name and a number");
  }
  manifest.counters.emplace_back(line.substr(0, blank), *number);
}

/// Syncs and closes a new file with this text.
int write_file(Disk& disk, const std::string& path, std::string& text) {
  std::unique_ptr<DiskFile> file;
  int error = disk.create(path, file);
  if (error == EEXIST) {  // left by a start that ended here
    error = disk.remove(path);
    error = error != 0 ? error : disk.create(path, file);
  }
  const iovec piece{text.data(), text.size()};
  error = error != 0 ? error : write_all(*file, {&piece, 1}, 0);
  return error != 0 ? error : file->sync();
}

}  // namespace

std::string manifest_text(const Manifest& manifest) {
  std::string text =
      fmt::format("{}\nformat {}\noldest_reader {}\n", kTitle, kManifestFormat, kManifestFormat);
  text += fmt::format("directory {}\nincarnation {}\nclean {}\nwritten_us {}\n", hex_of(manifest.directory),
                      manifest.incarnation, manifest.clean ? "yes" : "no", manifest.written_us);
  text += fmt::format("ceiling {}\njournal.first_segment {}\n", manifest.ceiling, manifest.first_segment);
  text += fmt::format("journal.last_segment {}\njournal.last_epoch {}\n", manifest.end.segment,
                      manifest.end.epoch);
  for (const Lineage::Entry& entry : manifest.lineage.entries()) {
    text += fmt::format("{}{} {}\n", kLineagePrefix, tag_text(entry.tag), entry.first);
  }
  if (const auto& entry = manifest.checkpoint) {
    text += fmt::format(
        "checkpoint.begun {}\ncheckpoint.needs {}\ncheckpoint.parts {}\ncheckpoint.items {}\n"
        "checkpoint.bytes {}\ncheckpoint.made_us {}\n",
        entry->begun, entry->needs, entry->parts, entry->items, entry->bytes, entry->made_us);
    text += fmt::format("checkpoint.flush_next {}\ncheckpoint.flush_before {}\n", entry->flushes.next,
                        entry->flushes.before);
  }
  for (const auto& [name, number] : manifest.counters) {
    text += fmt::format("{}{} {}\n", kCounterPrefix, name, number);
  }
  return text + fmt::format("hash {:016x}\n", hash_of(text, 0));
}

Result<Manifest> parse_manifest(std::string_view text) {
  Lines lines{text};
  Manifest manifest;
  if (lines.line() != kTitle) {
    return Error{"line 1: this is not a manifest of mxkv"};
  }
  const std::uint64_t format = lines.number("format");
  const std::uint64_t oldest = lines.number("oldest_reader");
  if (lines.error().empty() && oldest > kManifestFormat) {
    return Error{fmt::format("line 3: written in format {} by a newer mxkvd; this one reads format {}",
                             format, kManifestFormat)};
  }
  manifest.directory = directory_of(lines);
  manifest.incarnation = static_cast<std::uint32_t>(lines.number("incarnation", 0xFFFF'FFFF));
  manifest.clean = lines.yes("clean");
  manifest.written_us = lines.number("written_us");
  manifest.ceiling = lines.number("ceiling", kMostOrder);
  manifest.first_segment = lines.number("journal.first_segment");
  if (format >= kFirstWithEnd) {
    manifest.end.segment = lines.number("journal.last_segment");
    manifest.end.epoch = lines.number("journal.last_epoch");
  }
  while (lines.next_begins(kLineagePrefix)) {
    read_lineage(lines, manifest.lineage);
  }
  if (lines.next_begins("checkpoint.")) {
    manifest.checkpoint = checkpoint_of(lines);
  }
  while (lines.next_begins(kCounterPrefix)) {
    read_counter(lines, manifest);
  }
  const std::uint64_t before = text.size() - lines.left().size();
  const std::uint64_t hash = lines.number("hash", ~std::uint64_t{0}, kHex);
  if (lines.error().empty() && hash != hash_of(text.substr(0, before), 0)) {
    lines.fail("the hash does not match the lines before it");
  } else if (lines.error().empty() && !lines.left().empty()) {
    lines.fail("nothing follows the hash");
  }
  if (!lines.error().empty()) {
    return Error{lines.error()};
  }
  return manifest;
}

Result<std::optional<Manifest>> read_manifest(Disk& disk) {
  std::unique_ptr<DiskBytes> bytes;
  const int error = disk.read(kManifestName, bytes);
  if (error == ENOENT) {
    return std::optional<Manifest>{};
  }
  if (error != 0) {
    return Error{disk.text(kManifestName, error)};
  }
  Result<Manifest> manifest = parse_manifest(bytes->bytes());
  if (!manifest) {
    return Error{fmt::format("{}: {}", kManifestName, manifest.error().message)};
  }
  return std::optional{std::move(manifest).value()};
}

int replace_manifest(Disk& disk, const Manifest& manifest, std::string& path) {
  std::string text = manifest_text(manifest);
  const Result<Manifest> read_back = parse_manifest(text);
  MXKV_ASSERT(read_back && read_back.value() == manifest, "a start reads the manifest as it is written");
  path = kNewManifestName;
  if (const int error = write_file(disk, kNewManifestName, text); error != 0) {
    return error;
  }
  path = kOldManifestName;
  if (const int error = disk.remove(kOldManifestName); error != 0 && error != ENOENT) {
    return error;
  }
  if (const int error = disk.link(kManifestName, kOldManifestName); error != 0 && error != ENOENT) {
    return error;
  }
  path = kManifestName;
  const int error = disk.rename(kNewManifestName, kManifestName);
  return error != 0 ? error : disk.sync_directory("");
}

std::optional<Error> write_manifest(Disk& disk, const Manifest& manifest) {
  std::string path;
  const int error = replace_manifest(disk, manifest, path);
  return error != 0 ? std::optional{Error{disk.text(path, error)}} : std::nullopt;
}

JournalExpectations expectations_of(const Manifest& manifest) noexcept {
  JournalExpectations expectations;
  expectations.first_segment = std::max<std::uint64_t>(manifest.first_segment, 1);
  expectations.end = manifest.end;
  if (manifest.checkpoint) {
    expectations.from_epoch = manifest.checkpoint->begun;
    expectations.needs_epoch = manifest.checkpoint->needs;
  }
  return expectations;
}

std::string checkpoint_path(std::uint64_t begun) {
  return fmt::format("{}/{:016x}", kCheckpointDirectory, begun);
}

std::string checkpoint_part_path(std::uint64_t begun, std::uint32_t part) {
  return fmt::format("{}/part-{}.mxc", checkpoint_path(begun), part);
}

}  // namespace mxkv::server
