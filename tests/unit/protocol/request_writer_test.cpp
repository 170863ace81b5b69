// Requests that are written again: the parsed copy asks for the same.
#include "protocol/request_writer.hpp"

#include <random>
#include <string>

#include "tests/unit/protocol/parsed_line.hpp"

namespace mxkv::protocol {
namespace {

std::string without_silence(std::string line) {
  const std::size_t at = line.find(" noreply");
  return at == std::string::npos ? line : line.erase(at);
}

std::string written(const ParsedLine& line) {
  std::string text;
  if (is_range(line->op)) {
    write_range_line(text, *line.operator->());
    return text;
  }
  const PointRequest point = point_request(*line.operator->());
  write_point_line(text, point, {.flags = line->flags, .exptime = line->exptime, .bytes = line->value_bytes});
  return text;
}

void expect_same_flags(const MetaFlags& one, const MetaFlags& other) {
  EXPECT_EQ(one.wants(), other.wants());
  EXPECT_EQ(one.opaque(), other.opaque());
  EXPECT_EQ(one.mode, other.mode);
  EXPECT_EQ(one.quiet, other.quiet);
  EXPECT_EQ(one.value, other.value);
  EXPECT_EQ(one.no_bump, other.no_bump);
  EXPECT_EQ(one.invalidate, other.invalidate);
  EXPECT_EQ(one.remove_value, other.remove_value);
  EXPECT_EQ(one.binary_key, other.binary_key);
  EXPECT_EQ(one.has_compare, other.has_compare);
  EXPECT_EQ(one.has_exptime, other.has_exptime);
  EXPECT_EQ(one.vivify, other.vivify);
  EXPECT_EQ(one.has_recache, other.has_recache);
  EXPECT_EQ(one.tells_access, other.tells_access);
  EXPECT_EQ(one.exptime, other.exptime);
  EXPECT_EQ(one.vivify_exptime, other.vivify_exptime);
  EXPECT_EQ(one.recache, other.recache);
  EXPECT_EQ(one.compare, other.compare);
  EXPECT_EQ(one.cas, other.cas);
  EXPECT_EQ(one.delta, other.delta);
  EXPECT_EQ(one.initial, other.initial);
}

void expect_comes_back(const std::string& sent) {
  SCOPED_TRACE(sent);
  const ParsedLine line(sent + "\r\n");
  ASSERT_TRUE(line.accepted());
  const std::string text = written(line);
  SCOPED_TRACE(text);
  const ParsedLine again(text);
  ASSERT_TRUE(again.accepted()) << again.parsed().error;
  EXPECT_EQ(again.parsed().consumed, text.size());
  EXPECT_EQ(again->op, line->op);
  EXPECT_FALSE(again->noreply);
  const PointRequest asked = point_request(*line.operator->());
  const PointRequest asked_again = point_request(*again.operator->());
  EXPECT_EQ(asked_again.key, asked.key);
  EXPECT_EQ(asked_again.exptime, asked.exptime);
  EXPECT_EQ(asked_again.compare, asked.compare);
  EXPECT_EQ(asked_again.delta, asked.delta);
  EXPECT_EQ(asked_again.terms.touches, asked.terms.touches);
  EXPECT_EQ(asked_again.terms.mode, asked.terms.mode);
  EXPECT_EQ(asked_again.terms.down, asked.terms.down);
  EXPECT_EQ(again->value_bytes, line->value_bytes);
  if (takes_value(line->op)) {
    EXPECT_EQ(again->flags, line->flags);
  }
  if (is_meta(line->op)) {
    expect_same_flags(again->meta, line->meta);
  } else {
    EXPECT_EQ(text, without_silence(sent) + "\r\n");  // there is one way to say it
  }
}

TEST(RequestWriter, ClassicCommandsComeBackByteForByte) {
  for (const char* line :
       {"get key", "gets key", "gat 30 key", "gats -1 key", "touch key 300", "touch key -1 noreply",
        "set key 7 60 5", "set key 4294967295 -1 0 noreply", "add key 0 0 1048576", "replace key 0 0 2",
        "append key 0 0 3", "prepend key 0 0 3", "cas key 1 2 3 18446744073709551615", "incr key 5",
        "decr key 18446744073709551615 noreply", "delete key"}) {
    expect_comes_back(line);
  }
}

TEST(RequestWriter, MetaCommandsComeBackWithAllFlags) {
  for (const char* line : {"mg key",
                           "mg key v",
                           "mg a2V5AAE= b k v",
                           "mg key s v t f c h l k Oopaque q u",
                           "mg key T30 t N60 R5 v",
                           "mg key t T-1",
                           "mg key C5 v E7 N0",
                           "ms key 5",
                           "ms key 5 T60 F7 c O1 k q",
                           "ms AAEC 0 b MA N30 I",
                           "ms key 2 C18446744073709551615 E9 ME",
                           "ms key 2 MP",
                           "ms key 2 MR",
                           "md key",
                           "md key q I T30 C5 x Oabc k",
                           "ma key",
                           "ma key MD D5 J13 N60 v t c q",
                           "ma AAE= b M+ D0",
                           "ma key M- E5",
                           "me key",
                           "me AAE= b"}) {
    expect_comes_back(line);
  }
}

void expect_same_range(const RangeRequest& one, const RangeRequest& other) {
  const auto same_bound = [](const RangeBound& a, const RangeBound& b, std::string_view unbounded) {
    if (a.unbounded != b.unbounded) {
      EXPECT_EQ(a.unbounded ? b.key : a.key, unbounded);
      EXPECT_TRUE(a.inclusive && b.inclusive);
    } else if (!a.unbounded) {
      EXPECT_EQ(a.key, b.key);
      EXPECT_EQ(a.inclusive, b.inclusive);
    }
  };
  same_bound(one.low, other.low, std::string_view("\0", 1));
  same_bound(one.high, other.high, std::string(kMaxKeyBytes, '\xff'));
  EXPECT_EQ(one.prefix, other.prefix);
  EXPECT_EQ(one.by_prefix, other.by_prefix);
  EXPECT_EQ(one.limit, other.limit);
  EXPECT_EQ(one.byte_limit, other.byte_limit);
  EXPECT_EQ(one.time_limit_us, other.time_limit_us);
  EXPECT_EQ(one.reverse, other.reverse);
  EXPECT_EQ(one.keys_only, other.keys_only);
  EXPECT_EQ(one.with_cas, other.with_cas);
  EXPECT_EQ(one.want_cursor, other.want_cursor);
  EXPECT_EQ(one.exact, other.exact);
  EXPECT_EQ(one.locked, other.locked);
  EXPECT_EQ(one.numeric.sum, other.numeric.sum);
  EXPECT_EQ(one.numeric.least, other.numeric.least);
  EXPECT_EQ(one.numeric.greatest, other.numeric.greatest);
  EXPECT_EQ(one.delimiter, other.delimiter);
  EXPECT_EQ(one.names_only, other.names_only);
}

void expect_range_comes_back(const std::string& sent) {
  SCOPED_TRACE(sent);
  const ParsedLine line(sent + "\r\n");
  ASSERT_TRUE(line.accepted()) << line.parsed().error;
  const std::string text = written(line);
  SCOPED_TRACE(text);
  const ParsedLine again(text);
  ASSERT_TRUE(again.accepted()) << again.parsed().error;
  EXPECT_EQ(again->op, line->op);
  EXPECT_EQ(again->meta.wants(), line->meta.wants());
  EXPECT_EQ(again->meta.opaque(), line->meta.opaque());
  EXPECT_EQ(again->meta.quiet, line->meta.quiet);
  EXPECT_EQ(again->meta.value, line->meta.value);
  EXPECT_EQ(again->exptime, line->exptime);
  if (!is_meta_range(line->op)) {
    EXPECT_EQ(again.range().base64, line.range().base64);
  }
  expect_same_range(again.range(), line.range());
}

TEST(RequestWriter, RangesComeBack) {
  for (const char* line : {"scan key 10",
                           "scan - + 5",
                           "scan [a (c 7 bytes=100 reverse keys cursor",
                           "scans (a [c 1",
                           "scan + 5",
                           "scan a - 5",
                           "scan [AAE= (/wA= 5 base64",
                           "scan - [c 3 reverse",
                           "scan [a (c 3 reverse cursor",
                           "pscan user: 10",
                           "pscans user: 10 keys reverse",
                           "pscan AAE= 10 base64 cursor",
                           "mr -",
                           "mr - r",
                           "mr a Hc i o",
                           "mr c Ha r i o",
                           "mr user: p",
                           "mr user: p r v s c A10 B1000 U500 X",
                           "mr AAE= b H/wA= v f t k q Oabc",
                           "mc a Hc",
                           "mc - e Msnx",
                           "mc p: p D: A10 U5 k Oq",
                           "mc a Hc X",
                           "mx a Hc",
                           "mx p: p A5 U7",
                           "mx a Hc X A100 q Ox",
                           "mt a Hc T30",
                           "mt p: p T-1 A10 q"}) {
    expect_range_comes_back(line);
  }
}

TEST(RequestWriter, TheRestOfACursorComesBack) {
  const std::string last("l\0st", 4);
  for (const bool reverse : {false, true}) {
    const std::string plain =
        cursor_text({.last_key = last, .far = {"m\xff", false, true}, .prefix = {}, .reverse = reverse});
    const std::string open = cursor_text({.last_key = last, .far = {}, .prefix = {}, .reverse = reverse});
    const std::string prefixed =
        cursor_text({.last_key = last, .far = {}, .prefix = "l", .by_prefix = true, .reverse = reverse});
    expect_range_comes_back("scan cursor=" + plain + " 10 cursor");
    expect_range_comes_back("scan cursor=" + open + " 10 keys");
    expect_range_comes_back("pscan cursor=" + prefixed + " 10 base64");
    expect_range_comes_back("mr x G" + plain + " v");
    expect_range_comes_back("mr x G" + open + " v c");
    expect_range_comes_back("mr x p G" + prefixed);
  }
  expect_range_comes_back("mx l p G" +
                          cursor_text({.last_key = last, .far = {}, .prefix = "l", .by_prefix = true}));
  expect_range_comes_back("mx a Hz G" +
                          cursor_text({.last_key = last, .far = {"q", false, false}, .prefix = {}}));
}

TEST(RequestWriter, RandomMetaLinesComeBack) {
  std::mt19937 random{7};
  const auto number = [&random](unsigned most) { return random() % most; };
  for (int round = 0; round < 5000; ++round) {
    const char* const verbs[] = {"mg", "ms", "md", "ma", "me"};
    const std::string verb = verbs[number(5)];
    std::string line = verb + " a2V5" + (verb == "ms" ? " 5" : "");
    std::string letters = "bcfhklstqvuIx";
    std::shuffle(letters.begin(), letters.end(), random);
    for (const char letter : letters.substr(0, number(8))) {
      line += std::string(" ") + letter;
    }
    for (const char* token : {" T", " N", " R", " C", " E", " D", " J"}) {
      if (number(3) == 0) {
        line += token + std::to_string(number(1'000'000));
      }
    }
    if (number(2) == 0) {
      line += " O" + std::to_string(random());
    }
    const ParsedLine parsed(line + "\r\n");
    ASSERT_TRUE(parsed.accepted()) << line;
    expect_comes_back(line);
  }
}

}  // namespace
}  // namespace mxkv::protocol
