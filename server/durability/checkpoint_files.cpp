#include "server/durability/checkpoint_files.hpp"

#include <vector>

namespace mxkv::server {

void remove_checkpoint(Disk& disk, const std::string& path) {
  std::vector<std::string> names;
  if (disk.list(path, names) != 0) {
    return;
  }
  // Files that cannot be removed now are tried again before the next checkpoint.
  for (const std::string& name : names) {
    std::string file = path;
    (void)disk.remove(file.append("/").append(name));
  }
  (void)disk.remove_directory(path);
}

void remove_unnamed_checkpoints(Disk& disk, const std::optional<CheckpointEntry>& named) {
  std::vector<std::string> names;
  if (disk.list(kCheckpointDirectory, names) != 0) {
    return;
  }
  for (const std::string& name : names) {
    std::string path{kCheckpointDirectory};
    path.append("/").append(name);
    if (!named || path != checkpoint_path(named->begun)) {
      remove_checkpoint(disk, path);
    }
  }
}

}  // namespace mxkv::server
