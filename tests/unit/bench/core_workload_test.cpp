// CoreWorkload's properties: their defaults, their limits, and the workload files.
#include "bench/workload/core_workload.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mxkv::bench {
namespace {

WorkloadSpec spec_of(std::string_view text) {
  Properties properties;
  EXPECT_TRUE(properties.parse(text, "file").ok());
  PropertyReader reader(properties);
  WorkloadSpec spec = read_core_workload(reader, false);
  EXPECT_TRUE(reader.problems().empty()) << reader.problems().front();
  return spec;
}

std::vector<std::string> problems_of(std::string_view text) {
  Properties properties;
  EXPECT_TRUE(properties.parse(text, "file").ok());
  PropertyReader reader(properties);
  (void)read_core_workload(reader, false);
  return reader.problems();
}

TEST(CoreWorkload, HasYcsbsDefaults) {
  const WorkloadSpec spec = spec_of("");
  EXPECT_EQ(spec.mix.read, 0.95);
  EXPECT_EQ(spec.mix.update, 0.05);
  EXPECT_EQ(spec.mix.insert + spec.mix.scan + spec.mix.read_modify_write, 0);
  EXPECT_EQ(spec.mix.locked_scan + spec.mix.locked_touch + spec.mix.batch, 0);
  EXPECT_EQ(spec.mix.distribution, Distribution::uniform);
  EXPECT_EQ(spec.mix.min_scan_length, 1U);
  EXPECT_EQ(spec.mix.max_scan_length, 1000U);
  EXPECT_EQ(spec.mix.scan_lengths, ScanLengths::uniform);
  EXPECT_EQ(spec.fields.count, 10U);
  EXPECT_EQ(spec.fields.bytes, 100U);
  EXPECT_EQ(spec.fields.min_bytes, 1U);
  EXPECT_EQ(spec.fields.lengths, FieldLengths::constant);
  EXPECT_TRUE(spec.fields.read_all);
  EXPECT_FALSE(spec.fields.write_all);
  EXPECT_FALSE(spec.fields.integrity);
  EXPECT_EQ(spec.zero_padding, 1U);
  EXPECT_FALSE(spec.ordered);
}

TEST(CoreWorkload, TakesEveryDistribution) {
  const std::vector<std::pair<std::string, Distribution>> names{
      {"uniform", Distribution::uniform},         {"zipfian", Distribution::zipfian},
      {"latest", Distribution::latest},           {"sequential", Distribution::sequential},
      {"exponential", Distribution::exponential}, {"hotspot", Distribution::hotspot}};
  for (const auto& [name, distribution] : names) {
    EXPECT_EQ(spec_of("requestdistribution=" + name).mix.distribution, distribution);
  }
}

TEST(CoreWorkload, TakesMixgraphByItsShortNameAndDbBenchsParameters) {
  const WorkloadSpec spec = spec_of(preset("mixgraph").value());
  EXPECT_EQ(spec.mix.distribution, Distribution::key_ranges);
  EXPECT_EQ(spec.mix.key_ranges.ranges, 30U);
  EXPECT_EQ(spec.mix.scan_lengths, ScanLengths::pareto);
  EXPECT_EQ(spec.mix.scan_pareto.k, 2.517);
  EXPECT_EQ(spec.mix.scan_pareto.sigma, 14.236);
  EXPECT_EQ(spec.fields.lengths, FieldLengths::pareto);
  EXPECT_EQ(spec.fields.pareto.k, 0.2615);
  EXPECT_EQ(spec.fields.pareto.sigma, 25.45);
  EXPECT_EQ(spec.fields.count * spec.fields.most_field_bytes(), 1024U);
  EXPECT_EQ(spec.zero_padding + KeyFormat::kPrefix.size(), 48U);
  EXPECT_TRUE(spec.ordered);
  EXPECT_FALSE(spec.misses_expected());
  const WorkloadSpec other = spec_of(
      "keyrange_dist_a=1\nkeyrange_dist_b=2\nkeyrange_dist_c=3\nkeyrange_dist_d=4\nkeyrange_num=5\nkey_dist_"
      "a=6\n"
      "key_dist_b=7\nvalue_theta=8\niter_theta=9\n");
  EXPECT_EQ(other.mix.key_ranges.a + other.mix.key_ranges.b + other.mix.key_ranges.c + other.mix.key_ranges.d,
            10);
  EXPECT_EQ(other.mix.key_ranges.ranges, 5U);
  EXPECT_EQ(other.mix.key_ranges.key_a + other.mix.key_ranges.key_b, 13);
  EXPECT_EQ(other.fields.pareto.theta, 8);
  EXPECT_EQ(other.mix.scan_pareto.theta, 9);
}

TEST(CoreWorkload, ExpectsMissesWhereRecordsAreDeletedOrExpire) {
  EXPECT_TRUE(spec_of("deleteproportion=0.1").misses_expected());
  EXPECT_EQ(spec_of("ttl=60").ttl_s, 60U);
  EXPECT_TRUE(spec_of("ttl=60").misses_expected());
  EXPECT_EQ(spec_of("memcached.objectExpirationTime=60").ttl_s, 60U);
  EXPECT_EQ(spec_of("memcached.objectExpirationTime=60\nttl=5").ttl_s, 5U);
  EXPECT_FALSE(spec_of("memcached.objectExpirationTime=2147483647").misses_expected());
}

TEST(CoreWorkload, TakesOperationsOnManyKeys) {
  const WorkloadSpec spec = spec_of(
      "readproportion=0\nupdateproportion=0\nlockedscanproportion=0.5\nlockedtouchproportion=0.25\n"
      "batchproportion=0.125\nlockedtouchseconds=60\nlockedprefixbytes=7\n"
      "batchlength=9\n");
  EXPECT_EQ(spec.mix.locked_scan, 0.5);
  EXPECT_EQ(spec.mix.locked_touch, 0.25);
  EXPECT_EQ(spec.mix.batch, 0.125);
  EXPECT_EQ(spec.mix.locked_touch_s, 60U);
  EXPECT_EQ(spec.mix.locked_prefix_bytes, 7U);
  EXPECT_EQ(spec.mix.batch_length, 9U);
  const WorkloadSpec usual = spec_of("recordcount=1000000\nzeropadding=20");
  EXPECT_EQ(usual.mix.locked_touch_s, 86'400U);
  EXPECT_EQ(usual.mix.locked_prefix_bytes, std::string_view("user01234").size());
  EXPECT_EQ(usual.mix.batch_length, 4U);
}

TEST(CoreWorkload, SaysWhatIsWrongAndWhere) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"workload=site.ycsb.workloads.TimeSeriesWorkload",
       "file:1: workload: 'site.ycsb.workloads.TimeSeriesWorkload' does not exist here, only "
       "site.ycsb.workloads.CoreWorkload"},
      {"requestdistribution=zipf",
       "file:1: requestdistribution: 'zipf' is not one of uniform, zipfian, latest, sequential, exponential, "
       "hotspot, keyranges"},
      {"recordcount=0", "file:1: recordcount: 0 is not within 1 to 1099511627776"},
      {"recordcount=10\ninsertstart=10", "file:2: insertstart: 10 is not below recordcount, 10"},
      {"recordcount=10\ninsertstart=4\ninsertcount=7",
       "file:3: insertcount: insertstart plus insertcount is above recordcount, 10"},
      {"readproportion=0\nupdateproportion=0",
       "file:1: readproportion: all proportions are 0: there is nothing to do"},
      {"insertproportion=-1", "file:1: insertproportion: -1 is not within 0 to 1e+09"},
      {"minscanlength=5\nmaxscanlength=4", "file:1: minscanlength: 5 is above maxscanlength, 4"},
      {"scanlengthdistribution=hotspot",
       "file:1: scanlengthdistribution: 'hotspot' is not one of uniform, zipfian, pareto"},
      {"lockedscanproportion=x", "file:1: lockedscanproportion: 'x' is not a number"},
      {"lockedtouchseconds=2592001", "file:1: lockedtouchseconds: 2592001 is not within 0 to 2592000"},
      {"lockedprefixbytes=0", "file:1: lockedprefixbytes: 0 is not within 1 to 250"},
      {"batchlength=0", "file:1: batchlength: 0 is not within 1 to 65536"},
      {"requestdistribution=keyranges",
       "file:1: requestdistribution: keyranges needs insertorder=ordered: otherwise neighbouring records are "
       "not "
       "neighbouring keys"},
      {"requestdistribution=keyranges\ninsertorder=ordered\nrecordcount=29",
       "keyrange_num: 30 is above the number of records, 29"},
      {"requestdistribution=keyranges\ninsertorder=ordered\nkeyrange_dist_a=-1\nkeyrange_dist_c=0",
       "file:3: keyrange_dist_a: with these parameters every range has the weight 0"},
      {"value_sigma=0", "file:1: value_sigma: 0 is not within 1e-09 to 1e+12"},
      {"iter_k=x", "file:1: iter_k: 'x' is not a number"},
      {"ttl=2592001", "file:1: ttl: 2592001 is not within 0 to 2592000"},
      {"deleteproportion=-1", "file:1: deleteproportion: -1 is not within 0 to 1e+09"},
      {"fieldlengthdistribution=weighted\nfieldlengthweights=100:3,1000",
       "file:2: fieldlengthweights: '1000' is not BYTES:WEIGHT with 1 to 536870912 bytes, as in "
       "100:3,1000:1"},
      {"fieldlengthdistribution=weighted\nfieldlengthweights=100:0",
       "file:2: fieldlengthweights: '100:0' has no weight above 0"},
      {"fieldlengthdistribution=weighted\nfieldlengthweights=100:1,",
       "file:2: fieldlengthweights: '100:1,' ends with a comma"},
      {"insertorder=random", "file:1: insertorder: 'random' is not one of hashed, ordered"},
      {"requestdistribution=hotspot\nhotspotdatafraction=0.0001",
       "file:2: hotspotdatafraction: no record is hot, but requests go to hot ones"},
      {"requestdistribution=hotspot\nhotspotdatafraction=1",
       "file:2: hotspotdatafraction: every record is hot, but requests go to cold ones"},
      {"exponential.percentile=100", "file:1: exponential.percentile: 100 is not within 0.001 to 99.999"},
      {"zeropadding=247", "file:1: zeropadding: 247 is not within 0 to 246"},
      {"fieldcount=1000000\nfieldlength=1000000",
       "file:1: fieldcount: a record may have 536870912 bytes at most"},
      {"minfieldlength=9\nfieldlength=8\nfieldlengthdistribution=uniform",
       "file:1: minfieldlength: 9 is above fieldlength, 8"},
      {"dataintegrity=true\nfieldlengthdistribution=zipfian",
       "file:1: dataintegrity: needs fieldlengthdistribution=constant"},
      {"fieldlengthdistribution=histogram\nfieldlengthhistogram=/nowhere",
       "file:2: fieldlengthhistogram: /nowhere: cannot be read"}};
  for (const auto& [text, problem] : cases) {
    const auto problems = problems_of(text);
    ASSERT_EQ(problems.size(), 1U) << text;
    EXPECT_EQ(problems.front(), problem);
  }
}

TEST(CoreWorkload, WarnsOnceOfWhatHasNoEffectUnlessItIsTheDefault) {
  Properties properties;
  ASSERT_TRUE(properties.parse("table=usertable\nmeasurementtype=raw\ntable=other\nfoo=1", "file").ok());
  const auto warnings = warn_of_unused(properties);
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(warnings[0], "file:3: table has no effect: there is only one keyspace");
  EXPECT_EQ(warnings[1],
            "file:2: measurementtype has no effect: latencies are always reported, by percentiles");
  ASSERT_EQ(properties.unknown().size(), 1U);
  EXPECT_EQ(properties.unknown()[0].first, "foo");
}

TEST(CoreWorkload, ReadsTheWorkloadFilesAndPresetsAreThese) {
  for (const char letter : {'a', 'b', 'c', 'd', 'e', 'f'}) {
    Properties properties;
    const std::string file = std::string(MXKV_WORKLOAD_FILES) + "/workload" + letter;
    ASSERT_TRUE(properties.load(file).ok()) << file;
    PropertyReader reader(properties);
    const WorkloadSpec spec = read_core_workload(reader, false);
    EXPECT_TRUE(reader.problems().empty()) << reader.problems().front();
    EXPECT_TRUE(warn_of_unused(properties).empty()) << file;
    EXPECT_TRUE(properties.unknown().empty()) << file;
    EXPECT_EQ(spec.record_count, 1000U);
    EXPECT_EQ(spec.operation_count, 1000U);
    const Mix preset_mix = mix_by_name(std::string(1, letter)).value();
    EXPECT_EQ(spec.mix.read, preset_mix.read) << file;
    EXPECT_EQ(spec.mix.update, preset_mix.update) << file;
    EXPECT_EQ(spec.mix.insert, preset_mix.insert) << file;
    EXPECT_EQ(spec.mix.scan, preset_mix.scan) << file;
    EXPECT_EQ(spec.mix.read_modify_write, preset_mix.read_modify_write) << file;
    EXPECT_EQ(spec.mix.distribution, preset_mix.distribution) << file;
    EXPECT_EQ(spec.mix.min_scan_length, preset_mix.min_scan_length) << file;
    EXPECT_EQ(spec.mix.max_scan_length, preset_mix.max_scan_length) << file;
  }
}

TEST(CoreWorkload, PresetsAreRightInThemselves) {
  for (const char* name : {"a", "b", "c", "d", "e", "f", "get", "set", "scan"}) {
    const auto text = preset(name);
    ASSERT_TRUE(text) << name;
    EXPECT_TRUE(problems_of(*text).empty()) << name;
    const Mix mix = spec_of(*text).mix;
    EXPECT_DOUBLE_EQ(mix.read + mix.update + mix.insert + mix.scan + mix.read_modify_write, 1) << name;
  }
  EXPECT_FALSE(preset("g"));
}

}  // namespace
}  // namespace mxkv::bench
