// The stream of operations one client thread sends: YCSB's CoreWorkload for a mix, the records to load, or the
// requests of a trace.
//
// As in YCSB the zipfian ranges over the existing records plus twice the expected inserts, so that inserts do
// not change which records are popular. A record that is not acknowledged yet is drawn again.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "bench/workload/acknowledged_counter.hpp"
#include "bench/workload/choosers.hpp"
#include "bench/workload/spec.hpp"
#include "bench/workload/zipfian.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::bench {

inline constexpr std::uint32_t kAllFields = std::numeric_limits<std::uint32_t>::max();

/// One request that waits for its reply.
struct Operation {
  OperationKind kind = OperationKind::read;
  bool modify = false;     ///< a half of a read-modify-write: the read that an update follows, or that update
  bool follow_up = false;  ///< the second request of an operation that takes two (a redis scan)
  std::uint32_t scan_length = 0;
  std::uint32_t retries = 0;                ///< how often it was refused and sent again
  std::uint32_t read_field = kAllFields;    ///< the field to read, if fields are kept apart
  std::uint32_t update_field = kAllFields;  ///< the field to write, if fields are kept apart
  std::uint64_t record = 0;
  std::uint64_t key_hash = 0;     ///< the number in the key: of YCSB's hash, or the record's own
  std::uint64_t version = 0;      ///< of the value written
  std::uint32_t value_bytes = 0;  ///< of a trace's request; its number in the trace is `record`
  /// The key_hash of all records of a batch, with the first one again. Valid until the source is asked for
  /// the next operation.
  std::span<const std::uint64_t> batch;
  std::uint64_t start_ns = 0;
  std::uint64_t due_ns = 0;    ///< its due time; for paced runs only
  std::uint64_t begin_ns = 0;  ///< start of the read that the update of a read-modify-write follows
};

/// State that all client threads share. Thread-safety: any thread after construction.
class SharedWorkload {
 public:
  explicit SharedWorkload(const WorkloadSpec& spec)
      : spec_(spec), inserted_(spec.record_count), zeta_(zeta_for(spec)) {}

  [[nodiscard]] const WorkloadSpec& spec() const noexcept { return spec_; }
  /// Records beyond recordcount; the client acknowledges its inserts here.
  [[nodiscard]] AcknowledgedCounter& inserted() noexcept { return inserted_; }
  /// Zeta of the existing records, computed once for all threads (only for the latest distribution).
  [[nodiscard]] double zeta() const noexcept { return zeta_; }
  /// The number of records that the sequential distribution has handed out.
  [[nodiscard]] std::atomic<std::uint64_t>& sequence() noexcept { return sequence_; }

 private:
  static double zeta_for(const WorkloadSpec& spec) noexcept;

  WorkloadSpec spec_;
  AcknowledgedCounter inserted_;
  double zeta_;
  std::atomic<std::uint64_t> sequence_{0};
};

/// Thread-safety: owner only.
class OperationSource {
 public:
  /// The operations of thread `index` of `threads`. `shared` must outlive the source.
  OperationSource(SharedWorkload& shared, std::uint32_t index, std::uint32_t threads);

  /// The next operation, or nothing after the last. A read-modify-write comes as its read, marked `modify`.
  std::optional<Operation> next();
  /// Operations left to hand out; the maximum of the type if only time limits the run.
  [[nodiscard]] std::uint64_t left() const noexcept { return left_; }

 private:
  using Chooser = std::variant<UniformChooser, ScrambledZipfian, Zipfian, SequentialChooser,
                               ExponentialChooser, HotspotChooser, KeyRangeChooser>;

  /// One kind of operation and its part of all, the parts adding up to 1.
  struct Share {
    OperationKind kind;
    double part;
  };

  static Chooser make_chooser(SharedWorkload& shared);
  static std::vector<Share> shares_of(const Mix& mix);
  std::optional<std::uint64_t> draw();
  std::uint64_t existing_record();
  OperationKind draw_kind();
  std::uint32_t draw_scan_length();
  std::uint32_t draw_field(bool all);
  Operation next_of_trace();
  void draw_details(Operation& operation);

  SharedWorkload& shared_;
  runtime::Random random_;
  std::vector<Share> shares_;         // without empty shares
  std::vector<std::uint64_t> batch_;  // of the last operation, if it was a batch
  Chooser chooser_;
  Zipfian scan_zipfian_;
  std::uint64_t left_ = 0;
  std::uint64_t load_next_ = 0;
  std::uint64_t trace_next_ = 0;  // the number of this thread's next request ..
  std::uint64_t trace_step_ = 1;  // .. and how many further on the one behind it is: threads take turns
  std::uint64_t version_;
};

}  // namespace mxkv::bench
