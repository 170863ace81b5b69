#include "bench/workload/core_workload.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "bench/workload/choosers.hpp"
#include "bench/workload/locked_prefix.hpp"

namespace mxkv::bench {
namespace {

constexpr std::uint64_t kMostRecords = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostRecordBytes = std::uint64_t{512} << 20;
constexpr std::uint64_t kMostScanLength = std::numeric_limits<std::uint32_t>::max() - 1;
constexpr std::uint64_t kMostMultiReadKeys = 1'000'000;
constexpr std::uint64_t kMostBatchLength = 65'536;  // as mxkvd's limits.batch_lines
constexpr std::uint64_t kMostKeyRanges = 1'000'000;
constexpr std::uint64_t kMostTouchS = 2'592'000;  // more would be a date
constexpr double kMostShare = 1e9;
constexpr double kMostParameter = 1e12;     // of a formula; either sign
constexpr double kMostRetryIntervalS = 20;  // below the silence that ends a run

/// Reads the properties of atomic operations on many keys. The length of a prefix depends on the keys, so it
/// is read when they are known.
void read_many_keys(PropertyReader& properties, Mix& mix) {
  mix.locked_scan = properties.real("lockedscanproportion", 0, 0, kMostShare);
  mix.locked_touch = properties.real("lockedtouchproportion", 0, 0, kMostShare);
  mix.batch = properties.real("batchproportion", 0, 0, kMostShare);
  mix.locked_touch_s =
      static_cast<std::uint32_t>(properties.whole("lockedtouchseconds", mix.locked_touch_s, 0, kMostTouchS));
  mix.batch_length =
      static_cast<std::uint32_t>(properties.whole("batchlength", mix.batch_length, 1, kMostBatchLength));
}

/// A Pareto distribution by db_bench's names: <name>_k, <name>_sigma, <name>_theta.
Pareto read_pareto(PropertyReader& properties, const std::string& name, const Pareto& otherwise) {
  return {properties.real(name + "_k", otherwise.k, -kMostParameter, kMostParameter),
          properties.real(name + "_sigma", otherwise.sigma, 1e-9, kMostParameter),
          properties.real(name + "_theta", otherwise.theta, 0, kMostParameter)};
}

/// The parameters of the distribution keyranges, by db_bench's names.
KeyRangeSpec read_key_ranges(PropertyReader& properties) {
  KeyRangeSpec spec;
  spec.a = properties.real("keyrange_dist_a", spec.a, -kMostParameter, kMostParameter);
  spec.b = properties.real("keyrange_dist_b", spec.b, -kMostParameter, kMostParameter);
  spec.c = properties.real("keyrange_dist_c", spec.c, -kMostParameter, kMostParameter);
  spec.d = properties.real("keyrange_dist_d", spec.d, -kMostParameter, kMostParameter);
  spec.ranges = static_cast<std::uint32_t>(properties.whole("keyrange_num", spec.ranges, 1, kMostKeyRanges));
  spec.key_a = properties.real("key_dist_a", spec.key_a, 0, kMostParameter);
  spec.key_b = properties.real("key_dist_b", spec.key_b, 0, kMostParameter);
  return spec;
}

Mix read_mix(PropertyReader& properties) {
  static const std::vector<std::string_view> kDistributions{
      "uniform", "zipfian", "latest", "sequential", "exponential", "hotspot", "keyranges"};
  Mix mix;
  mix.read = properties.real("readproportion", 0.95, 0, kMostShare);
  mix.update = properties.real("updateproportion", 0.05, 0, kMostShare);
  mix.insert = properties.real("insertproportion", 0, 0, kMostShare);
  mix.scan = properties.real("scanproportion", 0, 0, kMostShare);
  mix.multi_read = properties.real("multireadproportion", 0, 0, kMostShare);
  mix.read_modify_write = properties.real("readmodifywriteproportion", 0, 0, kMostShare);
  mix.remove = properties.real("deleteproportion", 0, 0, kMostShare);
  read_many_keys(properties, mix);
  if (mix.read + mix.update + mix.insert + mix.scan + mix.multi_read + mix.locked_scan + mix.locked_touch +
          mix.batch + mix.remove + mix.read_modify_write <=
      0) {
    properties.complain("readproportion", "all proportions are 0: there is nothing to do");
  }
  mix.distribution = static_cast<Distribution>(properties.choice("requestdistribution", kDistributions, 0));
  mix.hotspot_data = properties.real("hotspotdatafraction", mix.hotspot_data, 0, 1);
  mix.hotspot_operations = properties.real("hotspotopnfraction", mix.hotspot_operations, 0, 1);
  mix.exponential_percentile =
      properties.real("exponential.percentile", mix.exponential_percentile, 0.001, 99.999);
  mix.exponential_newest = properties.real("exponential.frac", mix.exponential_newest, 1e-9, 1e9);
  mix.key_ranges = read_key_ranges(properties);
  mix.scan_pareto = read_pareto(properties, "iter", mix.scan_pareto);
  mix.min_scan_length =
      static_cast<std::uint32_t>(properties.whole("minscanlength", mix.min_scan_length, 1, kMostScanLength));
  mix.max_scan_length =
      static_cast<std::uint32_t>(properties.whole("maxscanlength", mix.max_scan_length, 1, kMostScanLength));
  mix.multi_read_keys = static_cast<std::uint32_t>(
      properties.whole("multireadkeys", mix.multi_read_keys, 1, kMostMultiReadKeys));
  mix.scan_lengths = static_cast<ScanLengths>(
      properties.choice("scanlengthdistribution", {"uniform", "zipfian", "pareto"}, 0));
  if (mix.min_scan_length > mix.max_scan_length) {
    properties.complain("minscanlength", std::to_string(mix.min_scan_length) + " is above maxscanlength, " +
                                             std::to_string(mix.max_scan_length));
  }
  return mix;
}

void check_hotspot(PropertyReader& properties, const WorkloadSpec& spec) {
  const std::uint64_t hot = HotspotChooser::hot_of(spec.existing(), spec.mix.hotspot_data);
  if (hot == 0 && spec.mix.hotspot_operations > 0) {
    properties.complain("hotspotdatafraction", "no record is hot, but requests go to hot ones");
  } else if (hot == spec.existing() && spec.mix.hotspot_operations < 1) {
    properties.complain("hotspotdatafraction", "every record is hot, but requests go to cold ones");
  }
}

void check_key_ranges(PropertyReader& properties, const WorkloadSpec& spec) {
  const KeyRangeSpec& ranges = spec.mix.key_ranges;
  if (!spec.ordered) {
    properties.complain(
        "requestdistribution",
        "keyranges needs insertorder=ordered: otherwise neighbouring records are not neighbouring keys");
  }
  if (ranges.ranges > spec.existing()) {
    properties.complain("keyrange_num", std::to_string(ranges.ranges) + " is above the number of records, " +
                                            std::to_string(spec.existing()));
  } else if (!(ranges.sum() > 0)) {
    properties.complain("keyrange_dist_a", "with these parameters every range has the weight 0");
  }
}

void read_records(PropertyReader& properties, WorkloadSpec& spec) {
  spec.record_count = properties.whole("recordcount", spec.record_count, 1, kMostRecords);
  spec.insert_start = properties.whole("insertstart", 0, 0, kMostRecords);
  spec.insert_count = properties.whole("insertcount", 0, 0, kMostRecords);
  if (spec.insert_start >= spec.record_count) {
    properties.complain("insertstart", std::to_string(spec.insert_start) + " is not below recordcount, " +
                                           std::to_string(spec.record_count));
    spec.insert_start = 0;
  } else if (spec.insert_count > spec.record_count - spec.insert_start) {
    properties.complain("insertcount", "insertstart plus insertcount is above recordcount, " +
                                           std::to_string(spec.record_count));
  }
}

/// The time to live in seconds, 0 for none. YCSB's binding for memcached has a name for it, and 2147483647 for none.
std::uint32_t read_ttl(PropertyReader& properties) {
  constexpr std::string_view kYcsbsName = "memcached.objectExpirationTime";
  const bool ycsbs = !properties.is_set("ttl") && properties.is_set(kYcsbsName);
  if (ycsbs && properties.text(kYcsbsName, "") == "2147483647") {
    return 0;
  }
  return static_cast<std::uint32_t>(properties.whole(ycsbs ? kYcsbsName : "ttl", 0, 0, kMostTouchS));
}

/// The sizes of a histogram or of weighted lengths. Nothing where a problem was noted.
std::optional<WeightedSizes> read_weights(PropertyReader& properties, FieldLengths lengths) {
  const bool in_file = lengths == FieldLengths::histogram;
  const std::string_view name = in_file ? "fieldlengthhistogram" : "fieldlengthweights";
  const std::string given = properties.text(name, in_file ? "hist.txt" : "");
  const auto text = in_file ? read_file(given) : runtime::Result<std::string>{given};
  auto weights = !text     ? runtime::Result<WeightedSizes>{text.error()}
                 : in_file ? parse_length_histogram(text.value(), given)
                           : WeightedSizes::parse(text.value(), kMostRecordBytes);
  if (!weights) {
    properties.complain(name, weights.error().message);
    return std::nullopt;
  }
  return std::move(weights).value();
}

FieldSpec read_fields(PropertyReader& properties) {
  FieldSpec fields;
  fields.count = static_cast<std::uint32_t>(properties.whole("fieldcount", fields.count, 1, 1'000'000));
  fields.bytes = properties.whole("fieldlength", fields.bytes, 1, kMostRecordBytes);
  fields.min_bytes = properties.whole("minfieldlength", fields.min_bytes, 1, kMostRecordBytes);
  fields.lengths = static_cast<FieldLengths>(properties.choice(
      "fieldlengthdistribution", {"constant", "uniform", "zipfian", "histogram", "pareto", "weighted"}, 0));
  fields.read_all = properties.truth("readallfields", true);
  fields.write_all = properties.truth("writeallfields", false);
  fields.integrity = properties.truth("dataintegrity", false);
  fields.pareto = read_pareto(properties, "value", fields.pareto);
  const bool between = fields.lengths == FieldLengths::uniform || fields.lengths == FieldLengths::zipfian ||
                       fields.lengths == FieldLengths::pareto;
  if (between && fields.min_bytes > fields.bytes) {
    properties.complain("minfieldlength", std::to_string(fields.min_bytes) + " is above fieldlength, " +
                                              std::to_string(fields.bytes));
    fields.min_bytes = fields.bytes;
  }
  if (fields.integrity && fields.lengths != FieldLengths::constant) {
    properties.complain("dataintegrity", "needs fieldlengthdistribution=constant");
  }
  for (const std::string_view name : {"fieldlengthhistogram", "fieldlengthweights"}) {
    (void)properties.is_set(name);  // marks the property as known, even if it is not used
  }
  if (fields.lengths == FieldLengths::histogram || fields.lengths == FieldLengths::weighted) {
    auto weights = read_weights(properties, fields.lengths);
    fields.lengths = weights ? fields.lengths : FieldLengths::constant;
    fields.weights = std::move(weights).value_or(WeightedSizes{});
  }
  if (fields.count * fields.most_field_bytes() > kMostRecordBytes) {
    properties.complain("fieldcount",
                        "a record may have " + std::to_string(kMostRecordBytes) + " bytes at most");
  }
  return fields;
}

/// "<name>" in lines, as a file of properties has it.
struct Preset {
  std::string_view name;
  std::string_view text;
};

constexpr std::array<Preset, 11> kPresets{{
    {"a", "readproportion=0.5\nupdateproportion=0.5\nrequestdistribution=zipfian\n"},
    {"b", "readproportion=0.95\nupdateproportion=0.05\nrequestdistribution=zipfian\n"},
    {"c", "readproportion=1\nupdateproportion=0\nrequestdistribution=zipfian\n"},
    {"d", "readproportion=0.95\nupdateproportion=0\ninsertproportion=0.05\nrequestdistribution=latest\n"},
    {"e",
     "readproportion=0\nupdateproportion=0\nscanproportion=0.95\ninsertproportion=0.05\n"
     "requestdistribution=zipfian\nmaxscanlength=100\n"},
    {"f",
     "readproportion=0.5\nupdateproportion=0\nreadmodifywriteproportion=0.5\nrequestdistribution=zipfian\n"},
    {"get", "readproportion=1\nupdateproportion=0\nrequestdistribution=uniform\n"},
    {"set", "readproportion=0\nupdateproportion=1\nrequestdistribution=uniform\n"},
    {"scan",
     "readproportion=0\nupdateproportion=0\nscanproportion=1\nrequestdistribution=uniform\n"
     "minscanlength=100\nmaxscanlength=100\n"},
    // db_bench's mixgraph with the parameters of "prefix_dist". Keys have 48 bytes, as there.
    {"mixgraph",
     "readproportion=0.83\nupdateproportion=0.14\nscanproportion=0.03\nrequestdistribution=keyranges\n"
     "insertorder=ordered\nzeropadding=44\nfieldcount=1\nfieldlengthdistribution=pareto\nminfieldlength=10\n"
     "fieldlength=1024\nscanlengthdistribution=pareto\nmaxscanlength=10000\n"},
    {"multiget",
     "readproportion=0\nupdateproportion=0\nmultireadproportion=1\nrequestdistribution=uniform\n"},
}};

constexpr std::string_view kOneKeyspace = "there is only one keyspace";
constexpr std::string_view kOwnReport = "latencies are always reported, by percentiles";
constexpr std::string_view kOtherStore = "it is for another store";

constexpr std::array<UnusedProperty, 25> kUnused{{
    {"core_workload_insertion_keep_going_on_error", "true", "a load always continues after a failed insert"},
    {"table", "usertable", kOneKeyspace},
    {"columnfamily", "", kOneKeyspace},
    {"fieldnameprefix", "field", "fields have the names field0, field1 .."},
    {"readallfieldsbyname", "false", "a whole record is read without naming its fields"},
    {"measurementtype", "hdrhistogram", kOwnReport},
    {"measurement.interval", "op", kOwnReport},
    {"measurement.raw.output_file", "", kOwnReport},
    {"measurement.histogram.verbose", "false", kOwnReport},
    {"measurement.trackjvm", "false", "there is no JVM"},
    {"histogram.buckets", "1000", kOwnReport},
    {"hdrhistogram.percentiles", "95,99", kOwnReport},
    {"hdrhistogram.fileoutput", "false", kOwnReport},
    {"timeseries.granularity", "1000", kOwnReport},
    {"reportlatencyforeacherror", "false", "failures are counted by kind"},
    {"latencytrackederrors", "", "failures are counted by kind"},
    {"exporter", "site.ycsb.measurements.exporter.TextMeasurementsExporter", kOwnReport},
    {"maxscanrate", "0", kOtherStore},
    {"scanoptimelimit", "0", kOtherStore},
    {"discardscannedrecord", "false", kOtherStore},
    {"redis.cluster", "false", "clusters are not supported"},
    {"redis.timeout", "", "a run ends after 30 seconds without a reply"},
    {"redis.password", "", "authentication is not supported"},
    {"sine_mix_rate_interval_milliseconds", "10000", "the rate follows the sine without steps"},
    {"dotransactions", "true", "load or run decides"},
}};

}  // namespace

WorkloadSpec read_core_workload(PropertyReader& properties, bool load) {
  WorkloadSpec spec;
  spec.load = load;
  const std::string workload = properties.text("workload", "CoreWorkload");
  if (workload.substr(workload.rfind('.') + 1) != "CoreWorkload") {
    properties.complain("workload",
                        "'" + workload + "' does not exist here, only site.ycsb.workloads.CoreWorkload");
  }
  read_records(properties, spec);
  spec.operation_count = properties.whole("operationcount", spec.operation_count, 0, kMostRecords);
  spec.mix = read_mix(properties);
  if (spec.mix.distribution == Distribution::hotspot) {
    check_hotspot(properties, spec);
  }
  spec.zero_padding = properties.whole("zeropadding", spec.zero_padding, 0, KeyFormat::kMaxPadding);
  spec.ordered = properties.choice("insertorder", {"hashed", "ordered"}, 0) == 1;
  if (spec.mix.distribution == Distribution::key_ranges) {
    check_key_ranges(properties, spec);
  }
  spec.ttl_s = read_ttl(properties);
  spec.mix.locked_prefix_bytes =
      properties.whole("lockedprefixbytes", usual_prefix_bytes(spec), 1, KeyFormat::kMaxBytes);
  spec.fields = read_fields(properties);
  spec.insert_retries =
      static_cast<std::uint32_t>(properties.whole("core_workload_insertion_retry_limit", 0, 0, 1'000'000));
  spec.insert_retry_interval_s = properties.real("core_workload_insertion_retry_interval",
                                                 spec.insert_retry_interval_s, 0, kMostRetryIntervalS);
  return spec;
}

std::optional<std::string_view> preset(std::string_view name) noexcept {
  for (const Preset& known : kPresets) {
    if (known.name == name) {
      return known.text;
    }
  }
  return std::nullopt;
}

std::optional<Mix> mix_by_name(std::string_view name) {
  const auto text = preset(name);
  if (!text) {
    return std::nullopt;
  }
  Properties properties;
  (void)properties.parse(*text, std::string(name));
  PropertyReader reader(properties);
  return read_mix(reader);
}

std::string_view property_of_mxkv(const Mix& mix) noexcept {
  if (mix.locked_scan > 0) {
    return "lockedscanproportion";
  }
  if (mix.locked_touch > 0) {
    return "lockedtouchproportion";
  }
  return mix.batch > 0 ? "batchproportion" : "";
}

std::vector<std::string> warn_of_unused(const Properties& properties) {
  std::vector<std::string> warnings;
  for (const UnusedProperty& unused : kUnused) {
    const Properties::Entry* entry = properties.find(unused.name);
    if (entry != nullptr && entry->value != unused.value) {
      warnings.push_back(entry->origin + ": " + std::string(unused.name) +
                         " has no effect: " + std::string(unused.why));
    }
  }
  return warnings;
}

}  // namespace mxkv::bench
