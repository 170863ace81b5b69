// Weights of content types, in the forms that an Accept header may have.
#include "server/admin/http_accept.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace mxkv::server {
namespace {

TEST(HttpAccept, TheClosestEntryTellsTheWeight) {
  for (const auto& [accept, weight] : {std::pair{"", 0U},
                                       {"text/plain", 1000U},
                                       {"text/plain;q=0", 0U},
                                       {"text/plain; q=0.25", 250U},
                                       {"Text/Plain;Q=0.5", 500U},
                                       {"text/plain;version=\"a,b;q=0\";q=0.125", 125U},
                                       {"text/html, text/plain ; q=0.3 , */*", 300U},
                                       {"text/*;q=0.2,*/*;q=0.9", 200U},
                                       {"*/*;q=0.9", 900U},
                                       {"*/*;q=0.9, text/plain;q=0", 0U},
                                       {"text/plain;version=1;q=0.2,text/plain;q=0.7", 700U},
                                       {"application/*", 0U},
                                       {"text/plainer,text", 0U},
                                       {"text/plain;q=1.000", 1000U},
                                       {"text/plain;q=0.000", 0U},
                                       {"text/plain;q=2", 1000U},
                                       {"text/plain;q=", 1000U},
                                       {"text/plain;q=0.x", 1000U},
                                       {",;,;;=\",", 0U}}) {
    EXPECT_EQ(weight_of(accept, "text/plain").thousandths, weight) << accept;
  }
}

TEST(HttpAccept, ARangeNamesNoType) {
  EXPECT_TRUE(weight_of("a/b, text/plain;q=0", "text/plain").named);
  EXPECT_FALSE(weight_of("text/*", "text/plain").named);
  EXPECT_FALSE(weight_of("*/*", "text/plain").named);
}

}  // namespace
}  // namespace mxkv::server
