// The marks and cas values of items that are made from others.
#include "server/store/item/derived_items.hpp"

#include "tests/unit/server/store/item_maker.hpp"

namespace mxkv::server::test {
namespace {

constexpr std::uint32_t kAllMarks = Item::kStale | Item::kWon | Item::kBinary;

class DerivedItems : public ItemTest {
 protected:
  Owned marked(std::string_view value = "12") {
    return make({.key = "key", .flags = 5, .marks = kAllMarks, .cas_field = true, .cas = 77}, value);
  }
};

TEST_F(DerivedItems, ATouchKeepsMarksAndCas) {
  const Owned old = marked();
  const Owned touched = own(with_expiry(worker(), *old, 1'800'000'000));
  EXPECT_EQ(touched->expiry(), 1'800'000'000U);
  EXPECT_EQ(touched->marks(), kAllMarks);
  EXPECT_EQ(touched->cas(), 77U);
  EXPECT_EQ(touched->flags(), 5U);
  EXPECT_EQ(touched->value(), "12");
}

TEST_F(DerivedItems, ACopyIsTheSame) {
  const Owned old = marked();
  const Owned copy = own(copy_of(worker(), *old));
  EXPECT_EQ(copy->marks(), kAllMarks);
  EXPECT_EQ(copy->cas(), 77U);
  EXPECT_EQ(copy->key(), "key");
  EXPECT_EQ(copy->value(), "12");
  EXPECT_EQ(copy->expiry(), old->expiry());
  EXPECT_EQ(copy->has_expiry_field(), old->has_expiry_field());
}

TEST_F(DerivedItems, AJoinedValueIsNewButItsKeyStaysBinary) {
  const Owned old = marked();
  const Owned more = make({.key = "key"}, "34");
  for (const bool front : {false, true}) {
    const Owned joined =
        own(front ? join_values(worker(), *old, *more, *old) : join_values(worker(), *old, *old, *more));
    joined->set_order(9);
    EXPECT_EQ(joined->value(), front ? "3412" : "1234");
    EXPECT_EQ(joined->marks(), Item::kBinary);
    EXPECT_EQ(joined->cas(), 9U) << "minted anew";
    EXPECT_EQ(joined->flags(), 5U);
  }
  const std::uint64_t chosen = 1234;
  const Owned joined = own(join_values(worker(), *old, *old, *more, &chosen));
  joined->set_order(9);
  EXPECT_EQ(joined->cas(), 1234U);
}

TEST_F(DerivedItems, ACountedNumberKeepsItsMarksAndHasANewCas) {
  const Owned old = marked();
  const Owned counted = own(with_value(worker(), *old, "13"));
  counted->set_order(9);
  EXPECT_EQ(counted->value(), "13");
  EXPECT_EQ(counted->marks(), kAllMarks);
  EXPECT_EQ(counted->cas(), 9U);
  EXPECT_EQ(counted->flags(), 5U);
}

TEST_F(DerivedItems, NewMarksReplaceTheOldOnes) {
  const Owned old = marked();
  const Owned stale = own(with_marks(worker(), *old, 30, Item::kStale, nullptr));
  stale->set_order(9);
  EXPECT_EQ(stale->marks(), Item::kStale);
  EXPECT_EQ(stale->expiry(), 30U);
  EXPECT_EQ(stale->cas(), 9U);
  EXPECT_EQ(stale->value(), "12");
  const std::uint64_t chosen = 1234;
  EXPECT_EQ(own(with_marks(worker(), *old, 0, 0, &chosen))->cas(), 1234U);
}

TEST_F(DerivedItems, AnItemThatWasReadStaysSoUnlessItsValueIsNew) {
  for (const bool read : {false, true}) {
    const Owned old = marked();
    old->set_order(1'700'000'000'000'000);
    if (read) {
      old->note_access(old->order() + 5'000'000);
    }
    EXPECT_EQ(own(with_value(worker(), *old, "13"))->accessed(), read);
    EXPECT_EQ(own(with_marks(worker(), *old, 0, Item::kStale, nullptr))->accessed(), read);
    EXPECT_FALSE(own(join_values(worker(), *old, *old, *old))->accessed());
  }
}

TEST_F(DerivedItems, NumbersMayHaveSpacesBehindThem) {
  std::uint64_t number = 0;
  for (const auto& [text, value] : {std::pair<std::string_view, std::uint64_t>{"0", 0},
                                    {"12  ", 12},
                                    {"18446744073709551615", ~std::uint64_t{0}},
                                    {"007", 7}}) {
    EXPECT_TRUE(read_number(*make({.key = "k"}, text), number)) << text;
    EXPECT_EQ(number, value) << text;
  }
  for (const std::string_view text : {"", " ", " 1", "-1", "+1", "1x", "18446744073709551616", "1 2"}) {
    EXPECT_FALSE(read_number(*make({.key = "k"}, text), number)) << text;
  }
}

}  // namespace
}  // namespace mxkv::server::test
