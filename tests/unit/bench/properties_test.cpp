// Java's .properties format, and values that say where they come from.
#include "bench/workload/properties.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mxkv::bench {
namespace {

Properties parsed(std::string_view text) {
  Properties properties;
  EXPECT_TRUE(properties.parse(text, "file").ok()) << text;
  return properties;
}

TEST(Properties, SeparateNameAndValueByEqualsColonOrBlanks) {
  for (const char* text :
       {"name=value", "name:value", "name value", "name\tvalue", "  name  =  value", "name : value",
        "name\f=\fvalue", "name=value\n", "name=value\r\n", "name=value\r"}) {
    const Properties properties = parsed(text);
    ASSERT_NE(properties.find("name"), nullptr) << text;
    EXPECT_EQ(properties.find("name")->value, "value") << text;
  }
}

TEST(Properties, TakeOnlyOneSeparatorAndKeepBlanksAtTheEnd) {
  EXPECT_EQ(parsed("a = = b").find("a")->value, "= b");
  EXPECT_EQ(parsed("a=b=c").find("a")->value, "b=c");
  EXPECT_EQ(parsed("a=b \n").find("a")->value, "b ");
  EXPECT_EQ(parsed("a").find("a")->value, "");
  EXPECT_EQ(parsed("a=").find("a")->value, "");
}

TEST(Properties, SkipCommentsAndEmptyLines) {
  const Properties properties = parsed("# a=1\n  ! b=2\n\n \t\r\n#goes on \\\nc=3 # no comment\n");
  EXPECT_EQ(properties.find("a"), nullptr);
  EXPECT_EQ(properties.find("b"), nullptr);
  ASSERT_NE(properties.find("c"), nullptr);  // a comment does not go on
  EXPECT_EQ(properties.find("c")->value, "3 # no comment");
}

TEST(Properties, GoOnInTheNextLineBehindABackslash) {
  EXPECT_EQ(parsed("a=one, \\\n   two, \\\r\n\tthree").find("a")->value, "one, two, three");
  EXPECT_EQ(parsed("a=b\\\\\nc=d").find("a")->value, "b\\");
  EXPECT_EQ(parsed("a=b\\\\\\\nc").find("a")->value, "b\\c");
  EXPECT_EQ(parsed("a=b\\").find("a")->value, "b");
  EXPECT_EQ(parsed("na\\\n  me=b").find("name")->value, "b");
}

TEST(Properties, ABackslashAloneIsAnEmptyLine) {
  const Properties properties = parsed("\\\na=1\n\\\n#b=2\n \\\n\\\n\nc=3\n\\");
  ASSERT_NE(properties.find("a"), nullptr);
  EXPECT_EQ(properties.find("a")->value, "1");
  ASSERT_NE(properties.find("c"), nullptr);
  EXPECT_EQ(properties.find("c")->value, "3");
  EXPECT_TRUE(properties.unknown().empty());
}

TEST(Properties, ResolveEscapes) {
  EXPECT_EQ(parsed("a=\\t\\n\\r\\f\\\\\\q").find("a")->value, "\t\n\r\f\\q");
  EXPECT_EQ(parsed("a\\=b\\:c\\ d=e").find("a=b:c d")->value, "e");
  EXPECT_EQ(parsed("a=\\u0041\\u00e9\\u20AC").find("a")->value, "A\u00e9\u20ac");
  Properties properties;
  for (const char* text : {"a=\\u12", "a=\\u12x4", "b=1\n\na=\\u"}) {
    EXPECT_FALSE(properties.parse(text, "file").ok()) << text;
  }
  EXPECT_EQ(properties.parse("b=1\n\na=\\u", "file").error().message,
            "file:3: malformed \\u escape: four hexadecimal digits must follow");
}

TEST(Properties, LaterWinsAndSaysWhereItStands) {
  Properties properties = parsed("a=1\na=2\nb=\\\n\\\n3\n\nc=4");
  EXPECT_EQ(properties.find("a")->value, "2");
  EXPECT_EQ(properties.find("a")->origin, "file:2");
  EXPECT_EQ(properties.find("b")->origin, "file:3");
  EXPECT_EQ(properties.find("c")->origin, "file:7");
  properties.set("a", "5", "-p");
  EXPECT_EQ(properties.find("a")->value, "5");
  EXPECT_EQ(properties.find("a")->origin, "-p");
}

TEST(Properties, NameWhatNobodyAskedFor) {
  const Properties properties = parsed("known=1\nforeign=2");
  EXPECT_NE(properties.find("known"), nullptr);
  EXPECT_EQ(properties.find("absent"), nullptr);
  const auto unknown = properties.unknown();
  ASSERT_EQ(unknown.size(), 1U);
  EXPECT_EQ(unknown[0].first, "foreign");
  EXPECT_EQ(unknown[0].second, "file:2");
}

TEST(Properties, SayWhichFileCannotBeRead) {
  Properties properties;
  for (const char* file : {"/nowhere/at/all", "/"}) {
    const auto result = properties.load(file);
    ASSERT_FALSE(result.ok()) << file;
    EXPECT_EQ(result.error().message, std::string(file) + ": cannot be read");
  }
}

TEST(PropertyReader, ReadsWhatIsThereAndOtherwiseTheDefault) {
  const Properties properties = parsed("whole= 12 \nreal=0.5\nyes=TRUE\nname=two ");
  PropertyReader reader(properties);
  EXPECT_EQ(reader.whole("whole", 1, 0, 100), 12U);
  EXPECT_EQ(reader.whole("absent", 1, 0, 100), 1U);
  EXPECT_EQ(reader.real("real", 1, 0, 1), 0.5);
  EXPECT_EQ(reader.real("absent", 0.25, 0, 1), 0.25);
  EXPECT_TRUE(reader.truth("yes", false));
  EXPECT_TRUE(reader.truth("absent", true));
  EXPECT_EQ(reader.choice("name", {"one", "two"}, 0), 1U);
  EXPECT_EQ(reader.choice("absent", {"one", "two"}, 1), 1U);
  EXPECT_TRUE(reader.problems().empty());
}

TEST(PropertyReader, CollectsEveryProblemWithItsPlace) {
  Properties properties = parsed("a=x\nb=-1\nc=101\nd=1.5\ne=nan\nf=yes\ng=three\nh=0x10\ni=");
  properties.set("j", "1e9", "-p");
  PropertyReader reader(properties);
  for (const char* name : {"a", "b", "c", "h", "i"}) {
    EXPECT_EQ(reader.whole(name, 1, 0, 100), 1U);
  }
  EXPECT_EQ(reader.real("d", 0.5, 0, 1), 0.5);
  EXPECT_EQ(reader.real("e", 0.5, 0, 1), 0.5);
  reader.truth("f", true);
  reader.choice("g", {"one", "two"}, 0);
  reader.whole("j", 1, 0, 100);
  const std::vector<std::string> wanted{
      "file:1: a: 'x' is not a whole number",      "file:2: b: '-1' is not a whole number",
      "file:3: c: 101 is not within 0 to 100",     "file:8: h: '0x10' is not a whole number",
      "file:9: i: '' is not a whole number",       "file:4: d: 1.5 is not within 0 to 1",
      "file:5: e: nan is not within 0 to 1",       "file:6: f: 'yes' is neither true nor false",
      "file:7: g: 'three' is not one of one, two", "-p: j: '1e9' is not a whole number"};
  EXPECT_EQ(reader.problems(), wanted);
}

}  // namespace
}  // namespace mxkv::bench
