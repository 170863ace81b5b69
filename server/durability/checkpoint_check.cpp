#include "server/durability/checkpoint_check.hpp"

#include <memory>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/durability/file_copy.hpp"
#include "server/durability/part_reader.hpp"
#include "server/journal/posix_disk.hpp"

namespace mxkv::server {
namespace {

class PartsCheck {
 public:
  PartsCheck(std::string directory, const Manifest& manifest, PosixDisk& disk)
      : directory_(std::move(directory)), manifest_(manifest), disk_(disk) {}

  CheckpointCheck pass() {
    MXKV_ASSERT(items_ == 0, "a checkpoint is checked once");
    const CheckpointEntry& checkpoint = *manifest_.checkpoint;
    for (std::uint32_t number = 0; number < checkpoint.parts && check_.damage.empty(); ++number) {
      check_.damage = read_part(checkpoint_part_path(checkpoint.begun, number), number);
    }
    if (check_.damage.empty() && items_ != checkpoint.items) {
      check_.damage = directory_ + "/" + kManifestName + ": counts " + std::to_string(checkpoint.items) +
                      " items of the checkpoint, its parts have " + std::to_string(items_);
    }
    return std::move(check_);
  }

 private:
  /// Returns the damage of the part; empty: none.
  std::string read_part(const std::string& name, std::uint32_t number) {
    // If the disk cannot read, a mapping would end the process.
    if (const int error = read_through(directory_ + "/" + name)) {
      return file_complaint(directory_ + "/" + name, error);
    }
    runtime::Result<Part> part =
        Part::open(disk_, name, manifest_.directory, manifest_.checkpoint->begun, number);
    if (!part) {
      return part.error().message;
    }
    const runtime::Result<std::uint64_t> items = verify_part(part.value());
    if (!items) {
      return items.error().message;
    }
    const CheckpointFooter& footer = part.value().footer();
    if (items.value() != 0 && items_ != 0 && std::string_view{last_} >= footer.first) {
      return name + ": begins with a key that is not greater than all keys of the part before";
    }
    if (items.value() != 0) {
      last_ = footer.last;
    }
    items_ += items.value();
    check_.text += name + ": " + std::to_string(items.value()) + " items, " +
                   std::to_string(part.value().bytes().size()) + " bytes\n";
    return {};
  }

  std::string directory_;
  const Manifest& manifest_;
  PosixDisk& disk_;
  CheckpointCheck check_;
  std::uint64_t items_ = 0;
  std::string last_;  ///< last key of the parts so far
};

}  // namespace

CheckpointCheck check_checkpoint(const std::string& directory, const Manifest& manifest) {
  if (!manifest.checkpoint) {
    return {.text = "no checkpoint\n", .damage = {}};
  }
  auto disk = PosixDisk::open_to_read(directory);
  if (!disk) {
    return {.text = {}, .damage = disk.error().message};
  }
  return PartsCheck(directory, manifest, *disk.value()).pass();
}

}  // namespace mxkv::server
