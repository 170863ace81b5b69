// The path and arguments of a request, in each form of a target, and refused Host headers.
#include "server/admin/http_target.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace mxkv::server {
namespace {

HttpTarget with_host(std::string_view target, std::string_view host = "a") {
  return read_target(target, {.count = 1, .first = host});
}

TEST(HttpTarget, APathIsAskedForByTheHostOfTheHeader) {
  const HttpTarget read = with_host("/prefixes.json?prefix=a?b", "cache:11212");
  EXPECT_EQ(read.flaw, nullptr);
  EXPECT_EQ(read.host, "cache:11212");
  EXPECT_EQ(read.path, "/prefixes.json");
  EXPECT_EQ(read.query, "prefix=a?b");
  EXPECT_EQ(with_host("/").path, "/");
  EXPECT_EQ(with_host("/a?").query, "");
}

TEST(HttpTarget, OfAUrlItsOwnHostCounts) {
  for (const auto& [target, host, path, query] :
       {std::array<std::string_view, 4>{"http://b/livez", "b", "/livez", ""},
        {"HTTP://B:80/livez?x", "B:80", "/livez", "x"},
        {"https://[::1]:11212/", "[::1]:11212", "/", ""},
        {"http://b", "b", "/", ""},
        {"http://b?x=/", "b", "/", "x=/"}}) {
    const HttpTarget read = with_host(target);
    EXPECT_EQ(read.flaw, nullptr) << target;
    EXPECT_EQ(read.host, host) << target;
    EXPECT_EQ(read.path, path) << target;
    EXPECT_EQ(read.query, query) << target;
  }
}

TEST(HttpTarget, OtherFormsAreRefused) {
  for (const char* target :
       {"", "*", "livez", "?x", "a:80", "ftp://b/livez", "http:/livez", "http://", "http:///livez",
        "http://:80/livez", "http://user@b/livez", "http://b c/livez", "http://[::1/livez"}) {
    EXPECT_NE(with_host(target).flaw, nullptr) << target;
  }
}

TEST(HttpTarget, OneHeaderHostIsNeededAndNamesAHost) {
  for (const char* host : {"", "a", "a.b.example", "a_b", "a:", "a:80", "127.0.0.1:11212", "[::1]",
                           "[::1]:80", "x%20y", ":80"}) {
    EXPECT_EQ(with_host("/", host).flaw, nullptr) << host;
  }
  for (const char* host :
       {"a b", "a/b", "u@a", "a:b", "a:80x", "a:80:90", "::1", "[::1", "[]", "[::1]80", "a\"", "\xff"}) {
    EXPECT_NE(with_host("/", host).flaw, nullptr) << host;
  }
  EXPECT_NE(read_target("/", {.count = 0, .first = {}}).flaw, nullptr);
  EXPECT_NE(read_target("http://b/", {.count = 0, .first = {}}).flaw, nullptr);
  EXPECT_NE(read_target("/", {.count = 2, .first = "a"}).flaw, nullptr);
  EXPECT_NE(read_target("/", {.count = 2, .first = "a", .needed = false}).flaw, nullptr);
  EXPECT_EQ(read_target("/", {.count = 0, .first = {}, .needed = false}).flaw, nullptr);
}

}  // namespace
}  // namespace mxkv::server
