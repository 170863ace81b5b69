#include "server/durability/data_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <string>
#include <vector>

namespace mxkv::server {

namespace {

using runtime::Error;
using runtime::Result;

/// Names that a start may leave that ended before it served from the directory.
bool is_harmless(Disk& disk, const std::string& name) {
  if (name == kJournalDirectory || name == kCheckpointDirectory) {
    std::vector<std::string> names;
    return disk.list(name, names) == 0 && names.empty();
  }
  return name == kLockName || name == "MANIFEST.new" || name == "lost+found";
}

DirectoryId new_id() {
  std::random_device random;
  DirectoryId id{};
  for (std::uint8_t& byte : id) {
    byte = static_cast<std::uint8_t>(random());
  }
  return id;
}

int make_directory(Disk& disk, const char* name) {
  const int error = disk.create_directory(name);
  return error == EEXIST ? 0 : error;
}

}  // namespace

std::string complaint_about_names(Disk& disk, bool& fresh) {
  std::vector<std::string> names;
  if (const int error = disk.list("", names); error != 0) {
    return disk.text("", error);
  }
  const auto has = [&names](const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  fresh = !has(kManifestName);
  if (!fresh) {
    return {};
  }
  if (has(kOldManifestName)) {
    return fmt::format("{} is missing, although {} is there; restore a backup", kManifestName,
                       kOldManifestName);
  }
  for (const std::string& name : names) {
    if (!is_harmless(disk, name)) {
      return fmt::format("not a data directory of mxkvd, and not empty: it has {} and no {}", name,
                         kManifestName);
    }
  }
  return {};
}

Result<DataDirectory> open_data_directory(Disk& disk) {
  DataDirectory directory;
  std::string complaint = complaint_about_names(disk, directory.fresh);
  if (!complaint.empty()) {
    return Error{std::move(complaint)};
  }
  if (const int error = disk.lock(kLockName, directory.lock); error != 0) {
    return Error{disk.text(kLockName, error)};
  }
  // No other process changes the directory from now on.
  complaint = complaint_about_names(disk, directory.fresh);
  if (!complaint.empty()) {
    return Error{std::move(complaint)};
  }
  if (directory.fresh) {
    directory.manifest.directory = new_id();
    return directory;
  }
  Result<std::optional<Manifest>> manifest = read_manifest(disk);
  if (!manifest) {
    return manifest.error();
  }
  MXKV_ASSERT(manifest.value().has_value(), "what was listed under a lock is there");
  directory.manifest = *std::move(manifest).value();
  return directory;
}

std::optional<Error> begin_service(Disk& disk, DataDirectory& directory, std::uint64_t now_us,
                                   std::uint64_t first_epoch) {
  MXKV_ASSERT(directory.lock != nullptr, "whoever serves from a directory has locked it");
  for (const char* name : {kJournalDirectory, kCheckpointDirectory}) {
    if (const int error = make_directory(disk, name); error != 0) {
      return Error{disk.text(name, error)};
    }
  }
  ++directory.manifest.incarnation;
  directory.manifest.clean = false;
  directory.manifest.written_us = now_us;
  directory.manifest.lineage.begin(draw_tag(directory.manifest.lineage), first_epoch);
  return directory.fresh ? write_manifest(disk, directory.manifest) : std::nullopt;
}

}  // namespace mxkv::server
