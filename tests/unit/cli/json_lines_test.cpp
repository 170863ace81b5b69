// JSON lines that other programs wrote.
#include <gtest/gtest.h>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/transfer/dump.hpp"

namespace mxkv::cli {
namespace {

std::string failure_of(const std::string& lines) {
  InputFile file("f", lines);
  Item item;
  try {
    const auto reader = open_dump(file);
    while (reader->next(item)) {
    }
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(JsonLines, WithoutAHeaderKeyAndValueAreEnough) {
  InputFile file("f",
                 "{\"key\":\"a\",\"value\":{\"b64\":\"/"
                 "w==\"},\"note\":1}\n\n{\"value\":\"y\",\"key\":\"b\",\"flags\":3}");
  const auto reader = open_dump(file);
  Item item;
  ASSERT_TRUE(reader->next(item));
  EXPECT_EQ(item.value, "\xff");
  ASSERT_TRUE(reader->next(item));
  EXPECT_EQ(item.flags, 3U);
  EXPECT_FALSE(reader->next(item));
}

TEST(JsonLines, AByteOrderMarkBeforeTheFirstLineIsSkipped) {
  const std::string mark = "\xef\xbb\xbf";
  InputFile file("f", mark + "{\"key\":\"a\",\"value\":\"x\"}\n");
  const auto reader = open_dump(file);
  Item item;
  ASSERT_TRUE(reader->next(item));
  EXPECT_EQ(item.key, "a");
  EXPECT_FALSE(reader->next(item));
  EXPECT_EQ(failure_of(mark), "");
  EXPECT_EQ(failure_of(mark + "{1}\n"), "f:1: is not a JSON object");
}

TEST(JsonLines, AWrongLineIsNamed) {
  const std::string first = "{\"key\":\"a\",\"value\":\"x\"}\n";
  for (const auto& [line, what] :
       {std::pair{"nonsense", "is not a JSON object"}, std::pair{"[1]", "is not a JSON object"},
        std::pair{"{\"key\":\"a\"}", "has no key and value"},
        std::pair{"{\"key\":1,\"value\":\"\"}", "\"key\" is neither a string nor"},
        std::pair{"{\"key\":\"\",\"value\":\"\"}", "a key must have 1 to 250 bytes"},
        std::pair{"{\"key\":\"a\",\"value\":\"\",\"flags\":-1}", "\"flags\" is not a number"},
        std::pair{"{\"key\":\"a\",\"value\":{\"b64\":\"=\"}}", "\"value\" is neither"}}) {
    EXPECT_TRUE(failure_of(first + line + "\n").starts_with("f:2: " + std::string(what)))
        << failure_of(first + line);
  }
}

}  // namespace
}  // namespace mxkv::cli
