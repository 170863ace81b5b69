// Meta commands: every flag, every error and the bytes that it swallows, and the boundaries (rules 31-33).
#include <string>

#include "tests/unit/protocol/parsed_line.hpp"
#include "tests/unit/protocol/transcript.hpp"

namespace mxkv::protocol {
namespace {

ParsedLine parse(const std::string& line) {
  return ParsedLine(line + "\r\n");
}

TEST(Meta, EveryVerbTakesAKey) {
  const struct {
    std::string_view line;
    verb op;
  } lines[] = {{"mg key", verb::meta_get},
               {"md key", verb::meta_delete},
               {"ma key", verb::meta_arithmetic},
               {"me key", verb::meta_debug},
               {"ms key 7", verb::meta_set}};
  for (const auto& [text, op] : lines) {
    const ParsedLine line = parse(std::string(text));
    ASSERT_TRUE(line.accepted()) << text;
    EXPECT_EQ(line->op, op) << text;
    EXPECT_EQ(line->key, "key") << text;
    EXPECT_TRUE(is_meta(line->op)) << text;
    EXPECT_EQ(takes_value(line->op), op == verb::meta_set) << text;
    EXPECT_EQ(describe_meta(line->meta), "delta 1") << text;
  }
  EXPECT_EQ(parse("ms key 7")->value_bytes, 7U);
}

TEST(Meta, TheNoopTakesAnything) {
  for (const std::string_view line : {"mn", "mn ", "mn x", "mn a b c"}) {
    const ParsedLine parsed = parse(std::string(line));
    ASSERT_TRUE(parsed.accepted()) << line;
    EXPECT_EQ(parsed->op, verb::meta_noop) << line;
  }
  EXPECT_EQ(ParsedLine("mn\n")->op, verb::meta_noop);
}

TEST(Meta, EachFlagSaysOneThing) {
  const struct {
    std::string_view flag;
    std::string_view says;
  } flags[] = {{"b", "binary delta 1"},
               {"c", "wants c delta 1"},
               {"f", "wants f delta 1"},
               {"h", "wants h delta 1"},
               {"k", "wants k delta 1"},
               {"l", "wants l delta 1"},
               {"s", "wants s delta 1"},
               {"t", "wants t delta 1"},
               {"O", "wants O delta 1"},
               {"Oabc", "wants O opaque abc delta 1"},
               {"q", "quiet delta 1"},
               {"u", "no bump delta 1"},
               {"v", "value delta 1"},
               {"x", "remove value delta 1"},
               {"I", "invalidate delta 1"},
               {"P", "delta 1"},
               {"Pproxy", "delta 1"},
               {"L", "delta 1"},
               {"Lpath", "delta 1"},
               {"C18446744073709551615", "compare 18446744073709551615 delta 1"},
               {"E0", "delta 1"},
               {"E1", "cas 1 delta 1"},
               {"D5", "delta 5"},
               {"D18446744073709551615", "delta 18446744073709551615"},
               {"J13", "delta 1 initial 13"},
               {"T-9223372036854775808", "wants T time -9223372036854775808 delta 1"},
               {"T9223372036854775807", "wants T time 9223372036854775807 delta 1"},
               {"N30", "wants N vivify 30 delta 1"},
               {"R0", "wants R recache 0 delta 1"}};
  for (const auto& [flag, says] : flags) {
    // memcached takes every flag in every command, and so do we; a key of base64 does no harm to the others.
    for (const std::string_view command : {"mg Zm9v ", "md Zm9v ", "ma Zm9v ", "me Zm9v ", "ms Zm9v 3 "}) {
      const ParsedLine line = parse(std::string(command).append(flag));
      ASSERT_TRUE(line.accepted()) << command << flag;
      EXPECT_EQ(describe_meta(line->meta), says) << command << flag;
      EXPECT_EQ(line->key, flag == "b" ? "foo" : "Zm9v") << command << flag;
    }
  }
}

TEST(Meta, TheClientsFlagsAreTheRequests) {
  EXPECT_EQ(parse("ms k 1")->flags, 0U);
  EXPECT_EQ(parse("ms k 1 F4294967295")->flags, 4294967295U);
  for (const std::string_view flag : {"F", "Fx", "F-1", "F4294967296", "F1x"}) {
    expect_refused("ms k 1 " + std::string(flag), kBadFormat, 3);
  }
}

TEST(Meta, TheTimeOfMsIsTheRequests) {
  EXPECT_EQ(parse("ms k 1 T77")->exptime, 77);
  EXPECT_EQ(parse("ms k 1")->exptime, 0) << "nothing is left from a line before";
}

TEST(Meta, NothingIsLeftFromALineBefore) {
  Request request;
  const Parser parser({});
  for (const auto& [text, says] :
       {std::pair<std::string, std::string>{"mg k v q c T5 C7 Oxy\r\n", ""},
        std::pair<std::string, std::string>{"mg k\r\n", "delta 1"},
        std::pair<std::string, std::string>{"ms k 2 F7 MA E5 N7 R8 J9 D10 I b\r\n", ""},
        std::pair<std::string, std::string>{"ms k 2\r\n", "delta 1"}}) {
    LineState line;
    (void)parser.parse(text.data(), text.size(), line, request);
    if (!says.empty()) {
      EXPECT_EQ(describe_meta(request.meta), says) << text;
      EXPECT_EQ(request.flags, 0U) << text;
    }
  }
}

TEST(Meta, RepeatedFlagsKeepTheirOrder) {
  EXPECT_EQ(parse("mg k t s T5 c f R3 k N9 l h O1")->meta.wants(), "tsTcfRkNlhO");
  EXPECT_EQ(parse("mg k O1 h l N9 k R3 f c T5 s t")->meta.wants(), "OhlNkRfcTst");
}

TEST(Meta, OpaquesOfThirtyOneBytesPassAndOfThirtyTwoDoNot) {
  const std::string longest(31, 'o');
  EXPECT_EQ(parse("mg k O" + longest)->meta.opaque(), longest);
  expect_refused("mg k O" + longest + "o", kLongOpaque);
  expect_refused("ms k 2 O" + longest + "o", kLongOpaque, 4);
  expect_refused("md k O" + std::string(200, 'o'), kLongOpaque);
}

TEST(Meta, ALongOpaqueIsReportedIfNothingElseIsWrong) {
  const std::string opaque = "O" + std::string(32, 'o');
  expect_refused("mg k Tx " + opaque, kBadToken);
  expect_refused("mg k " + opaque + " Tx", kBadToken);
  expect_refused("mg k " + opaque + " zz", kInvalidFlag);
  expect_refused("mg k " + opaque + " Fx", kBadFormat);
  expect_refused("mg = b " + opaque, kBadEncoding);
  expect_refused("ma k " + opaque, kLongOpaque);
  expect_refused("me k " + opaque, kLongOpaque);
  expect_refused("ma k Dx " + opaque, kBadMetaArithmetic);
  expect_refused("ma k MQ " + opaque, kBadMetaArithmeticMode);
  expect_refused("ms k 1 MQ " + opaque, kBadMetaSetMode, 3);
}

TEST(Meta, OpaquesAreAnyBytesButSpaces) {
  EXPECT_EQ(parse("mg k O\xff\x01\x7f")->meta.opaque(), "\xff\x01\x7f");
}

TEST(Meta, TwentyWordsPassAndTwentyOneDoNot) {
  // All flags that there are: mg k and 18 of them.
  const std::string eighteen = "mg k b c f h k l s t v q u x I P L O1 T1 N1";
  expect_refused(eighteen, kBadEncoding);  // read to the end, where the key is found not to be base64
  EXPECT_TRUE(parse("mg Zm9v b c f h k l s t v q u x I P L O1 T1 N1").accepted());
  expect_refused("mg Zm9v b c f h k l s t v q u x I P L O1 T1 N1 R1", kTooManyFlags);
  EXPECT_TRUE(parse("ms Zm9v 1 b c f h k l s t v q u x I P L O1 T1").accepted());
  expect_refused("ms Zm9v 1 b c f h k l s t v q u x I P L O1 T1 N1", kTooManyFlags, 3);
  expect_refused("ma Zm9v b c f h k l s t v q u x I P L O1 T1 N1 R1", kBadMetaArithmetic);
  expect_refused("mg k v v v v v v v v v v v v v v v v v v v", kTooManyFlags);
}

TEST(Meta, ADuplicateEndsTheReading) {
  for (const std::string_view flags :
       {"v v", "O1 O2", "T1 T2", "k s k", "b b", "C1 zzz C1", "F1 F2", "q Tx q"}) {
    const bool unknown = flags == "C1 zzz C1";
    expect_refused("mg k " + std::string(flags), unknown ? kInvalidFlag : kDuplicateFlag);
  }
}

TEST(Meta, OfSeveralBadTokensTheLastIsReported) {
  expect_refused("mg k Jx Dx", kBadMetaDelta);
  expect_refused("mg k Dx Jx", kBadInitial);
  expect_refused("mg k Tx zz", kInvalidFlag);
}

TEST(Meta, UnknownFlagsAreRefused) {
  for (const char letter : std::string_view("adegijmnoprwyzABGHKQSUVWXYZ0123456789!-")) {
    expect_refused(std::string("mg k ") + letter, kInvalidFlag);
    expect_refused(std::string("ms k 4 ") + letter + "1", kInvalidFlag, 6);
  }
  for (const std::string_view flag : {"\x7f", "\x80", "\xff", "\xff \xff"}) {
    expect_refused("mg k " + std::string(flag), kInvalidFlag);
  }
}

TEST(Meta, FlagsThatLackTheirNumber) {
  for (const char letter : std::string_view("TNRCE")) {
    for (const std::string_view number : {"", "x", "1x", "+1", "--1", "99999999999999999999", "1.5"}) {
      expect_refused(std::string("mg k ") + letter + std::string(number), kBadToken);
    }
  }
  for (const std::string_view number : {"", "-1", "x", "18446744073709551616"}) {
    expect_refused("mg k C" + std::string(number), kBadToken);
    expect_refused("mg k D" + std::string(number), kBadMetaDelta);
    expect_refused("mg k J" + std::string(number), kBadInitial);
  }
}

TEST(Meta, MaAndMeTellLess) {
  for (const std::string_view flags : {"v v", "zz", "Tx", "Dx", "Jx", "D-1"}) {
    expect_refused("ma k " + std::string(flags), kBadMetaArithmetic);
    expect_refused("me k " + std::string(flags), kBadFormat);
  }
}

TEST(Meta, ModesOfMs) {
  for (const char mode : std::string_view("EAPRS")) {
    EXPECT_EQ(parse(std::string("ms k 1 M") + mode)->meta.mode, mode);
    EXPECT_EQ(parse(std::string("ms k 1 M") + mode + "rest")->meta.mode, mode) << "one letter counts";
  }
  for (const std::string_view mode : {"M", "Me", "MI", "M+", "Mset", "M1"}) {
    expect_refused("ms k 1 " + std::string(mode), kBadMetaSetMode, 3);
  }
}

TEST(Meta, ModesOfMa) {
  for (const auto& [text, mode] :
       {std::pair{"MI", 'I'}, {"M+", 'I'}, {"MIncr", 'I'}, {"MD", 'D'}, {"M-", 'D'}}) {
    EXPECT_EQ(parse(std::string("ma k ") + text)->meta.mode, mode) << text;
  }
  for (const std::string_view mode : {"M", "Mi", "MA", "M0"}) {
    expect_refused("ma k " + std::string(mode), kBadMetaArithmeticMode);
  }
}

TEST(Meta, WithoutAKeyItIsAnError) {
  for (const std::string_view line : {"mg", "mg ", "md", "ma", "ms", "ms  "}) {
    expect_refused(line, kError);
  }
  expect_refused("me", kBadFormat);
}

TEST(Meta, KeysOf250BytesPassAndOf251DoNot) {
  const std::string longest(kMaxKeyBytes, 'k');
  EXPECT_EQ(parse("mg " + longest)->key, longest);
  EXPECT_EQ(parse("ms " + longest + " 1")->key, longest);
  for (const std::string_view verb : {"mg ", "md ", "ma ", "me "}) {
    expect_refused(std::string(verb) + overlong_key(), kBadFormat);
    expect_refused(std::string(verb) + "a\rz", kBadFormat);
  }
  expect_refused("ms " + overlong_key() + " 2", kBadFormat, 4);
  expect_refused("ms a\rb 2", kBadFormat, 4);
}

TEST(Meta, KeysInBase64MayBeAnyBytes) {
  EXPECT_EQ(parse("mg AA== b")->key, std::string_view("\0", 1));
  EXPECT_EQ(parse("md IA0K b")->key, " \r\n");
  EXPECT_EQ(parse("ms /////w== 2 b")->key, "\xff\xff\xff\xff");
  EXPECT_EQ(parse("mg Zm9v")->key, "Zm9v") << "only with b";
}

TEST(Meta, TheLimitOfAKeyHoldsForItsBytesNotForItsBase64) {
  const auto encoded = [](std::size_t bytes) {
    std::string text(400, '\0');
    text.resize(
        static_cast<std::size_t>(write_base64(text.data(), std::string(bytes, '\x01')) - text.data()));
    return text;
  };
  for (const std::size_t bytes : {std::size_t{186}, std::size_t{187}, std::size_t{188}, kMaxKeyBytes}) {
    for (const std::string_view verb : {"mg ", "md ", "ma ", "me "}) {
      const ParsedLine line = parse(std::string(verb) + encoded(bytes) + " q k b");
      ASSERT_TRUE(line.accepted()) << verb << bytes;
      EXPECT_EQ(line->key, std::string(bytes, '\x01')) << verb;
    }
    const ParsedLine line = parse("ms " + encoded(bytes) + " 3 F1 b c");
    ASSERT_TRUE(line.accepted()) << bytes;
    EXPECT_EQ(line->key, std::string(bytes, '\x01'));
  }
  for (const std::size_t bytes : {kMaxKeyBytes + 1, kMaxKeyBytes + 2, kMaxKeyBytes + 3, kMaxKeyBytes + 30}) {
    for (const std::string_view verb : {"mg ", "md ", "ma ", "me "}) {
      expect_refused(std::string(verb) + encoded(bytes) + " b", kBadFormat);
      expect_refused(std::string(verb) + encoded(bytes) + " v v b", kBadFormat);
    }
    expect_refused("ms " + encoded(bytes) + " 7 b", kBadFormat, 9);
  }
  expect_refused("mg " + encoded(187), kBadFormat);
  expect_refused("ms " + encoded(187) + " 7 c", kBadFormat, 9);
}

TEST(Meta, KeysThatAreNotBase64AreRefused) {
  for (const std::string_view key : {"=", "A", "AA", "AAA", "A===", "====", "AA=A", "=AAA", "A*==", "AAA-",
                                     "AB==", "AAB=", "AA==AA==", "AAAAA", "Zm9v\xff"}) {
    expect_refused("mg " + std::string(key) + " b", kBadEncoding);
    expect_refused("md " + std::string(key) + " v b", kBadEncoding);
    expect_refused("ms " + std::string(key) + " 7 b", kBadEncoding, 9);
    expect_refused("ma " + std::string(key) + " b", kBadMetaArithmetic);
    expect_refused("me " + std::string(key) + " b", kBadEncoding);
  }
}

TEST(Meta, LengthsOfMs) {
  EXPECT_EQ(parse("ms k 0")->value_bytes, 0U);
  EXPECT_EQ(parse("ms k 007")->value_bytes, 7U);
  for (const std::string_view length :
       {"", "-1", "x", "1x", "+1", "abc", "T30", "2147483646", "99999999999999999999"}) {
    expect_refused("ms k " + std::string(length), kBadFormat, 0);
  }
}

TEST(Meta, TooLargeAValueIsSwallowedAndDeletesTheOldOne) {
  const ParserLimits limits{.value_bytes = 100};
  EXPECT_TRUE(ParsedLine("ms k 100 c\r\n", limits).accepted());
  const ParsedLine line("ms Zm9v 101 b c\r\n", limits);
  EXPECT_EQ(line.parsed().what, outcome::error);
  EXPECT_EQ(line.parsed().error, kTooLarge);
  EXPECT_EQ(line.parsed().swallow, 103U);
  EXPECT_TRUE(line.parsed().delete_key);
  EXPECT_EQ(line->key, "foo");
  const ParsedLine longest("ms k 2147483645\r\n", limits);
  EXPECT_EQ(longest.parsed().error, kTooLarge);
  EXPECT_EQ(longest.parsed().swallow, 2147483647U);
  const ParsedLine malformed("ms k 101 zz\r\n", limits);
  EXPECT_EQ(malformed.parsed().error, kInvalidFlag);
  EXPECT_FALSE(malformed.parsed().delete_key);
}

TEST(Meta, QuietIsNotNoreply) {
  const ParsedLine line = parse("ms k 2 q");
  EXPECT_TRUE(line->meta.quiet);
  EXPECT_FALSE(line->noreply);
  expect_refused("mg k noreply", kInvalidFlag);
  expect_refused("ms k 2 noreply", kInvalidFlag, 4);
}

TEST(Meta, SpacesMayComeInRuns) {
  const ParsedLine line = parse("  ms   k   2   c   O1  ");
  ASSERT_TRUE(line.accepted());
  EXPECT_EQ(line->meta.wants(), "cO");
  EXPECT_EQ(line->value_bytes, 2U);
}

TEST(Meta, SaysWhetherARequestChangesTheItem) {
  EXPECT_TRUE(parse("mg k N3")->meta.changes_item());
  EXPECT_TRUE(parse("mg k T3")->meta.changes_item());
  EXPECT_FALSE(parse("mg k R3 h l t v")->meta.changes_item());
}

}  // namespace
}  // namespace mxkv::protocol
