#include "server/journal/segment_files.hpp"

#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"

namespace mxkv::server {
namespace {

int write_copy(Disk& disk, const std::string& copy, std::string_view bytes) {
  std::unique_ptr<DiskFile> file;
  if (const int error = disk.create(copy, file)) {
    return error;
  }
  const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
  int error = write_all(*file, {&piece, 1}, 0);
  error = error != 0 ? error : file->sync();
  if (error != 0) {
    file.reset();
    static_cast<void>(disk.remove(copy));  // a file that stays is removed by the next start
  }
  return error;
}

int cut_file(Disk& disk, const std::string& path, std::uint64_t bytes) {
  std::unique_ptr<DiskFile> file;
  const int error = disk.open(path, file);
  return error != 0 ? error : file->truncate(bytes);
}

}  // namespace

/// Writes all pieces, in as many writes as that takes.
int write_all(DiskFile& file, std::span<const iovec> pieces, std::uint64_t offset) {
  std::vector<iovec> rest;
  while (!pieces.empty()) {
    const auto [bytes, error] = file.write_at(pieces, offset);
    if (error != 0) {
      return error;
    }
    if (bytes == 0) {
      return EIO;  // neither bytes nor an error: the loop would never end
    }
    offset += bytes;
    std::size_t skip = bytes;
    std::size_t done = 0;
    while (done < pieces.size() && skip >= pieces[done].iov_len) {
      skip -= pieces[done++].iov_len;
    }
    MXKV_ASSERT(done < pieces.size() || skip == 0, "a disk writes no more than it is given");
    std::vector<iovec> left(pieces.begin() + static_cast<std::ptrdiff_t>(done), pieces.end());
    if (skip > 0) {
      left.front().iov_base = static_cast<char*>(left.front().iov_base) + skip;
      left.front().iov_len -= skip;
    }
    rest = std::move(left);
    pieces = rest;
  }
  return 0;
}

int remove_spares(Disk& disk, const std::string& folder) {
  std::vector<std::string> names;
  if (const int error = disk.list(folder, names)) {
    return error;
  }
  for (const std::string& name : names) {
    if (name.starts_with(kSparePrefix)) {
      if (const int error = disk.remove(folder + "/" + name)) {
        return error;
      }
    }
  }
  return 0;
}

int replace_by_copy(Disk& disk, const std::string& folder, const std::string& path, std::uint64_t bytes) {
  std::unique_ptr<DiskBytes> read;
  if (const int error = disk.read(path, read)) {
    return error;
  }
  MXKV_ASSERT(bytes <= read->bytes().size(), "the part of a segment that is kept was scanned");
  const std::string kept{read->bytes().substr(0, bytes)};
  read.reset();
  const std::string copy = folder + "/" + std::string{kSparePrefix} + "copy";
  int error = write_copy(disk, copy, kept);
  if (error == ENOSPC || error == EDQUOT) {
    error = cut_file(disk, path, bytes);
    error = error != 0 ? error : write_copy(disk, copy, kept);
  }
  error = error != 0 ? error : disk.rename(copy, path);
  return error != 0 ? error : disk.sync_directory(folder);
}

}  // namespace mxkv::server
