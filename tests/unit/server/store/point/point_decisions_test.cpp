// The decisions of requests for one key about the present item: tables of commands, states and decisions;
// which client wins an item, and the effect of T, N and R on its time to live (protocol rules 17-35).
#include "server/store/point/point_decisions.hpp"

#include <array>
#include <initializer_list>
#include <string>

#include "tests/unit/protocol/parsed_line.hpp"
#include "tests/unit/server/store/item_maker.hpp"

namespace mxkv::server::test {
namespace {

constexpr std::uint64_t kNow = 1'700'000'000;
constexpr std::uint64_t kNowUs = kNow * 1'000'000;

protocol::MetaFlags flags_of(const std::string& flags) {
  const protocol::ParsedLine line("mg k " + flags + "\r\n");
  EXPECT_TRUE(line.accepted()) << flags;
  return line->meta;
}

class PointDecisions : public ItemTest {
 protected:
  bool wins_with(const std::string& flags, std::uint32_t expiry, std::uint32_t marks) {
    return grants_recache(*make({.key = "k", .expiry = expiry, .marks = marks}, "v"), flags_of(flags),
                          {kNowUs, clock_});
  }

  const runtime::ManualClock clock_{kNowUs};
};

TEST_F(PointDecisions, AStaleItemIsWonOnce) {
  for (const std::string flags : {"v", "q", "R30", "u", "T30"}) {
    EXPECT_TRUE(wins_with(flags, 0, Item::kStale)) << flags;
    EXPECT_FALSE(wins_with(flags, 0, Item::kStale | Item::kWon)) << flags;
  }
  EXPECT_FALSE(wins_with("v", 0, 0));
  EXPECT_FALSE(wins_with("v", 0, Item::kBinary));
}

TEST_F(PointDecisions, RecacheWinsBelowItsTimeAlone) {
  constexpr std::uint32_t in_30_s = kNow + 30;
  EXPECT_TRUE(wins_with("R31", in_30_s, 0));
  EXPECT_FALSE(wins_with("R30", in_30_s, 0));
  EXPECT_FALSE(wins_with("R29", in_30_s, 0));
  EXPECT_FALSE(wins_with("R31", in_30_s, Item::kWon));
  EXPECT_FALSE(wins_with("R31", 0, 0)) << "for ever is never too little";
  EXPECT_FALSE(wins_with("R0", in_30_s, 0));
  EXPECT_FALSE(wins_with("R-1", in_30_s, 0));
}

TEST_F(PointDecisions, ATouchCountsBeforeRecacheOnly) {
  constexpr std::uint32_t in_30_s = kNow + 30;
  EXPECT_FALSE(wins_with("T100 R60", in_30_s, 0));
  EXPECT_TRUE(wins_with("R60 T100", in_30_s, 0));
  EXPECT_TRUE(wins_with("T10 R60", kNow + 1000, 0));
  EXPECT_FALSE(wins_with("R60 T10", kNow + 1000, 0));
}

TEST_F(PointDecisions, ExpiryFollowsTheOrderSent) {
  EXPECT_EQ(expiry_after(flags_of("v"), 7, false, {kNowUs, clock_}), 7U);
  EXPECT_EQ(expiry_after(flags_of("T10"), 7, false, {kNowUs, clock_}), kNow + 10);
  EXPECT_EQ(expiry_after(flags_of("N20"), 7, false, {kNowUs, clock_}), 7U);
  EXPECT_EQ(expiry_after(flags_of("T10 N20"), 0, true, {kNowUs, clock_}), kNow + 20);
  EXPECT_EQ(expiry_after(flags_of("N20 T10"), 0, true, {kNowUs, clock_}), kNow + 10);
  EXPECT_EQ(expiry_after(flags_of("T-1"), 7, false, {kNowUs, clock_}), 1U);
  EXPECT_EQ(expiry_after(flags_of("T0"), 7, false, {kNowUs, clock_}), 0U);
}

// --- Tables ---

/// The possible states of an entry.
constexpr std::array kStates{"nothing", "expired", "text", "number", "cas 5", "ends", "stale", "won"};

const char* text_of(entry_fate fate) {
  constexpr std::array kNames{"stays", "replaced", "removed", "in place"};
  return kNames[static_cast<std::size_t>(fate)];
}
const char* text_of(item_source source) {
  constexpr std::array kNames{"none",   "sent",        "stale copy", "appended", "prepended",
                              "number", "old version", "old value",  "empty"};
  return kNames[static_cast<std::size_t>(source)];
}
const char* name_of(point_result result) {
  constexpr std::array kNames{"done",    "stored", "NS",     "EX",        "NF",        "deleted",
                              "touched", "value",  "number", "no number", "no memory", "too large"};
  return kNames[static_cast<std::size_t>(result)];
}

std::string describe(const PointDecision& decision) {
  std::string text = std::string{name_of(decision.result)} + ", " + text_of(decision.fate);
  if (decision.source != item_source::none) {
    text += std::string{", "} + text_of(decision.source);
  }
  text += decision.source == item_source::number ? " " + std::to_string(decision.number) : "";
  text += decision.wins ? ", wins" : "";
  text += decision.makes ? ", makes" : "";
  return text;
}

class PointDecisionTable : public PointDecisions {
 protected:
  Owned found_in(const std::string& state) {
    if (state == "number") {
      return make({.key = "k"}, "41");
    }
    if (state == "cas 5") {
      return make({.key = "k", .cas_field = true, .cas = 5}, "old");
    }
    if (state == "ends") {
      return make({.key = "k", .expiry = kNow + 30}, "old");
    }
    const std::uint32_t marks = state == "stale" ? Item::kStale
                                : state == "won" ? Item::kStale | Item::kWon
                                                 : 0;
    return make({.key = "k", .marks = marks}, "old");
  }

  PointDecision decided(const std::string& line, const std::string& state, std::uint64_t value_limit = 100) {
    const protocol::ParsedLine parsed(line + "\r\n");
    EXPECT_TRUE(parsed.accepted()) << line;
    const protocol::PointRequest request = protocol::point_request(*parsed.operator->());
    const Owned sent = make({.key = "k"}, "new");
    const Owned old = found_in(state);
    const FoundItem found{state == "nothing" ? nullptr : &*old, state != "nothing" && state != "expired"};
    return request.terms.action == protocol::point_action::store
               ? decide_store(request, found, *sent, {value_limit})
               : decide_change(request, found, {kNowUs, clock_});
  }
  std::string outcome(const std::string& line, const std::string& state) {
    return describe(decided(line, state));
  }
};

TEST_F(PointDecisionTable, StoringDependsOnTheItemFound) {
  struct Row {
    const char* line;
    const char* absent;
    const char* present;
  };
  for (const auto& [line, absent, present] : {
           Row{"set k 0 0 3", "stored, replaced, sent", "stored, replaced, sent"},
           Row{"add k 0 0 3", "stored, replaced, sent", "NS, stays"},
           Row{"replace k 0 0 3", "NS, stays", "stored, replaced, sent"},
           Row{"append k 0 0 3", "NS, stays", "stored, replaced, appended"},
           Row{"prepend k 0 0 3", "NS, stays", "stored, replaced, prepended"},
           Row{"cas k 0 0 3 7", "NF, stays", "EX, stays"},
           Row{"ms k 3 MA N30", "stored, replaced, sent", "stored, replaced, appended"},
           Row{"ms k 3 ME C7", "stored, replaced, sent", "NS, stays"},
           Row{"ms k 3 MR C7", "NF, stays", "EX, stays"},
           Row{"ms k 3 MA C7", "NS, stays", "EX, stays"},
       }) {
    for (const std::string state : {"nothing", "expired"}) {
      EXPECT_EQ(outcome(line, state), absent) << line << " on " << state;
    }
    for (const std::string state : {"text", "number", "ends", "stale", "won"}) {
      EXPECT_EQ(outcome(line, state), present) << line << " on " << state;
    }
  }
}

TEST_F(PointDecisionTable, ACasIsCompared) {
  EXPECT_EQ(outcome("cas k 0 0 3 5", "cas 5"), "stored, replaced, sent");
  EXPECT_EQ(outcome("cas k 0 0 3 6", "cas 5"), "EX, stays");
  EXPECT_EQ(outcome("ms k 3 C4 I", "cas 5"), "stored, replaced, stale copy") << "made from an older one";
  EXPECT_EQ(outcome("ms k 3 C6 I", "cas 5"), "EX, stays");
  EXPECT_EQ(outcome("ms k 3 C4 I MA", "cas 5"), "EX, stays");
  EXPECT_EQ(outcome("md k C4", "cas 5"), "EX, stays");
  EXPECT_EQ(outcome("md k C5", "cas 5"), "deleted, removed");
  EXPECT_EQ(outcome("ma k C4", "cas 5"), "EX, stays") << "before it is looked at whether it is a number";
  EXPECT_EQ(outcome("ma k C5", "cas 5"), "no number, stays");
}

TEST_F(PointDecisionTable, RemovingTakesAnExpiredItemAway) {
  for (const std::string line : {"delete k", "md k", "md k I", "md k x"}) {
    EXPECT_EQ(outcome(line, "nothing"), "NF, stays") << line;
    EXPECT_EQ(outcome(line, "expired"), "NF, removed") << line;
  }
  EXPECT_EQ(outcome("delete k", "text"), "deleted, removed");
  EXPECT_EQ(outcome("md k I", "text"), "deleted, replaced, old value");
  EXPECT_EQ(outcome("md k x", "text"), "deleted, replaced, empty");
  EXPECT_EQ(decided("md k I T10", "ends").expiry, kNow + 10);
  EXPECT_EQ(decided("md k I", "ends").expiry, kNow + 30);
  EXPECT_EQ(decided("md k x", "ends").expiry, 0U);
  EXPECT_EQ(decided("md k I", "won").marks, std::uint32_t{Item::kStale}) << "it is to be won anew";
}

TEST_F(PointDecisionTable, CountingEndsAtTheEdges) {
  EXPECT_EQ(outcome("incr k 1", "number"), "number, replaced, number 42");
  EXPECT_EQ(outcome("decr k 1", "number"), "number, replaced, number 40");
  EXPECT_EQ(outcome("decr k 42", "number"), "number, replaced, number 0");
  EXPECT_EQ(outcome("incr k 18446744073709551615", "number"), "number, replaced, number 40");
  EXPECT_EQ(outcome("incr k 1", "text"), "no number, stays");
  EXPECT_EQ(outcome("incr k 1", "expired"), "NF, stays");
  EXPECT_EQ(outcome("ma k N0 J7", "expired"), "number, replaced, number 7, makes");
  EXPECT_EQ(decided("ma k N20", "nothing").expiry, kNow + 20);
  EXPECT_EQ(decided("ma k N20 T10", "number").expiry, kNow + 10);
}

TEST_F(PointDecisionTable, ATouchChangesAnItemInPlaceWhereItHasRoom) {
  EXPECT_EQ(outcome("touch k 10", "ends"), "touched, in place");
  EXPECT_EQ(outcome("touch k 10", "text"), "touched, replaced, old version");
  EXPECT_EQ(outcome("touch k 0", "text"), "touched, stays");
  EXPECT_EQ(outcome("touch k 30", "ends"), "touched, stays");
  EXPECT_EQ(outcome("touch k 10", "expired"), "NF, stays");
  EXPECT_EQ(outcome("gat 10 k", "ends"), "value, in place");
  EXPECT_EQ(decided("touch k -1", "ends").expiry, 1U);
  EXPECT_EQ(outcome("mg k T10", "stale"), "value, replaced, old version, wins");
  EXPECT_EQ(outcome("mg k v", "stale"), "value, in place, wins");
  EXPECT_EQ(outcome("mg k v", "won"), "value, stays");
  EXPECT_EQ(outcome("touch k 0", "stale"), "touched, stays") << "only mg wins";
  EXPECT_EQ(outcome("mg k N0", "nothing"), "value, replaced, empty, wins, makes");
  EXPECT_EQ(outcome("mg k v", "expired"), "NF, stays");
}

TEST_F(PointDecisionTable, JoinedValuesStayBelowTheLimit) {
  for (const std::string line : {"append k 0 0 3", "prepend k 0 0 3", "ms k 3 MA", "ms k 3 MP"}) {
    EXPECT_EQ(decided(line, "text", 6).fate, entry_fate::replaced) << line;
    EXPECT_EQ(decided(line, "text", 5).result, point_result::too_large) << line;
  }
}

TEST_F(PointDecisionTable, AClassicCommandDecidesAsItsMetaFormDoes) {
  struct Pair {
    const char* classic;
    const char* meta;
  };
  for (const auto& [classic, meta] : {
           Pair{"set k 0 0 3", "ms k 3"},
           Pair{"set k 0 0 3", "ms k 3 MS"},
           Pair{"add k 0 0 3", "ms k 3 ME"},
           Pair{"replace k 0 0 3", "ms k 3 MR"},
           Pair{"append k 0 0 3", "ms k 3 MA"},
           Pair{"prepend k 0 0 3", "ms k 3 MP"},
           Pair{"cas k 0 0 3 5", "ms k 3 C5"},
           Pair{"cas k 0 0 3 6", "ms k 3 C6"},
           Pair{"delete k", "md k"},
           Pair{"incr k 3", "ma k D3"},
           Pair{"decr k 50", "ma k MD D50"},
       }) {
    for (const std::string state : kStates) {
      EXPECT_EQ(outcome(classic, state), outcome(meta, state))
          << classic << " and " << meta << " on " << state;
    }
  }
  for (const std::string state : {"nothing", "expired", "text", "number", "cas 5", "ends"}) {
    EXPECT_EQ(outcome("gat 30 k", state), outcome("mg k T30", state)) << state;
    EXPECT_EQ(outcome("gat 10 k", state), outcome("mg k T10", state)) << state;
  }
}

}  // namespace
}  // namespace mxkv::server::test
