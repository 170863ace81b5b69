// Checks that a scan returned the right records.
//
// Where records are never deleted and do not expire, a scan must begin with its start key, keep strict order, and contain every
// loaded record up to its end. Only records inserted by the run may come in between. With the loaded records'
// hashes in key order, this takes one search a scan and one compare a record. A page may end early only at
// the end of all keys, or if the server says that more remains. Where records may be gone, only the order is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload/keys.hpp"
#include "bench/workload/operations.hpp"

namespace mxkv::bench {

enum class ScanOrder : std::uint8_t {
  key,    ///< by the bytes of keys
  score,  ///< by the Java hash codes of keys, and for equal codes by keys
};

/// The hashes of the loaded records in scan order: 8 bytes each. Thread-safety: any thread after
/// construction.
class LoadedKeys {
 public:
  LoadedKeys(const WorkloadSpec& spec, KeyFormat format, ScanOrder order = ScanOrder::key);

  /// Position of the first loaded key that is not before the key of `hash`; in score order, of the first key
  /// with its score.
  [[nodiscard]] std::size_t find(std::uint64_t hash) const noexcept;
  /// Number of loaded keys that begin with `prefix`; only in key order.
  [[nodiscard]] std::size_t count_prefix(std::string_view prefix) const noexcept;
  /// Whether `left` comes before `right` in a scan.
  [[nodiscard]] bool before(std::uint64_t left, std::uint64_t right) const noexcept;
  /// Whether a scan from `start` may begin with `first`.
  [[nodiscard]] bool begins(std::uint64_t start, std::uint64_t first) const noexcept;
  /// Whether records may be gone: the workload deletes some, or they expire.
  [[nodiscard]] bool gaps_allowed() const noexcept { return gaps_allowed_; }
  [[nodiscard]] std::size_t size() const noexcept { return hashes_.size(); }
  [[nodiscard]] std::uint64_t operator[](std::size_t position) const noexcept { return hashes_[position]; }

 private:
  [[nodiscard]] std::int32_t score(std::uint64_t hash) const noexcept;

  KeyFormat format_;
  ScanOrder order_;
  bool gaps_allowed_;
  std::vector<std::uint64_t> hashes_;
};

/// Why a scan's reply was not right: the first reason, and the records that it is about.
struct ScanFlaw {
  enum class what : std::uint8_t {
    none,
    start,     ///< it does not begin with the record of the start key
    order,     ///< `got` comes behind `other`, which is not below it
    skipped,   ///< `got` comes where the loaded `other` has to come
    too_many,  ///< more records than asked for
    contents,  ///< `got` has a key or a value that mxkv-ycsb did not write
    too_few    ///< it ends before the last loaded record, and before as many as asked for
  };
  what kind = what::none;
  std::uint64_t got = 0;
  std::uint64_t other = 0;
  std::uint32_t records = 0;  ///< records before `got`
};
/// For people. Thread-safety: any thread.
[[nodiscard]] std::string text_of(const ScanFlaw& flaw, KeyFormat format);

/// The state of one scan's reply. Thread-safety: owner only.
class ScanCheck {
 public:
  void begin(const LoadedKeys& loaded, const Operation& scan) noexcept;
  /// The next record of the reply.
  void accept(const LoadedKeys& loaded, const Operation& scan, std::uint64_t key_hash) noexcept;
  /// A record that is wrong in itself.
  void reject(std::uint64_t key_hash = 0) noexcept { note(ScanFlaw::what::contents, key_hash, 0); }
  /// Ends the reply. Returns whether all of it was right. `more_remains`: the server ended the page early and
  /// said so.
  [[nodiscard]] bool finish(const LoadedKeys& loaded, const Operation& scan, bool more_remains) noexcept;

  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }
  [[nodiscard]] bool started() const noexcept { return started_; }
  /// Of the last reply that was finished, until the next begins.
  [[nodiscard]] const ScanFlaw& flaw() const noexcept { return flaw_; }

 private:
  void note(ScanFlaw::what kind, std::uint64_t got, std::uint64_t other) noexcept {
    if (flaw_.kind == ScanFlaw::what::none) {
      flaw_ = {kind, got, other, records_};
    }
  }

  bool started_ = false;
  ScanFlaw flaw_;
  std::uint32_t records_ = 0;
  std::uint64_t last_hash_ = 0;
  std::size_t position_ = 0;  // of the next loaded key to come
};

}  // namespace mxkv::bench
