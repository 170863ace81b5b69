// Keys, which may hold any bytes, become part of a URL and can be read back.
#include "server/admin/status_json.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mxkv::server {
namespace {

TEST(Percents, CarryAnyBytesThereAndBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
  }
  const std::string carried = in_percents(all);
  EXPECT_EQ(carried.find_first_of("&=+ \"<>"), std::string::npos);
  EXPECT_EQ(out_of_percents(carried), all);
}

TEST(Percents, ThatAreNoneStay) {
  EXPECT_EQ(out_of_percents("%"), "%");
  EXPECT_EQ(out_of_percents("%4"), "%4");
  EXPECT_EQ(out_of_percents("%zz%41"), "%zzA");
  EXPECT_EQ(out_of_percents("a+b"), "a b");
}

TEST(QueryValue, IsThatOfTheFirstOfItsName) {
  EXPECT_EQ(query_value("prefix=a%3A&delimiter=%2F", "prefix"), "a:");
  EXPECT_EQ(query_value("prefix=a%3A&delimiter=%2F", "delimiter"), "/");
  EXPECT_EQ(query_value("xprefix=a&prefix=b&prefix=c", "prefix"), "b");
  EXPECT_EQ(query_value("prefix", "prefix"), "");
  EXPECT_EQ(query_value("&&=&", "prefix"), "");
}

}  // namespace
}  // namespace mxkv::server
