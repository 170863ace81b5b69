#include "bench/workload/operations.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "bench/workload/keys.hpp"

namespace mxkv::bench {
namespace {

// Versions of one thread never meet those of another; 0 is the loaded one.
constexpr unsigned kThreadShift = 48;

struct Share {
  std::uint64_t first;
  std::uint64_t count;
};

/// The part `index` of `total` cut into `parts` that differ by one at most.
Share share_of(std::uint64_t total, std::uint32_t index, std::uint32_t parts) noexcept {
  const std::uint64_t base = total / parts;
  const std::uint64_t rest = total % parts;
  return {index * base + std::min<std::uint64_t>(index, rest), base + (index < rest ? 1 : 0)};
}

}  // namespace

double SharedWorkload::zeta_for(const WorkloadSpec& spec) noexcept {
  if (spec.load || spec.mix.distribution != Distribution::latest) {
    return 0;
  }
  return Zipfian::zeta(0, std::max<std::uint64_t>(spec.insert_start + spec.existing() - 1, 1));
}

OperationSource::OperationSource(SharedWorkload& shared, std::uint32_t index, std::uint32_t threads)
    : shared_(shared),
      random_(shared.spec().seed * 0x9E3779B97F4A7C15ULL + index),
      chooser_(make_chooser(shared)),
      version_(std::uint64_t{index + 1} << kThreadShift) {
  const WorkloadSpec& spec = shared.spec();
  if (spec.load) {
    const Share share = share_of(spec.existing(), index, threads);
    load_next_ = spec.insert_start + share.first;
    left_ = share.count;
  } else if (spec.operation_count == 0) {
    left_ = std::numeric_limits<std::uint64_t>::max();
  } else {
    left_ = share_of(spec.operation_count, index, threads).count;
  }
}

OperationSource::Chooser OperationSource::make_chooser(const SharedWorkload& shared) {
  const WorkloadSpec& spec = shared.spec();
  const std::uint64_t existing = spec.existing();
  if (spec.load || spec.mix.distribution == Distribution::uniform) {
    return Uniform{spec.insert_start, existing};
  }
  if (spec.mix.distribution == Distribution::latest) {
    return Zipfian(std::max<std::uint64_t>(spec.insert_start + existing - 1, 1), shared.zeta());
  }
  const auto expected_inserts =
      static_cast<std::uint64_t>(static_cast<double>(spec.operation_count) * spec.mix.insert * 2.0);
  // YCSB gives the closed range's end, hence the one more.
  return ScrambledZipfian(spec.insert_start, existing + expected_inserts + 1);
}

std::uint64_t OperationSource::draw() {
  if (auto* uniform = std::get_if<Uniform>(&chooser_)) {
    return uniform->first + random_.below(uniform->count);
  }
  if (auto* scrambled = std::get_if<ScrambledZipfian>(&chooser_)) {
    return scrambled->next(random_);
  }
  const std::uint64_t newest = shared_.inserted().end() - 1;
  const std::uint64_t back = std::get<Zipfian>(chooser_).next(random_, std::max<std::uint64_t>(newest, 1));
  return newest - std::min(back, newest);
}

std::uint64_t OperationSource::existing_record() {
  for (;;) {
    const std::uint64_t record = draw();
    if (record < shared_.inserted().end()) {
      return record;
    }
  }
}

OperationKind OperationSource::draw_kind() {
  const Mix& mix = shared_.spec().mix;
  const std::array<std::pair<double, OperationKind>, kOperationKinds> shares{{
      {mix.read, OperationKind::read},
      {mix.update, OperationKind::update},
      {mix.insert, OperationKind::insert},
      {mix.scan, OperationKind::scan},
  }};
  double unit = next_unit(random_);
  OperationKind last = OperationKind::read;
  for (const auto& [share, kind] : shares) {
    if (share == 0) {
      continue;
    }
    if (unit < share) {
      return kind;
    }
    unit -= share;
    last = kind;  // rounding may leave a rest behind the last share
  }
  return last;
}

std::optional<Operation> OperationSource::next() {
  if (left_ == 0) {
    return std::nullopt;
  }
  --left_;
  Operation operation;
  if (shared_.spec().load) {
    operation.kind = OperationKind::insert;
    operation.record = load_next_++;
  } else {
    operation.kind = draw_kind();
    operation.record =
        operation.kind == OperationKind::insert ? shared_.inserted().take() : existing_record();
    if (operation.kind == OperationKind::scan) {
      const Mix& mix = shared_.spec().mix;
      operation.scan_length =
          mix.min_scan_length +
          static_cast<std::uint32_t>(random_.below(mix.max_scan_length - mix.min_scan_length + 1));
    } else if (operation.kind == OperationKind::update) {
      operation.version = ++version_;
    }
  }
  operation.key_hash = fnv_hash64(operation.record);
  return operation;
}

}  // namespace mxkv::bench
