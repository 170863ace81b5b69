// Whether the records a scan returned are those it had to return.
//
// Records are never deleted, so a scan must begin with its start key, come in strict order, and contain every
// loaded record up to where it ends; only records inserted by the run may come in between. The loaded
// records' hashes, sorted in key order, tell all of it by one search a scan and one compare a record. A page
// may end early only at the end of all keys, or where the server says that more remains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/workload/keys.hpp"
#include "bench/workload/operations.hpp"

namespace mxkv::bench {

/// The hashes of the loaded records in key order: 8 bytes each. Thread-safety: any thread after construction.
class LoadedKeys {
 public:
  LoadedKeys(const WorkloadSpec& spec, KeyFormat format);

  /// Position of the first loaded key that is not before that of `hash`.
  [[nodiscard]] std::size_t find(std::uint64_t hash) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return hashes_.size(); }
  [[nodiscard]] std::uint64_t operator[](std::size_t position) const noexcept { return hashes_[position]; }
  [[nodiscard]] const KeyFormat& format() const noexcept { return format_; }

 private:
  KeyFormat format_;
  std::vector<std::uint64_t> hashes_;
};

/// The state of one scan's reply. Thread-safety: owner only.
class ScanCheck {
 public:
  void begin(const LoadedKeys& loaded, const Operation& scan) noexcept;
  /// The next record of the reply.
  void accept(const LoadedKeys& loaded, const Operation& scan, std::uint64_t key_hash) noexcept;
  /// A record that is wrong in itself.
  void reject() noexcept { right_ = false; }
  /// Ends the reply; whether all of it was right. `more_remains`: the server ended the page early and said
  /// so.
  [[nodiscard]] bool finish(const LoadedKeys& loaded, const Operation& scan, bool more_remains) noexcept;

  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }
  [[nodiscard]] bool started() const noexcept { return started_; }

 private:
  bool started_ = false;
  bool right_ = true;
  std::uint32_t records_ = 0;
  std::uint64_t last_hash_ = 0;
  std::size_t position_ = 0;  // of the next loaded key to come
};

}  // namespace mxkv::bench
