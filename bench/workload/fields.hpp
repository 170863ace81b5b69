// The fields of a record: their lengths, their contents, and the check of contents that were read.
//
// A store of plain values keeps a record's fields one behind the other as one value; a store of hashes keeps
// them apart. Contents prove themselves (values.hpp). With YCSB's dataintegrity they are the bytes that YCSB
// itself writes and expects, so that either client can check records that the other loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload/keys.hpp"
#include "bench/workload/pareto.hpp"
#include "bench/workload/weighted_sizes.hpp"
#include "bench/workload/zipfian.hpp"
#include "runtime/base/random.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::bench {

enum class FieldLengths : std::uint8_t { constant, uniform, zipfian, histogram, pareto, weighted };

/// YCSB's histogram of lengths: "BlockSize<TAB>n", then lines "<bucket><TAB><count>" from bucket 0 on.
runtime::Result<WeightedSizes> parse_length_histogram(std::string_view text, const std::string& file);

struct FieldSpec {
  std::uint32_t count = 10;
  FieldLengths lengths = FieldLengths::constant;
  std::size_t min_bytes = 1;        ///< of uniform, zipfian and Pareto lengths
  std::size_t bytes = 100;          ///< the length, or the greatest
  Pareto pareto{0.2615, 25.45, 0};  ///< db_bench's value_k, value_sigma, value_theta
  WeightedSizes weights;            ///< of a histogram and of weighted lengths
  bool integrity = false;           ///< contents as YCSB's dataintegrity has them; lengths are constant
  bool read_all = true;             ///< a read takes all fields, or one
  bool write_all = false;           ///< an update writes all fields, or one

  [[nodiscard]] std::size_t least_field_bytes() const noexcept;
  [[nodiscard]] std::size_t most_field_bytes() const noexcept;
};

/// Draws the lengths of fields. Thread-safety: owner only.
class FieldLengthSource {
 public:
  /// `spec` must outlive the source.
  explicit FieldLengthSource(const FieldSpec& spec) : FieldLengthSource(spec, zipfian_of(spec)) {}
  /// The same with an existing zipfian_of(spec), because its zeta takes time.
  FieldLengthSource(const FieldSpec& spec, const Zipfian& zipfian) : spec_(&spec), zipfian_(zipfian) {}
  static Zipfian zipfian_of(const FieldSpec& spec) noexcept {
    return Zipfian(spec.lengths == FieldLengths::zipfian ? spec.bytes - spec.min_bytes + 1 : 1);
  }
  std::size_t next(runtime::Random& random) noexcept;

 private:
  const FieldSpec* spec_;
  Zipfian zipfian_;
};

/// Writes and checks records. Thread-safety: any thread after construction.
class FieldFormat {
 public:
  FieldFormat(FieldSpec spec, KeyFormat keys);

  [[nodiscard]] const FieldSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return spec_.count; }
  /// The length of every record, if all have the same.
  [[nodiscard]] std::optional<std::size_t> constant_record_bytes() const noexcept;
  [[nodiscard]] std::size_t most_record_bytes() const noexcept {
    return spec_.count * spec_.most_field_bytes();
  }

  /// The length of a record as one value, in this version.
  [[nodiscard]] std::size_t record_bytes(std::uint64_t key_hash, std::uint64_t version) const;
  /// Writes that record, `bytes` long.
  void write_record(std::uint64_t key_hash, std::uint64_t version, char* out, std::size_t bytes) const;
  /// Whether `data` is this record in some version.
  [[nodiscard]] bool record_matches(std::uint64_t key_hash, std::string_view data) const;

  /// The lengths of all fields in this version, in their order.
  [[nodiscard]] std::vector<std::size_t> field_bytes(std::uint64_t key_hash, std::uint64_t version) const;
  void write_field(std::uint64_t key_hash, std::uint64_t version, std::uint32_t field, char* out,
                   std::size_t bytes) const;
  [[nodiscard]] bool field_matches(std::uint64_t key_hash, std::uint32_t field, std::string_view data) const;

 private:
  void write_integrity(std::uint64_t key_hash, std::uint32_t field, char* out, std::size_t bytes) const;

  FieldSpec spec_;
  KeyFormat keys_;
  Zipfian zipfian_;
};

}  // namespace mxkv::bench
