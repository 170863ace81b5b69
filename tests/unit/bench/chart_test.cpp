// Axes hold what is drawn over them, and text cannot break out of a page.
#include "bench/report/chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/report/plot_page.hpp"

namespace mxkv::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Axis, LinearReachesOverTheGreatestWithAFewRoundTicks) {
  for (const double most : {0.0, 0.7, 1.0, 9.9, 10.1, 1234.0, 86'300.0, 1e6, 7.3e8}) {
    const Axis axis = linear_axis("", most);
    EXPECT_GE(axis.most, most);
    EXPECT_LE(axis.most, most * 1.5 + 1e-8);
    EXPECT_GE(axis.ticks.size(), 4U) << most;
    EXPECT_LE(axis.ticks.size(), 8U) << most;
    EXPECT_DOUBLE_EQ(axis.ticks.back().at, axis.most);
  }
}

TEST(Axis, OfLatenciesHoldsLeastAndGreatest) {
  for (const auto& [least, most] :
       {std::pair(0.0, 0.0), {1.0, 1.0}, {3.0, 9e6}, {120.0, 180.0}, {999.0, 1001.0}}) {
    const Axis axis = latency_axis("", least, most);
    EXPECT_LE(axis.least, latency_position(least));
    EXPECT_GE(axis.most, latency_position(most));
    EXPECT_LT(axis.least, axis.most);
    EXPECT_GE(axis.ticks.size(), 2U) << least;
    EXPECT_LE(axis.ticks.size(), 14U) << least;
  }
}

TEST(Numbers, AreShort) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(86'300), "86.3k");
  EXPECT_EQ(short_number(1'500'000), "1.50M");
  EXPECT_EQ(short_latency(850), "850 \xC2\xB5s");
  EXPECT_EQ(short_latency(1234), "1.23 ms");
  EXPECT_EQ(short_latency(2e6), "2 s");
}

TEST(Page, EscapesWhatResultsSay) {
  RunResult result;
  result.clients.push_back({"1", "command <b>", "<script>\"&", {}, {}});
  result.tally.of(OperationKind::read).record(Outcome::ok, 1000);
  const std::string page = plot_page(name_results({"a.json"}, {result}));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;&quot;&amp;"));
  EXPECT_THAT(page, HasSubstr("command &lt;b&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
}

TEST(Page, NamesResultsByLabelOrFileSoThatNoTwoAreAlike) {
  RunResult labelled;
  labelled.clients.emplace_back();
  labelled.clients[0].label = "same";
  const auto by_stem = name_results({"x/a.json", "b.json"}, {labelled, labelled});
  EXPECT_EQ(by_stem[0].name, "a");
  const auto by_path = name_results({"x/a.json", "y/a.json"}, {labelled, labelled});
  EXPECT_EQ(by_path[0].name, "x/a.json");
  RunResult other = labelled;
  other.clients[0].label = "other";
  const auto by_label = name_results({"x/a.json", "y/a.json"}, {labelled, other});
  EXPECT_EQ(by_label[1].name, "other");
}

TEST(Page, OfARunWithoutOperationsIsDrawnToo) {
  EXPECT_THAT(plot_page(name_results({"a.json"}, {RunResult()})), HasSubstr("</html>"));
}

}  // namespace
}  // namespace mxkv::bench
