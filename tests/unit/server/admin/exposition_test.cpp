// Both text forms of metrics, letter by letter; the integration tests read them by others' parsers.
#include "server/admin/exposition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace mxkv::server {
namespace {

using form = Exposition::form;
using type = Exposition::type;

std::string some(form how) {
  Exposition out{how};
  out.family(type::info, "mxkv_build", "Version");
  out.add({{"version", "1.2"}}, 1);
  out.family(type::counter, "mxkv_hits", "Gets");
  out.add(7);
  out.family(type::counter, "mxkv_sent_bytes", "Bytes");
  out.add({{"to", "a"}, {"by", "b"}}, 18446744073709551615U);
  out.family(type::gauge, "mxkv_load_seconds", "Load");
  out.add_real(0.25);
  return std::move(out).finish();
}

TEST(Exposition, TellsFamiliesAsPrometheusReadsThem) {
  EXPECT_EQ(
      some(form::prometheus),
      "# HELP mxkv_build_info Version\n# TYPE mxkv_build_info gauge\nmxkv_build_info{version=\"1.2\"} 1\n"
      "# HELP mxkv_hits_total Gets\n# TYPE mxkv_hits_total counter\nmxkv_hits_total 7\n"
      "# HELP mxkv_sent_bytes_total Bytes\n# TYPE mxkv_sent_bytes_total counter\n"
      "mxkv_sent_bytes_total{to=\"a\",by=\"b\"} 18446744073709551615\n"
      "# HELP mxkv_load_seconds Load\n# TYPE mxkv_load_seconds gauge\nmxkv_load_seconds 0.25\n");
}

TEST(Exposition, TellsFamiliesAsOpenMetricsWantsThem) {
  EXPECT_EQ(
      some(form::openmetrics),
      "# HELP mxkv_build Version\n# TYPE mxkv_build info\nmxkv_build_info{version=\"1.2\"} 1\n"
      "# HELP mxkv_hits Gets\n# TYPE mxkv_hits counter\nmxkv_hits_total 7\n"
      "# HELP mxkv_sent_bytes Bytes\n# TYPE mxkv_sent_bytes counter\n# UNIT mxkv_sent_bytes bytes\n"
      "mxkv_sent_bytes_total{to=\"a\",by=\"b\"} 18446744073709551615\n"
      "# HELP mxkv_load_seconds Load\n# TYPE mxkv_load_seconds gauge\n# UNIT mxkv_load_seconds seconds\n"
      "mxkv_load_seconds 0.25\n# EOF\n");
}

TEST(Exposition, EscapesBytesThatWouldEndALabelOrALine) {
  Exposition out{form::prometheus};
  out.family(type::gauge, "g", "a\\b\nc");
  out.add({{"l", "q\"b\\n\n"}}, 1);
  EXPECT_EQ(std::move(out).finish(), "# HELP g a\\\\b\\nc\n# TYPE g gauge\ng{l=\"q\\\"b\\\\n\\n\"} 1\n");
}

TEST(Exposition, WritesNumbersThatAreNoNumbersByTheirNames) {
  Exposition out{form::prometheus};
  out.family(type::gauge, "g", "g");
  out.add_real(std::numeric_limits<double>::infinity());
  out.add_real(-std::numeric_limits<double>::infinity());
  out.add_real(std::numeric_limits<double>::quiet_NaN());
  out.add_real(1e300);
  EXPECT_THAT(std::move(out).finish(), ::testing::EndsWith("g +Inf\ng -Inf\ng NaN\ng 1e+300\n"));
}

TEST(Exposition, EndsAHistogramWithTheBucketOfAll) {
  Exposition out{form::openmetrics};
  out.family(type::histogram, "h_seconds", "h");
  const std::array bounds{0.001, 0.5};
  const std::array<std::uint64_t, 2> counts{1, 3};
  out.add_histogram({{"c", "get"}}, bounds, counts, 4, 2.5);
  EXPECT_EQ(std::move(out).finish(),
            "# HELP h_seconds h\n# TYPE h_seconds histogram\n# UNIT h_seconds seconds\n"
            "h_seconds_bucket{c=\"get\",le=\"0.001\"} 1\nh_seconds_bucket{c=\"get\",le=\"0.5\"} 3\n"
            "h_seconds_bucket{c=\"get\",le=\"+Inf\"} 4\nh_seconds_sum{c=\"get\"} 2.5\n"
            "h_seconds_count{c=\"get\"} 4\n# EOF\n");
}

TEST(Exposition, AnswersInTheFormThatIsAskedFor) {
  EXPECT_EQ(Exposition::asked_for(""), form::prometheus);
  EXPECT_EQ(Exposition::asked_for("text/html,*/*"), form::prometheus);
  EXPECT_EQ(Exposition::asked_for("Application/OpenMetrics-Text; version=1.0.0,text/plain;q=0.5"),
            form::openmetrics);
  const std::string open = "application/openmetrics-text";
  for (const std::string& accept :
       {open + ";version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.4,*/*;q=0.1",
        open + ";version=0.0.1;q=0.5," + open + ";version=1.0.0;q=0.75,text/plain;q=0.5",
        "text/plain," + open, open}) {
    EXPECT_EQ(Exposition::asked_for(accept), form::openmetrics) << accept;
  }
  for (const std::string& accept : {open + ";q=0", open + ";q=0, text/plain", open + ";q=0.0,*/*",
                                    open + ";q=0.5,text/plain", open + ";q=0.5,*/*", std::string{"*/*"},
                                    std::string{"application/*"}, "x" + open, open + ";q=0,text/plain;q=0"}) {
    EXPECT_EQ(Exposition::asked_for(accept), form::prometheus) << accept;
  }
  EXPECT_THAT(std::string{Exposition::content_type(form::openmetrics)},
              ::testing::StartsWith("application/openmetrics-text; version=1.0.0"));
}

}  // namespace
}  // namespace mxkv::server
