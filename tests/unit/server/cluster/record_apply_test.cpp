// Followers and backups have the same result as recovery for all pairs of records (record_effect_test.cpp).
#include <gtest/gtest.h>

#include <string>

#include "server/cluster/shard_copy.hpp"
#include "tests/unit/server/cluster/fed_store.hpp"
#include "tests/unit/server/durability/record_pairs.hpp"

namespace mxkv::server::testing {
namespace {

std::string body_of(const RecordedChange& change, std::string_view key) {
  std::string body;
  as_record(change, key, [&](const auto& record) { RecordBody::add_record(body, record); });
  return body;
}

std::string base_of(const RecordPair& pair, std::string_view key) {
  return pair.base ? body_of({.order = pair.base->order, .expiry = pair.base->expiry}, key) : std::string{};
}

void apply_body(CopiedItems& items, const std::string& body) {
  RecordBodyReader reader{body};
  while (const std::optional<BodyEntry> entry = reader.next()) {
    items.apply(*entry);
  }
  ASSERT_EQ(reader.wrong(), nullptr);
}

TEST(RecordApply, ABackupHasTheLatestItemAlsoWhenALogIsReadAgain) {
  for (const RecordPair& pair : record_pairs(true)) {
    CopiedItems items;
    apply_body(items, base_of(pair, "k"));
    for (int again = 0; again < 2; ++again) {
      apply_body(items, body_of(pair.changes[0], "k") + body_of(pair.changes[1], "k"));
      const auto at = items.all().find("k");
      const auto item = at == items.all().end()
                            ? std::nullopt
                            : std::optional{RecordedItem{at->second.order, at->second.expiry}};
      ASSERT_EQ(item, expected_of(pair)) << pair;
    }
  }
}

// Each pair has a key of its own, so that all of them share one store.
TEST(RecordApply, AFollowerHasTheLatestItemWhateverTheOrderInAGroup) {
  const std::vector<RecordPair> pairs = record_pairs(false);
  for (const bool reversed : {false, true}) {
    FedStore follower{2};
    const auto key_of = [](std::size_t number) { return "k" + std::to_string(number); };
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      follower.memory.apply(0, base_of(pairs[i], key_of(i)));
    }
    for (int again = 0; again < 2; ++again) {
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const std::string first = body_of(pairs[i].changes[0], key_of(i));
        const std::string second = body_of(pairs[i].changes[1], key_of(i));
        follower.memory.apply(0, reversed ? second + first : first + second);
      }
      follower.settle();
      ItemsSeen items = follower.store.items();
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const auto at = items.find(key_of(i));
        const auto item =
            at == items.end() ? std::nullopt : std::optional{RecordedItem{at->second.cas, at->second.expiry}};
        ASSERT_EQ(item, expected_of(pairs[i])) << pairs[i];
      }
    }
  }
}

}  // namespace
}  // namespace mxkv::server::testing
