// The address of a server, in every form that users write.
#include "protocol/clients/cli/connection/endpoint.hpp"

#include <gtest/gtest.h>

#include "protocol/clients/cli/failure.hpp"

namespace mxkv::cli {
namespace {

TEST(Endpoint, EveryFormIsRead) {
  EXPECT_EQ(text_of(endpoint_of("localhost:1")), "localhost:1");
  EXPECT_EQ(text_of(endpoint_of("localhost")), "localhost:11211");
  EXPECT_EQ(text_of(endpoint_of("[::1]:5")), "[::1]:5");
  EXPECT_EQ(text_of(endpoint_of("[::1]")), "[::1]:11211");
  EXPECT_EQ(text_of(endpoint_of("::1")), "[::1]:11211");
  EXPECT_EQ(text_of(endpoint_of("unix:/a b")), "unix:/a b");
  EXPECT_EQ(text_of(endpoint_of("/run/x")), "unix:/run/x");
}

TEST(Endpoint, InvalidEndpointsAreRefused) {
  for (const std::string& text : {std::string(), std::string(":5"), std::string("a:"), std::string("unix:"),
                                  "unix:/" + std::string(200, 'x'), std::string("[::1"), std::string("a b:1"),
                                  std::string("[::1]x"), std::string("a:0"), std::string("a:65536"),
                                  std::string("a:-1"), std::string("a:+1"), std::string("a:http")}) {
    EXPECT_THROW(static_cast<void>(endpoint_of(text)), Failure) << text;
  }
}

}  // namespace
}  // namespace mxkv::cli
