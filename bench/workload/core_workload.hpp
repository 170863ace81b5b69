// YCSB's CoreWorkload by its properties: names, defaults and limits; and the short names of usual workloads.
//
// bench/README.md lists its missing features, and the behaviour in their place.
#pragma once

#include <optional>
#include <string_view>

#include "bench/workload/properties.hpp"
#include "bench/workload/spec.hpp"

namespace mxkv::bench {

/// Reads the workload. Errors are in the reader's problems, and the spec is then useless.
/// Thread-safety: startup only.
WorkloadSpec read_core_workload(PropertyReader& properties, bool load);

/// The properties of a workload by its short name, in .properties format: YCSB's a to f; RocksDB's
/// mixgraph; and get, set, scan, multiget: one kind of operation, uniform, scans of exactly 100.
std::optional<std::string_view> preset(std::string_view name) noexcept;

/// The mix of a preset. Thread-safety: startup only.
std::optional<Mix> mix_by_name(std::string_view name);

/// The property that asks for a kind of operation which mxkv alone has; empty if there is none.
std::string_view property_of_mxkv(const Mix& mix) noexcept;

/// A property of YCSB that changes nothing here.
struct UnusedProperty {
  std::string_view name;
  std::string_view value;  ///< YCSB's default, which needs no warning
  std::string_view why;
};

/// Asks for all properties that are known and unused; returns the warnings. Thread-safety: startup only.
std::vector<std::string> warn_of_unused(const Properties& properties);

}  // namespace mxkv::bench
