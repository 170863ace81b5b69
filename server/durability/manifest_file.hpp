// The manifest of a directory in service. Several threads change it, one after the other.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/durability/manifest.hpp"

namespace mxkv::server {

/// Thread-safety: any thread.
class ManifestFile {
 public:
  ManifestFile(Disk& disk, Manifest manifest) : disk_(disk), manifest_(std::move(manifest)) {}

  /// Changes the manifest, on disk when this returns. The error is one line; then nothing has changed, as far
  /// as is known.
  [[nodiscard]] std::optional<runtime::Error> change(const std::function<void(Manifest&)>& how) {
    const std::scoped_lock lock{mutex_};
    Manifest changed = manifest_;
    how(changed);
    MXKV_ASSERT(changed.directory == manifest_.directory && changed.incarnation >= manifest_.incarnation,
                "a directory stays what it is");
    MXKV_ASSERT(changed.ceiling >= manifest_.ceiling, "orders that were given out stay so");
    std::optional<runtime::Error> error = write_manifest(disk_, changed);
    if (!error) {
      keep(std::move(changed));
    }
    return error;
  }
  /// Moves the journal's end. On disk when this returns 0; else it returns an errno value.
  [[nodiscard]] int keep_end(const JournalEnd& end) {
    const std::scoped_lock lock{mutex_};
    MXKV_ASSERT(end.segment > manifest_.end.segment, "the journal's end moves on");
    Manifest changed = manifest_;
    changed.end = end;
    std::string path;
    const int error = replace_manifest(disk_, changed, path);
    if (error == 0) {
      keep(std::move(changed));
    }
    return error;
  }
  [[nodiscard]] Manifest get() const {
    const std::scoped_lock lock{mutex_};
    return manifest_;
  }
  /// Whether this process has changed the manifest on disk: the next one will know this one's tag.
  [[nodiscard]] bool is_kept() const {
    const std::scoped_lock lock{mutex_};
    return is_kept_;
  }

 private:
  void keep(Manifest&& changed) {
    manifest_ = std::move(changed);
    is_kept_ = true;
  }

  Disk& disk_;
  mutable std::mutex mutex_;
  Manifest manifest_;
  bool is_kept_ = false;
};

}  // namespace mxkv::server
