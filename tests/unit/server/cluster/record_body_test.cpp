// Bodies of groups: written bodies can be read back. Any other bytes are rejected with the reason, and no byte outside
// them is read.
#include "server/cluster/record_body.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "runtime/base/random.hpp"

namespace mxkv::server {
namespace {

const std::array<std::string_view, 3> kPieces{"one", "", "two three"};

struct Written {
  std::string body;
  std::vector<Record> records;
  std::vector<std::string> apart;
  std::vector<std::size_t> ends;
};

template <class R>
void add(Written& to, const R& record, std::span<const std::string_view> apart = {}) {
  RecordBody::add_record(to.body, record, apart);
  to.records.emplace_back(record);
  to.apart.emplace_back();
  for (const std::string_view piece : apart) {
    to.apart.back().append(piece);
  }
  to.ends.push_back(to.body.size());
}

Written some_of_each() {
  Written all;
  add(all, PutRecord{.order = 1, .key = "key", .value = "value"});
  PutRecord full{.order = kMostOrder, .key = "k", .value = "v", .cas = 78, .flags = 1, .expiry = 2};
  full.has_cas = true;
  full.marks = 7;
  full.access = 2047;
  add(all, full);
  add(all, PutRecord{.order = 12, .key = "large", .apart_bytes = 12, .expiry = 1}, kPieces);
  add(all, GoneRecord{3, "evicted", gone_reason::evicted});
  add(all, GoneRecord{4, "gone", gone_reason::deleted});
  add(all, TouchRecord{5, "touched", 9});
  add(all, RangeGoneRecord{6, {.from = "a", .to = "b", .from_is_open = true, .to_is_open = true}, 12});
  add(all, RangeTouchRecord{7, {.has_no_end = true}, 12, 13, 14});
  add(all, FlushRecord{8});
  add(all, FlushAtRecord{9, 10, 11});
  return all;
}

/// Bytes in an allocation of their own, so that a sanitizer sees an overrun.
class Own {
 public:
  explicit Own(std::string_view of) : bytes_(of.begin(), of.end()) { bytes_.shrink_to_fit(); }
  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), bytes_.size()}; }

 private:
  std::vector<char> bytes_;
};

TEST(RecordBody, ComesBackAsItWasWritten) {
  const Written all = some_of_each();
  RecordBodyReader reader{all.body};
  std::string again;
  for (std::size_t i = 0; i < all.records.size(); ++i) {
    const auto entry = reader.next();
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->record, all.records[i]);
    EXPECT_EQ(entry->apart, all.apart[i]);
    EXPECT_EQ(reader.position(), all.ends[i]);
    RecordBody::add(again, entry->bytes, std::array{entry->apart});
  }
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.wrong(), nullptr);
  EXPECT_TRUE(reader.at_end());
  EXPECT_EQ(again, all.body);
}

TEST(RecordBody, OfOneVersionStaysTheSameBytes) {
  std::string body;
  RecordBody::add_record(body, GoneRecord{3, "key"});
  RecordBody::add(body, "record", kPieces);
  EXPECT_EQ(body, (std::string{"\x0F\0\0\0\0\0\0\0\2\0\3\0\3\0\0\0\0\0\0\0key", 23} +
                   std::string{"\6\0\0\0\x0C\0\0\0recordonetwo three", 26}));
}

TEST(RecordBody, SaysWhereItIsCut) {
  const Written all = some_of_each();
  for (std::size_t length = 0; length <= all.body.size(); ++length) {
    const Own cut{std::string_view{all.body}.substr(0, length)};
    RecordBodyReader reader{cut.view()};
    std::size_t read = 0;
    while (reader.next()) {
      ++read;
    }
    const std::size_t whole = read == 0 ? 0 : all.ends[read - 1];
    EXPECT_LE(whole, length);
    EXPECT_GT(read == all.ends.size() ? length + 1 : all.ends[read], length)
        << "no entry that is whole is missed";
    EXPECT_EQ(reader.position(), whole);
    EXPECT_EQ(reader.wrong() == nullptr, whole == length) << length;
    EXPECT_FALSE(reader.next()) << "what is wrong stays so";
  }
}

TEST(RecordBody, ReportsInvalidEntries) {
  const auto wrong_of = [](const std::string& body) {
    RecordBodyReader reader{body};
    while (reader.next()) {
    }
    return std::string{reader.wrong() == nullptr ? "" : reader.wrong()};
  };
  std::string two;
  std::string record(encoded_bytes(FlushRecord{1}), '\0');
  write_record(record.data(), FlushRecord{1});
  RecordBody::add(two, record + record);
  EXPECT_EQ(wrong_of(two), "an entry has more than one record");
  std::string none;
  RecordBody::add(none, "");
  EXPECT_EQ(wrong_of(none), "an entry has no record");
  std::string apart;
  RecordBody::add(apart, record, kPieces);
  EXPECT_EQ(wrong_of(apart), "a value apart is not as long as its record says");
  std::string missing;
  RecordBody::add_record(missing, PutRecord{.order = 12, .key = "large", .apart_bytes = 13}, kPieces);
  EXPECT_EQ(wrong_of(missing), "a value apart is not as long as its record says");
  EXPECT_EQ(wrong_of("1234567"), "an entry is cut off");
  EXPECT_EQ(wrong_of(std::string(8, '\xFF')), "an entry is cut off");
}

TEST(RecordBody, AnyBytesAreReadToAnEndOrAreWrong) {
  const Written all = some_of_each();
  runtime::Random random{7};
  std::size_t good = 0;
  std::size_t bad = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string body = all.body;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n) {
      const std::size_t at = random.below(body.size());
      switch (random.below(4)) {
        case 0:
          body.erase(at, 1 + random.below(9));
          break;
        case 1:
          body.insert(at, 1 + random.below(9), static_cast<char>(random.below(256)));
          break;
        default:
          body[at] = static_cast<char>(random.below(256));
      }
    }
    const Own changed{body};
    RecordBodyReader reader{changed.view()};
    std::size_t end = 0;
    while (const auto entry = reader.next()) {
      ASSERT_GT(reader.position(), end);
      end = reader.position();
      ASSERT_GE(entry->bytes.data(), changed.view().data());
      ASSERT_LE(entry->bytes.data() + entry->bytes.size() + entry->apart.size(),
                changed.view().data() + changed.view().size());
    }
    ASSERT_NE(reader.wrong() == nullptr, !reader.at_end());
    (reader.wrong() == nullptr ? good : bad)++;
  }
  EXPECT_GT(good, 100U);
  EXPECT_GT(bad, 100U);
}

TEST(RecordBody, BoundsThatHoldNoKeyAreReported) {
  const auto nothing = [](std::string_view from, bool from_is_open, std::string_view to, bool to_is_open) {
    return holds_nothing({.from = from, .to = to, .from_is_open = from_is_open, .to_is_open = to_is_open});
  };
  EXPECT_FALSE(nothing("b", false, "b", false));
  EXPECT_TRUE(nothing("b", false, "b", true));
  EXPECT_TRUE(nothing("b", true, "b", false));
  EXPECT_TRUE(nothing("c", false, "b", false));
  EXPECT_FALSE(nothing("b", true, "c", true));
  using std::string_view_literals::operator""sv;
  EXPECT_TRUE(nothing("b", true, "b\0"sv, true));
  EXPECT_FALSE(nothing("b", true, "b\0"sv, false));
  EXPECT_FALSE(nothing("b", false, "b\0"sv, true));
  EXPECT_FALSE(holds_nothing({.from = "b", .has_no_end = true}));
}

}  // namespace
}  // namespace mxkv::server
