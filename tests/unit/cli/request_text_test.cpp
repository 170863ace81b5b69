// Texts of requests that name keys and ranges.
#include "protocol/clients/cli/wire/request_text.hpp"

#include <gtest/gtest.h>

#include "protocol/clients/cli/failure.hpp"

namespace mxkv::cli {
namespace {

using protocol::verb;

TEST(RequestText, AKeyThatALineCannotHoldIsInBase64) {
  std::string line;
  append_command(line, verb::meta_get, "user:1");
  EXPECT_EQ(line, "mg user:1");
  line.clear();
  append_command(line, verb::meta_get, "a b");
  EXPECT_EQ(line, "mg YSBi b");
  EXPECT_THROW(append_command(line, verb::meta_get, ""), Failure);
  EXPECT_THROW(append_command(line, verb::meta_get, std::string(251, 'x')), Failure);
}

TEST(RequestText, AStoreSaysOnlyWhatIsNotTheDefault) {
  std::string request;
  append_store(request, "k", "hi", {});
  EXPECT_EQ(request, "ms k 2\r\nhi\r\n");
  request.clear();
  append_store(request, "k", "",
               {.mode = 'E', .flags = 7, .seconds = -1, .compare = 5, .unique = 6, .quiet = true});
  EXPECT_EQ(request, "ms k 0 ME F7 T-1 C5 E6 q\r\n\r\n");
}

TEST(RequestText, RangesOfEveryShape) {
  EXPECT_EQ(range_line(verb::meta_range, {}), "mr -");
  EXPECT_EQ(range_line(verb::meta_range, {.reverse = true}), "mr - r");
  EXPECT_EQ(range_line(verb::meta_range, {.prefix = "a:"}), "mr a: p");
  EXPECT_EQ(range_line(verb::meta_range, {.prefix = "a b", .reverse = true}), "mr YSBi b p r");
  EXPECT_EQ(range_line(verb::meta_range, {.from = "a", .to = "c"}), "mr a Hc");
  EXPECT_EQ(range_line(verb::meta_range, {.from = "a", .to = "c", .reverse = true}), "mr c r o Ha i");
  EXPECT_EQ(range_line(verb::meta_range, {.from = "a", .from_exclusive = true}), "mr a o");
  EXPECT_EQ(range_line(verb::meta_range, {.from = "-"}), "mr LQ== b");
  EXPECT_EQ(range_line(verb::meta_range, {.to = "a b"}), "mr AA== b HYSBi");
}

TEST(RequestText, APrefixHasBoundsToo) {
  const Range bounds = as_bounds({.prefix = "user:"});
  EXPECT_EQ(bounds.from, "user:");
  EXPECT_EQ(bounds.to, "user;");
  EXPECT_EQ(as_bounds({.prefix = std::string("a\xff\xff")}).to, "b");
  EXPECT_EQ(as_bounds({.prefix = std::string("\xff")}).to, std::nullopt);
}

}  // namespace
}  // namespace mxkv::cli
