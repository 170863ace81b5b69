// Changes by clients go to the logs, and changes from a log do not, however the two are mixed.
#include "server/cluster/shard_feed.hpp"

#include <gtest/gtest.h>

#include "tests/sanitized.hpp"
#include "tests/unit/server/cluster/fed_store.hpp"
#include "tests/unit/server/cluster/some_change.hpp"

namespace mxkv::server::testing {
namespace {

/// The items whose keys begin with the letter `first` or a later one.
ItemsSeen from_letter(const ItemsSeen& items, char first) {
  ItemsSeen kept;
  for (const auto& [key, item] : items) {
    if (key[0] >= first) {
      kept.emplace(key, item);
    }
  }
  return kept;
}

struct KeyOfRecord {
  template <class R>
  std::string operator()(const R& record) const {
    if constexpr (requires { record.key; }) {
      return std::string{record.key};
    } else if constexpr (requires { record.bounds; }) {
      return std::string{record.bounds.from};
    } else {
      return "";
    }
  }
};

TEST(ShardFeed, ReportsChangesOfClientsAndNotAppliedOnes) {
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 8U : 40U); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    runtime::Random random{seed};
    FedStore other{1, seed};            // owns keys from a to c
    FedStore node{1 + seed % 4, seed};  // follows these, and owns others
    FedStore third{2, seed};            // follows the node
    std::size_t applied = 0;
    std::size_t told = 0;
    for (int i = 0; i < 150; ++i) {
      other.store.ask(some_change(random));
      const std::string group = other.take_group();
      applied += group.empty() ? 0U : 1U;
      bool is_applied = false;
      node.store.ask(some_change(random, "xyz"), [&] {
        if (!is_applied && random.below(3) == 0) {
          is_applied = true;
          node.memory.apply(0, group);
        }
      });
      if (!is_applied) {
        node.memory.apply(0, group);
      }
      const std::string body = node.take_group();
      RecordBodyReader reader{body};
      while (const auto entry = reader.next()) {
        ++told;
        EXPECT_GE(std::visit(KeyOfRecord{}, entry->record), "x");
      }
      third.memory.apply(1, body);
    }
    node.settle();
    third.settle();
    const ItemsSeen items = node.store.items();
    EXPECT_EQ(recorded_of(third.store.items()), recorded_of(from_letter(items, 'x'))) << "all of it is told";
    EXPECT_EQ(recorded_of(other.store.items()).size() + third.store.items().size(), items.size());
    EXPECT_GT(applied, 60U);
    EXPECT_GT(told, 60U);
  }
}

}  // namespace
}  // namespace mxkv::server::testing
