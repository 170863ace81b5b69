// The host names by which a browser may come.
#include "server/admin/http_host.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mxkv::server {
namespace {

constexpr const char* kOwn = "cache1.example.com";

TEST(HttpHost, AddressesAndNamesOfNobodyElseAreItsOwn) {
  for (const char* host :
       {"127.0.0.1", "10.1.2.3:11212", "[::1]:11212", "localhost", "LOCALHOST:80", "mxkvd:11212",
        "a.localhost", "cache1.example.com", "Cache1.Example.COM:11212", ""}) {
    EXPECT_TRUE(is_own_host(host, kOwn)) << host;
  }
}

TEST(HttpHost, NamesThatMayBelongToAnotherHostAreNot) {
  for (const char* host :
       {"evil.example", "evil.example:11212", "127.0.0.1.evil.example", "cache1.example.com.evil.example",
        "xcache1.example.com", "localhost.evil.example", "1.2.3", "evillocalhost.", "a.b"}) {
    EXPECT_FALSE(is_own_host(host, kOwn)) << host;
  }
  EXPECT_FALSE(is_own_host(std::string(1000, 'a'), kOwn));
}

}  // namespace
}  // namespace mxkv::server
