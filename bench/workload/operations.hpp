// The stream of operations one client thread sends: YCSB's CoreWorkload for a mix, or the records to load.
//
// As in YCSB the zipfian ranges over the records that exist plus twice the inserts to be expected, so that
// inserts do not change which records are popular; a record that is not acknowledged yet is drawn again.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "bench/workload/acknowledged_counter.hpp"
#include "bench/workload/spec.hpp"
#include "bench/workload/zipfian.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::bench {

/// One request, as it waits for its reply.
struct Operation {
  OperationKind kind = OperationKind::read;
  std::uint32_t scan_length = 0;
  std::uint64_t record = 0;
  std::uint64_t key_hash = 0;
  std::uint64_t version = 0;  ///< of the value written
  std::uint64_t start_ns = 0;
};

/// What all client threads share. Thread-safety: any thread after construction.
class SharedWorkload {
 public:
  explicit SharedWorkload(const WorkloadSpec& spec)
      : spec_(spec), inserted_(spec.insert_start + spec.existing()), zeta_(zeta_for(spec)) {}

  [[nodiscard]] const WorkloadSpec& spec() const noexcept { return spec_; }
  /// Records beyond those that existed at the start; the client acknowledges its inserts here.
  [[nodiscard]] AcknowledgedCounter& inserted() noexcept { return inserted_; }
  /// Zeta of the existing records, computed once for all threads (only for the latest distribution).
  [[nodiscard]] double zeta() const noexcept { return zeta_; }

 private:
  static double zeta_for(const WorkloadSpec& spec) noexcept;

  WorkloadSpec spec_;
  AcknowledgedCounter inserted_;
  double zeta_;
};

/// Thread-safety: owner only.
class OperationSource {
 public:
  /// The part of thread `index` of `threads`. `shared` must outlive the source.
  OperationSource(SharedWorkload& shared, std::uint32_t index, std::uint32_t threads);

  /// The next operation, or nothing after the last.
  std::optional<Operation> next();
  /// Operations left to hand out; the maximum of the type if only time limits the run.
  [[nodiscard]] std::uint64_t left() const noexcept { return left_; }

 private:
  struct Uniform {
    std::uint64_t first;
    std::uint64_t count;
  };
  using Chooser = std::variant<Uniform, ScrambledZipfian, Zipfian>;

  static Chooser make_chooser(const SharedWorkload& shared);
  std::uint64_t draw();
  std::uint64_t existing_record();
  OperationKind draw_kind();

  SharedWorkload& shared_;
  runtime::Random random_;
  Chooser chooser_;
  std::uint64_t left_ = 0;
  std::uint64_t load_next_ = 0;
  std::uint64_t version_;
};

}  // namespace mxkv::bench
