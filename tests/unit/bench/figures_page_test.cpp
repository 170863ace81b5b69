// The page of all figures: what becomes of points, and of what a paper says, and what is refused.
#include <gtest/gtest.h>

#include <stdexcept>

#include "bench/figures/figure.hpp"
#include "bench/figures/page.hpp"

namespace mxkv::bench {
namespace {

std::string point(const std::string& series, const std::string& x, double y, const std::string& unit = "ns") {
  return R"({"figure": "f", "series": ")" + series + R"(", "x": )" + x + R"(, "y": )" + std::to_string(y) +
         R"(, "unit": ")" + unit +
         R"(", "parameters": {"rounds": 1}, "machine": {"cpu": "C", "cpus": 2}, "commit": "abc"})";
}

std::string papers(const std::string& fact) {
  return R"([{"figure": "f", "title": "A <figure>", "source": "S", "setting": "T", "facts": [)" + fact +
         "]}]";
}

const char* const kRatio =
    R"({"what": "w", "paper": "1.45", "ours": {"ratio": [["a", "off"], ["b", "off"]], "unit": "ns"}})";

TEST(FiguresPage, ARatioIsOfThePointsInTheUnitThatIsAskedFor) {
  const std::string page = figures_page(
      papers(kRatio), {point("a", "\"off\"", 7, "s"), point("a", "\"off\"", 3), point("b", "\"off\"", 2)});
  EXPECT_NE(page.find("<td>w</td><td>1.45</td><td>1.5</td>"), std::string::npos) << page;
  EXPECT_NE(page.find("A &lt;figure&gt;"), std::string::npos);
}

TEST(FiguresPage, ANumberAsXIsNamedByItsText) {
  const std::string fact = R"({"what": "w", "paper": "p", "ours": {"difference": [["a", "4"], ["a", "1"]]}})";
  const std::string page = figures_page(papers(fact), {point("a", "1.0", 3), point("a", "4", 10)});
  EXPECT_NE(page.find("<td>p</td><td>7</td>"), std::string::npos) << page;
  EXPECT_NE(page.find("<polyline"), std::string::npos) << "numbers are drawn as a line";
}

TEST(FiguresPage, APageOfItsOwnHasItsWordsAndALineAcrossTheBars) {
  const std::string description =
      R"({"title": "Own <title>", "heading": "Own heading", "reference": "sought", "figures": [)"
      R"({"figure": "f", "title": "F", "source": "S", "setting": "T", "line": "floor",)"
      R"( "facts": [{"what": "w", "paper": "1.5", "instead": "1.25"}]}]})";
  const std::string page = figures_page(description, {point("a", "\"x\"", 8), point("floor", "\"x\"", 4)});
  EXPECT_NE(page.find("Own &lt;title&gt;"), std::string::npos) << page;
  EXPECT_NE(page.find("<th>sought</th>"), std::string::npos);
  EXPECT_NE(page.find("<td>w</td><td>1.5</td><td>1.25</td>"), std::string::npos);
  EXPECT_NE(page.find("<title>a: 8</title>"), std::string::npos);
  EXPECT_NE(page.find("<title>floor: 4</title></line>"), std::string::npos);
  EXPECT_EQ(page.find("<title>floor: 4</title></rect>"), std::string::npos) << "the line is no bar too";
}

TEST(FiguresPage, WhatWasNotMeasuredIsSaid) {
  const std::string page = figures_page(papers(kRatio), {});
  EXPECT_NE(page.find("Not measured in this run."), std::string::npos);
  EXPECT_NE(page.find("<td>1.45</td><td>not measured</td>"), std::string::npos);
}

TEST(FiguresPage, ALineThatIsNoPointIsRefusedByItsNumber) {
  try {
    figures_page(papers(kRatio), {point("a", "1", 3), R"({"figure": "f"})"});
    FAIL() << "was taken";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, 9), "point 2: ");
  }
}

TEST(FiguresPage, AFigureThatNoPaperDescribesIsRefused) {
  EXPECT_THROW(figures_page("[]", {point("a", "1", 3)}), std::runtime_error);
}

TEST(Figure, TheMedianIsTheMiddleValue) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 3);
  EXPECT_EQ(median({5}), 5);
}

}  // namespace
}  // namespace mxkv::bench
