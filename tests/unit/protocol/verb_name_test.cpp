// Each command has one word, of its own.
#include "protocol/verb_name.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string_view>

namespace mxkv::protocol {
namespace {

TEST(VerbName, IsOneWordAndNobodyElses) {
  std::map<std::string_view, int> times;
  for (int n = 0; n <= static_cast<int>(verb::meta_noop); ++n) {
    const std::string_view name = name_of(static_cast<verb>(n));
    EXPECT_FALSE(name.empty()) << n;
    EXPECT_EQ(name.find(' '), std::string_view::npos) << name;
    ++times[name];
  }
  EXPECT_EQ(times.at("config"), 2) << "to ask and to set";
  for (const auto& [name, count] : times) {
    EXPECT_TRUE(count == 1 || name == "config") << name;
  }
}

TEST(VerbName, IsWhatAClientWrites) {
  EXPECT_EQ(name_of(verb::get), "get");
  EXPECT_EQ(name_of(verb::remove), "delete");
  EXPECT_EQ(name_of(verb::meta_range_touch), "mt");
  EXPECT_EQ(name_of(verb::meta_batch), "mb");
  EXPECT_EQ(name_of(verb::flush_all), "flush_all");
}

}  // namespace
}  // namespace mxkv::protocol
