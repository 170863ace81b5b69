// Metrics of the NUMA nodes that lookups accessed, which a machine of one node does not have.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "server/admin/metrics.hpp"

namespace mxkv::server {
namespace {

std::string text_of(const PlaceSums& sums) {
  Exposition out{Exposition::form::prometheus};
  write_places(out, sums);
  return std::move(out).finish();
}

TEST(PlacesMetrics, AreByKindOfPlaceAndByItsNode) {
  const std::string text = text_of({.met = {{{.name = "inner", .all = 10, .remote = 5},
                                             {.name = "leaf", .all = 8, .remote = 4},
                                             {.name = "item", .all = 7}}},
                                    .of_nodes = {{0, 6}, {2, 3}}});
  for (const char* const sample :
       {"mxkv_sampled_accesses_total{to=\"inner\"} 10\n", "mxkv_sampled_accesses_total{to=\"item\"} 7\n",
        "mxkv_remote_accesses_total{to=\"leaf\"} 4\n", "mxkv_remote_accesses_total{to=\"item\"} 0\n",
        "mxkv_node_remote_accesses_total{node=\"0\"} 6\n",
        "mxkv_node_remote_accesses_total{node=\"2\"} 3\n"}) {
    EXPECT_NE(text.find(sample), std::string::npos) << sample << text;
  }
}

TEST(PlacesMetrics, HaveNoSampleWhereThereIsOneNode) {
  EXPECT_EQ(
      text_of({.met = {{{.name = "inner"}, {.name = "leaf"}, {.name = "item"}}}, .of_nodes = {}}).find('{'),
      std::string::npos);
}

}  // namespace
}  // namespace mxkv::server
