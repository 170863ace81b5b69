// Records and their fields: lengths, contents that prove themselves, and YCSB's own contents.
#include "bench/workload/fields.hpp"

#include <gtest/gtest.h>

#include <string>

#include "bench/workload/java_text.hpp"

namespace mxkv::bench {
namespace {

FieldSpec spec_of(FieldLengths lengths) {
  FieldSpec spec;
  spec.count = 4;
  spec.lengths = lengths;
  spec.min_bytes = 17;
  spec.bytes = 90;
  spec.weights = parse_length_histogram("BlockSize\t10\n0\t5\n1\t0\n2\t3\n3\t1", "file").value();
  return spec;
}

std::string record_of(const FieldFormat& format, std::uint64_t key, std::uint64_t version) {
  std::string record(format.record_bytes(key, version), '\0');
  format.write_record(key, version, record.data(), record.size());
  return record;
}

std::string field_of(const FieldFormat& format, std::uint64_t key, std::uint64_t version,
                     std::uint32_t field) {
  std::string text(format.field_bytes(key, version).at(field), '\0');
  format.write_field(key, version, field, text.data(), text.size());
  return text;
}

TEST(JavaHash, IsThatOfTheLanguagesSpecification) {
  EXPECT_EQ(java_hash(""), 0);
  EXPECT_EQ(java_hash("a"), 97);
  EXPECT_EQ(java_hash("hello"), 99162322);
  EXPECT_EQ(java_hash("polygenelubricants"), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(java_hash("lo", java_hash("hel")), java_hash("hello"));
}

TEST(Fields, RecordsOfEveryLengthDistributionProveThemselves) {
  for (const FieldLengths lengths :
       {FieldLengths::constant, FieldLengths::uniform, FieldLengths::zipfian, FieldLengths::histogram}) {
    const FieldFormat format(spec_of(lengths), KeyFormat(1));
    for (std::uint64_t version = 0; version < 50; ++version) {
      const std::string record = record_of(format, 7, version);
      EXPECT_TRUE(format.record_matches(7, record));
      EXPECT_FALSE(format.record_matches(8, record));
      EXPECT_FALSE(format.record_matches(7, record.substr(0, record.size() - 1)));
      EXPECT_FALSE(format.record_matches(7, record.substr(0, record.size() - 8)));
      EXPECT_LE(record.size(), format.most_record_bytes());
      std::size_t sum = 0;
      for (std::uint32_t field = 0; field < format.count(); ++field) {
        const std::string text = field_of(format, 7, version, field);
        sum += text.size();
        EXPECT_TRUE(format.field_matches(7, field, text));
        EXPECT_FALSE(format.field_matches(8, field, text));
        EXPECT_FALSE(format.field_matches(7, field + 1, text));
        EXPECT_FALSE(format.field_matches(7, field, text + "0"));
      }
      EXPECT_EQ(sum, record.size());
    }
  }
}

TEST(Fields, OfConstantLengthMakeConstantRecords) {
  EXPECT_EQ(FieldFormat(spec_of(FieldLengths::constant), KeyFormat(1)).constant_record_bytes(), 360U);
  EXPECT_FALSE(FieldFormat(spec_of(FieldLengths::uniform), KeyFormat(1)).constant_record_bytes());
}

TEST(Fields, WithIntegrityAreWhatYcsbWrites) {
  FieldSpec spec = spec_of(FieldLengths::constant);
  spec.integrity = true;
  spec.bytes = 60;
  const FieldFormat format(spec, KeyFormat(1));
  const std::string text = field_of(format, 5, 0, 2);
  EXPECT_EQ(text, "user5:field2:91725586:-1778885769:-1294063048:-115285022:-33");
  EXPECT_EQ(text.size(), 60U);
  EXPECT_EQ(field_of(format, 5, 9, 2), text);  // whatever the version
  EXPECT_TRUE(format.field_matches(5, 2, text));
  EXPECT_FALSE(format.field_matches(5, 1, text));
  const std::string record = record_of(format, 5, 0);
  EXPECT_EQ(record.substr(120, 60), text);
  EXPECT_TRUE(format.record_matches(5, record));
  EXPECT_FALSE(format.record_matches(6, record));
  EXPECT_FALSE(format.record_matches(5, record.substr(1)));
}

TEST(LengthHistogram, IsReadFromYcsbsFormat) {
  const auto histogram = parse_length_histogram("BlockSize\t100\n0\t5\r\n1\t0\n2\t3", "file");
  ASSERT_TRUE(histogram.ok());
  EXPECT_EQ(histogram.value().draws(), 8U);
  EXPECT_EQ(histogram.value().bytes_of(0), 100U);
  EXPECT_EQ(histogram.value().bytes_of(5), 100U);  // YCSB's rule takes the bound itself too
  EXPECT_EQ(histogram.value().bytes_of(6), 200U);
  EXPECT_EQ(histogram.value().bytes_of(7), 200U);
  EXPECT_EQ(histogram.value().least_bytes(), 100U);
  EXPECT_EQ(histogram.value().most_bytes(), 200U);
}

TEST(LengthHistogram, WithoutACountInItsLastBucketHasNoMoreDrawsThanCounts) {
  const auto histogram = parse_length_histogram("BlockSize\t100\n0\t5\n1\t0", "file");
  ASSERT_TRUE(histogram.ok());
  EXPECT_EQ(histogram.value().draws(), 5U);
  EXPECT_EQ(histogram.value().bytes_of(4), 100U);
  EXPECT_EQ(histogram.value().most_bytes(), 100U);
}

TEST(LengthHistogram, SaysWhichLineIsWrong) {
  for (const auto& [text, problem] :
       {std::pair{"", "file: has no counts"}, std::pair{"BlockSize\t10\n", "file: has no counts"},
        std::pair{"Blocks\t10\n", "file:1: not BlockSize, a tab, and a number"},
        std::pair{"BlockSize\t0\n", "file:1: not BlockSize, a tab, and a number"},
        std::pair{"BlockSize\t10\n1\t5", "file:2: not bucket 0, a tab, and a count"},
        std::pair{"BlockSize\t10\n0\t5\n1 5", "file:3: not bucket 1, a tab, and a count"},
        std::pair{"BlockSize\t10\n0\t-5", "file:2: not bucket 0, a tab, and a count"}}) {
    const auto histogram = parse_length_histogram(text, "file");
    ASSERT_FALSE(histogram.ok()) << text;
    EXPECT_EQ(histogram.error().message, problem);
  }
}

}  // namespace
}  // namespace mxkv::bench
