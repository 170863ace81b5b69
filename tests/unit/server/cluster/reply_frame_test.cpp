// Replies of another server: the end of a reply is found however the bytes arrive, whatever its values hold.
#include "server/cluster/reply_frame.hpp"

#include <gmock/gmock.h>

#include <string>

namespace mxkv::server {
namespace {

struct Found {
  std::size_t at = 0;  ///< received bytes when the reply was complete; 0: never
  std::size_t reply = 0;
  std::size_t all = 0;
  friend bool operator==(const Found&, const Found&) = default;
};

/// Looks again after every `step` bytes.
Found find(reply_shape shape, const std::string& bytes, std::size_t step) {
  ReplyFrame frame{shape};
  for (std::size_t come = 0;; come += step) {
    const std::string_view seen = std::string_view{bytes}.substr(0, come);
    if (frame.find_end(seen)) {
      return {seen.size(), frame.reply_bytes(), frame.all_bytes()};
    }
    if (come >= bytes.size()) {
      EXPECT_FALSE(frame.failed());
      return {};
    }
  }
}

void expect_whole(reply_shape shape, const std::string& reply, const std::string& end) {
  SCOPED_TRACE(reply);
  const std::string whole = reply + end;
  EXPECT_EQ(find(shape, whole, 1), (Found{whole.size(), reply.size(), whole.size()}));
  const std::string more = whole + "VALUE next 0 1\r\nMN\r\n\r\n";
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, more.size()}) {
    const Found found = find(shape, more, step);
    EXPECT_EQ(found.reply, reply.size());
    EXPECT_EQ(found.all, whole.size());
    EXPECT_LT(found.at, whole.size() + step);
  }
}

constexpr const char* kOne[] = {"STORED\r\n", "END\r\n",     "SERVER_ERROR moved -\r\n",
                                "17\r\n",     "HD k s5\r\n", "EN\r\n"};

TEST(ReplyFrame, AReplyForOneKeyEndsWithItsLineOrBlock) {
  for (const char* reply : kOne) {
    expect_whole(reply_shape::one, reply, "");
  }
  expect_whole(reply_shape::one, "VALUE a 0 4\r\nMN\r\n\r\nEND\r\n", "");
  expect_whole(reply_shape::one, "VALUE a 7 0 99\r\n\r\nEND\r\n", "");
  expect_whole(reply_shape::one, "VA 6 t-1\r\nEND\r\n\n\r\n", "");
  expect_whole(reply_shape::one, "VA 0\r\n\r\n", "");
}

TEST(ReplyFrame, AReplyOfAnyLengthEndsWithTheNoop) {
  for (const char* reply : kOne) {
    expect_whole(reply_shape::until_noop, reply, "MN\r\n");
  }
  expect_whole(reply_shape::until_noop, "", "MN\r\n");
  expect_whole(reply_shape::until_noop,
               "VALUE a 0 4\r\nMN\r\n\r\nVALUE b 0 5\r\nMN\r\nM\r\nCURSOR x\r\nEND\r\n", "MN\r\n");
  expect_whole(reply_shape::until_noop, "VA 4 ka\r\nMN\r\n\r\nHD kMN\r\nEN A2\r\n", "MN\r\n");
  expect_whole(reply_shape::until_noop, "KEY MN\r\nKEY b\r\nEND\r\n", "MN\r\n");
}

TEST(ReplyFrame, MalformedRepliesAreFound) {
  for (const char* bytes : {"VALUE a 0 x\r\n", "VALUE a\r\n", "VA -1\r\n", "VA 99999999999999999999\r\n"}) {
    ReplyFrame frame;
    EXPECT_FALSE(frame.find_end(bytes));
    EXPECT_TRUE(frame.failed()) << bytes;
  }
  ReplyFrame frame;
  EXPECT_FALSE(frame.find_end(std::string(100'000, 'x')));
  EXPECT_TRUE(frame.failed());
}

}  // namespace
}  // namespace mxkv::server
