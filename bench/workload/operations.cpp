#include "bench/workload/operations.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "bench/workload/keys.hpp"
#include "bench/workload/trace.hpp"

namespace mxkv::bench {
namespace {

// No two threads make the same version; 0 is the loaded version.
constexpr unsigned kThreadShift = 48;

/// The number of items of the zipfian that YCSB uses for the latest distribution: one less than there are
/// records.
std::uint64_t items_of_latest(const WorkloadSpec& spec) noexcept {
  return std::max<std::uint64_t>(spec.record_count - 1, 1);
}

/// Records or operations of one thread.
struct Portion {
  std::uint64_t first;
  std::uint64_t count;
};

/// How many scan lengths there are, where zipfian numbers choose among them (their zeta takes time).
std::uint64_t scan_items(const WorkloadSpec& spec) noexcept {
  const Mix& mix = spec.mix;
  return mix.scan_lengths == ScanLengths::zipfian ? mix.max_scan_length - mix.min_scan_length + 1 : 1;
}

/// The part `index` of `total` cut into `parts` that differ by one at most.
Portion portion_of(std::uint64_t total, std::uint32_t index, std::uint32_t parts) noexcept {
  const std::uint64_t base = total / parts;
  const std::uint64_t rest = total % parts;
  return {index * base + std::min<std::uint64_t>(index, rest), base + (index < rest ? 1 : 0)};
}

}  // namespace

double SharedWorkload::zeta_for(const WorkloadSpec& spec) noexcept {
  if (spec.load || spec.mix.distribution != Distribution::latest) {
    return 0;
  }
  return Zipfian::zeta(0, items_of_latest(spec));
}

OperationSource::OperationSource(SharedWorkload& shared, std::uint32_t index, std::uint32_t threads)
    : shared_(shared),
      random_(shared.spec().seed * 0x9E3779B97F4A7C15ULL + index),
      shares_(shares_of(shared.spec().mix)),
      chooser_(make_chooser(shared)),
      scan_zipfian_(scan_items(shared.spec())),
      version_(std::uint64_t{index + 1} << kThreadShift) {
  const WorkloadSpec& spec = shared.spec();
  if (spec.replay.trace != nullptr) {
    const std::uint64_t all = spec.replay.trace->size();
    left_ = portion_of(spec.operation_count == 0 ? all : std::min(all, spec.operation_count), index, threads)
                .count;
    trace_next_ = index;
    trace_step_ = threads;
  } else if (spec.load) {
    const Portion portion = portion_of(spec.existing(), index, threads);
    load_next_ = spec.insert_start + portion.first;
    left_ = portion.count;
  } else if (spec.operation_count == 0) {
    left_ = std::numeric_limits<std::uint64_t>::max();
  } else {
    left_ = portion_of(spec.operation_count, index, threads).count;
  }
}

OperationSource::Chooser OperationSource::make_chooser(SharedWorkload& shared) {
  const WorkloadSpec& spec = shared.spec();
  const Mix& mix = spec.mix;
  const std::uint64_t existing = spec.existing();
  switch (mix.distribution) {
    case Distribution::uniform:
      break;
    case Distribution::latest:
      return spec.load ? Zipfian(2) : Zipfian(items_of_latest(spec), shared.zeta());
    case Distribution::sequential:
      return SequentialChooser(spec.insert_start, existing, shared.sequence());
    case Distribution::exponential:
      return ExponentialChooser(mix.exponential_percentile,
                                static_cast<double>(spec.record_count) * mix.exponential_newest);
    case Distribution::hotspot:
      return HotspotChooser(spec.insert_start, existing, mix.hotspot_data, mix.hotspot_operations);
    case Distribution::key_ranges:
      return KeyRangeChooser(spec.insert_start, existing, mix.key_ranges);
    case Distribution::zipfian: {
      const auto expected_inserts =
          static_cast<std::uint64_t>(static_cast<double>(spec.operation_count) * mix.insert * 2.0);
      // YCSB gives the closed range's end, hence the one more.
      return ScrambledZipfian(spec.insert_start, existing + expected_inserts + 1);
    }
  }
  return UniformChooser(spec.insert_start, existing);
}

std::optional<std::uint64_t> OperationSource::draw() {
  const std::uint64_t newest = shared_.inserted().end() - 1;
  struct Draw {
    runtime::Random& random;
    std::uint64_t newest;
    std::optional<std::uint64_t> operator()(UniformChooser& chooser) const { return chooser.next(random); }
    std::optional<std::uint64_t> operator()(ScrambledZipfian& chooser) const { return chooser.next(random); }
    std::optional<std::uint64_t> operator()(SequentialChooser& chooser) const { return chooser.next(); }
    std::optional<std::uint64_t> operator()(HotspotChooser& chooser) const { return chooser.next(random); }
    std::optional<std::uint64_t> operator()(KeyRangeChooser& chooser) const { return chooser.next(random); }
    std::optional<std::uint64_t> operator()(ExponentialChooser& chooser) const {
      return chooser.next(random, newest);
    }
    std::optional<std::uint64_t> operator()(Zipfian& latest) const {
      const std::uint64_t back = latest.next(random, std::max<std::uint64_t>(newest, 1));
      return newest - std::min(back, newest);
    }
  };
  return std::visit(Draw{random_, newest}, chooser_);
}

std::uint64_t OperationSource::existing_record() {
  for (;;) {
    const std::optional<std::uint64_t> record = draw();
    if (record && *record < shared_.inserted().end()) {
      return *record;
    }
  }
}

std::vector<OperationSource::Share> OperationSource::shares_of(const Mix& mix) {
  std::vector<Share> shares{{OperationKind::read, mix.read},
                            {OperationKind::update, mix.update},
                            {OperationKind::insert, mix.insert},
                            {OperationKind::multi_read, mix.multi_read},
                            {OperationKind::scan, mix.scan},
                            {OperationKind::read_modify_write, mix.read_modify_write},
                            {OperationKind::locked_scan, mix.locked_scan},
                            {OperationKind::locked_touch, mix.locked_touch},
                            {OperationKind::batch, mix.batch},
                            {OperationKind::remove, mix.remove}};
  std::erase_if(shares, [](const Share& share) { return share.part == 0; });
  double sum = 0;
  for (const Share& share : shares) {
    sum += share.part;
  }
  for (Share& share : shares) {
    share.part /= sum;
  }
  return shares;
}

OperationKind OperationSource::draw_kind() {
  double unit = next_unit(random_);
  for (const auto& [kind, part] : shares_) {
    if (unit < part) {
      return kind;
    }
    unit -= part;
  }
  return shares_.empty() ? OperationKind::read : shares_.back().kind;  // rounding may leave a rest
}

std::uint32_t OperationSource::draw_scan_length() {
  const Mix& mix = shared_.spec().mix;
  if (mix.scan_lengths == ScanLengths::pareto) {
    return static_cast<std::uint32_t>(folded_length(mix.scan_pareto.quantile(next_unit(random_)),
                                                    mix.min_scan_length, mix.max_scan_length));
  }
  const std::uint64_t more = mix.scan_lengths == ScanLengths::zipfian
                                 ? scan_zipfian_.next(random_)
                                 : next_below(random_, mix.max_scan_length - mix.min_scan_length + 1);
  return mix.min_scan_length + static_cast<std::uint32_t>(more);
}

std::uint32_t OperationSource::draw_field(bool all) {
  return all ? kAllFields : static_cast<std::uint32_t>(next_below(random_, shared_.spec().fields.count));
}

/// In YCSB's order of draws: scan length, field to read, field to write.
void OperationSource::draw_details(Operation& operation) {
  const FieldSpec& fields = shared_.spec().fields;
  operation.modify = operation.kind == OperationKind::read_modify_write;
  const bool writes = operation.modify || operation.kind == OperationKind::update;
  if (operation.kind == OperationKind::scan || operation.kind == OperationKind::locked_scan) {
    operation.scan_length = draw_scan_length();
  }
  if (operation.modify || operation.kind == OperationKind::read || operation.kind == OperationKind::scan) {
    operation.read_field = draw_field(fields.read_all);
  }
  if (writes) {
    operation.update_field = draw_field(fields.write_all);
    operation.version = ++version_;
  }
  if (operation.kind == OperationKind::batch) {
    operation.version = ++version_;
    batch_.assign(1, shared_.spec().key_number(operation.record));
    while (batch_.size() < shared_.spec().mix.batch_length) {
      batch_.push_back(shared_.spec().key_number(existing_record()));
    }
    operation.batch = batch_;
  }
  if (operation.modify) {
    operation.kind = OperationKind::read;
  }
}

/// A request that stores or counts is an update, in whatever way it does so.
Operation OperationSource::next_of_trace() {
  Operation operation;
  operation.record = trace_next_;
  const TraceRequest& request = (*shared_.spec().replay.trace)[trace_next_];
  trace_next_ += trace_step_;
  operation.value_bytes = request.value_bytes;
  switch (request.action) {
    case TraceAction::get:
    case TraceAction::gets:
      operation.kind = OperationKind::read;
      break;
    case TraceAction::remove:
      operation.kind = OperationKind::remove;
      break;
    case TraceAction::set:
    case TraceAction::add:
    case TraceAction::replace:
    case TraceAction::cas:
    case TraceAction::append:
    case TraceAction::prepend:
    case TraceAction::incr:
    case TraceAction::decr:
      operation.kind = OperationKind::update;
      break;
  }
  return operation;
}

std::optional<Operation> OperationSource::next() {
  if (left_ == 0) {
    return std::nullopt;
  }
  --left_;
  if (shared_.spec().replay.trace != nullptr) {
    return next_of_trace();
  }
  Operation operation;
  if (shared_.spec().load) {
    operation.kind = OperationKind::insert;
    operation.record = load_next_++;
  } else {
    operation.kind = draw_kind();
    operation.record =
        operation.kind == OperationKind::insert ? shared_.inserted().take() : existing_record();
    draw_details(operation);
  }
  operation.key_hash = shared_.spec().key_number(operation.record);
  return operation;
}

}  // namespace mxkv::bench
