// Sessions that must log in first, paged dumps, commands that bypass the store, and samples.
#include "tests/unit/server/net/session/session_fixture.hpp"
#include "tests/unit/server/net/users/known_users.hpp"

namespace mxkv::server::test {
namespace {

TEST(SessionDump, GoesPageByPageAndThePipelineBehindItWaits) {
  Client client;
  client.ask("set a 0 0 1\r\n1\r\nset b 0 0 1\r\n2\r\nset c 0 0 1\r\n3\r\n");
  for (const std::size_t part : {std::size_t{1}, std::size_t{1000}}) {
    client.send("get a\r\nlru_crawler metadump all\r\nget b\r\n", part);
    EXPECT_EQ(client.settle(part),
              "VALUE a 0 1\r\n1\r\nEND\r\nkey=a\nkey=b\nkey=c\nEND\r\nVALUE b 0 1\r\n2\r\nEND\r\n");
  }
}

TEST(SessionWatch, IsRefusedWhereNothingTellsOfChanges) {
  Client client;  // as in a cluster
  client.send("mw a O1\r\nmu O1\r\nmn\r\n");
  EXPECT_EQ(client.settle(), "SERVER_ERROR mw does not work in a cluster\r\nNF\r\nMN\r\n");
}

TEST(SessionDump, StopsWhileTheClientDoesNotRead) {
  config::LimitOptions limits;
  limits.output_high_water = 40;
  Client client{limits};
  for (int i = 100; i < 200; ++i) {
    client.ask("set k" + std::to_string(i) + " 0 0 1\r\n1\r\n");
  }
  client.reads_replies = false;
  client.send("lru_crawler mgdump all\r\n");
  EXPECT_EQ(client.settle(), "");
  EXPECT_LT(client.session->unsent_bytes(), 60U);
  EXPECT_TRUE(client.session->paused_for(pause::output));
  client.reads_replies = true;
  const std::string text = client.settle();
  EXPECT_EQ(std::count(text.begin(), text.end(), '='), 100);
  EXPECT_TRUE(text.ends_with("key=k199\nEND\r\n")) << text;
}

TEST(SessionDump, AClientThatGoesInTheMiddleLeavesNothing) {
  for (const int rounds : {0, 1, 3}) {
    Client client;
    client.ask("set a 0 0 1\r\n1\r\nset b 0 0 1\r\n2\r\n");
    client.send("lru_crawler metadump all\r\n");
    for (int i = 0; i < rounds; ++i) {
      client.round();
    }
    client.session.reset();
    client.settle_store();
    EXPECT_EQ(client.directory.next_dirty(), nullptr);
    EXPECT_EQ(client.directory.entries(), 0U);
  }
}

TEST(SessionReport, GoesPageByPageAndThePipelineBehindItWaits) {
  for (const std::size_t part : {std::size_t{1}, std::size_t{1000}}) {
    Client client;
    client.send("set a 0 0 1\r\n1\r\nstats pages\r\nget a\r\n", part);
    std::string expected = "STORED\r\n";
    for (std::size_t page = 1; page <= Client::kPages; ++page) {
      expected += "STAT " + std::to_string(page) + " " + std::string(Client::kPageBytes, 'p') + "\r\n";
    }
    EXPECT_EQ(client.settle(part), expected + "END\r\nVALUE a 0 1\r\n1\r\nEND\r\n");
  }
}

TEST(SessionReport, ItsPagesUseUpTheTurn) {
  Client client;
  client.send("stats pages\r\nstats pages\r\n");
  const std::size_t most =
      client.limits_.requests_per_turn * RequestAllowance::kBytesOfRequest / Client::kPageBytes;
  EXPECT_LE(client.pages_made, most + 1) << "others have their turn";
  EXPECT_TRUE(client.session->paused_for(pause::turn));
  client.settle();
  EXPECT_EQ(client.pages_made, 2 * Client::kPages);
}

TEST(SessionReport, LongTextsOfOnePageUseUpTheTurn) {
  Client client;
  std::string sent;
  for (int i = 0; i < 256; ++i) {
    sent += "stats long\r\n";
  }
  client.send(sent);
  EXPECT_LT(client.pages_made, 10U) << "one turn took all of them";
  EXPECT_TRUE(client.session->paused_for(pause::turn));
  client.settle();
  EXPECT_EQ(client.pages_made, 256U);
}

TEST(SessionReport, StopsWhileTheClientDoesNotRead) {
  config::LimitOptions limits;
  limits.output_high_water = 100'000;
  Client client{limits};
  client.reads_replies = false;
  client.send("stats pages\r\n");
  EXPECT_EQ(client.settle(), "");
  EXPECT_LT(client.session->unsent_bytes(), 100'000 + 2 * Client::kPageBytes);
  EXPECT_TRUE(client.session->paused_for(pause::output));
  client.reads_replies = true;
  EXPECT_TRUE(client.settle().ends_with("END\r\n"));
  EXPECT_EQ(client.pages_made, Client::kPages);
}

TEST(SessionReport, AClientThatGoesInTheMiddleLeavesNothing) {
  for (const int rounds : {0, 1, 3}) {
    Client client;
    client.send("stats pages\r\n");
    for (int i = 0; i < rounds; ++i) {
      client.round();
    }
    client.session.reset();
    client.settle_store();
    EXPECT_EQ(client.directory.next_dirty(), nullptr);
    EXPECT_EQ(client.directory.entries(), 0U);
  }
}

TEST(SessionReport, AClientWithoutMemoryForItsInputGetsTheErrorBehindThePages) {
  Client client;
  client.send("stats pages\r\n");
  client.session->refuse_input();
  EXPECT_TRUE(client.settle().ends_with("p\r\nSERVER_ERROR out of memory reading request\r\n"));
  EXPECT_TRUE(client.session->finished());
}

TEST(SessionShutdown, ClosesWithoutAnAnswer) {
  Client client;
  EXPECT_EQ(client.ask("verbosity 1\r\nshutdown\r\nversion\r\n"), "OK\r\n");
  EXPECT_TRUE(client.session->finished());
}

class Guarded : public Client {
 public:
  explicit Guarded(config::LimitOptions limits = {}) : Client(limits) {
    credentials.replace(users_of("ann:x\n"));
    host.credentials = &credentials;
    session = std::make_unique<Session>(host, *this);
  }
  Credentials credentials;
};

constexpr std::string_view kNo = "CLIENT_ERROR unauthenticated\r\n";

TEST(SessionLogin, LetsNothingThroughBeforeAndEverythingAfter) {
  for (const std::size_t part : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
    Guarded client;
    client.send(
        "get k\r\nadd k 0 0 5\r\nann x\r\nms k 5\r\nann x\r\nbad\r\nset a 0 0 5\r\nann x\r\nset k 0 0 "
        "1\r\nv\r\nget k\r\n",
        part);
    std::string expected;
    for (int i = 0; i < 4; ++i) {
      expected += kNo;
    }
    EXPECT_EQ(client.settle(part), expected + "STORED\r\nSTORED\r\nVALUE k 0 1\r\nv\r\nEND\r\n");
  }
}

TEST(SessionLogin, RequestsThatAreCompleteAreAnsweredHoweverManyComeInOneRead) {
  constexpr int kRequests = 1000;
  config::LimitOptions limits;
  limits.requests_per_turn = 3;
  std::string sent;
  std::string expected;
  for (int i = 0; i < kRequests; ++i) {
    sent += "version\r\n";
    expected += kNo;
  }
  ASSERT_GT(sent.size(), 2 * Session::kMostOfStranger);
  for (const std::size_t part : {std::size_t{5}, std::size_t{1} << 20U}) {
    Guarded client{limits};
    client.send(sent + "set a 0 0 5\r\nann x\r\n", part);
    EXPECT_EQ(client.settle(part), expected + "STORED\r\n") << "in pieces of " << part;
  }
}

TEST(SessionLogin, ALineThatIsTooLongIsRefusedHoweverItIsCut) {
  for (const std::size_t more : {std::size_t{0}, std::size_t{1}, std::size_t{3000}}) {
    std::string line = "get";
    while (line.size() + 4 <= Session::kMostOfStranger + more) {
      line += " k";
    }
    line.resize(Session::kMostOfStranger + more - 2, 'k');
    line += "\r\n";
    for (const std::size_t part :
         {std::size_t{1}, std::size_t{4000}, std::size_t{4096}, std::size_t{1} << 20U}) {
      Guarded client;
      client.send("version\r\n" + line, part);
      EXPECT_EQ(client.settle(part),
                std::string{kNo} + std::string{more == 0 ? kNo : protocol::kNoInputMemory})
          << more << " more bytes, in pieces of " << part;
      EXPECT_EQ(client.session->state().is(session_state::refused), more != 0);
    }
  }
}

TEST(SessionLogin, BlocksThatAreTooLongAreSwallowed) {
  config::LimitOptions limits;
  limits.value_bytes = 300;
  Guarded client{limits};
  for (const std::size_t bytes : {299U, 400U}) {
    const std::string block =
        "set a 0 0 " + std::to_string(bytes) + "\r\n" + std::string(bytes, 'x') + "\r\n";
    EXPECT_EQ(client.ask(block), "CLIENT_ERROR auth token too long\r\n");
  }
  EXPECT_EQ(client.ask("set a 0 0 5\r\nann x\r\n"), "STORED\r\n");
}

TEST(SessionSample, TimesRequestsWhoseRepliesWentOutAndCountsTheirKeys) {
  runtime::ManualClock clock;
  SlowLog slow;
  Client client;
  client.host.sampler.configure({.sample = 1, .slow_ms = 5}, clock, slow, 3);
  const auto samples = [&client](command_kind kind) {
    LatencyHistogram::Counts counts{};
    client.host.sampler.latencies(kind)->add_to(counts);
    std::uint64_t all = 0;
    for (const std::uint64_t count : counts) {
      all += count;
    }
    return all;
  };
  client.send("get a\r\nget b\r\nget c\r\nget d\r\nset e 0 0 1 noreply\r\n1\r\nset f 0 0 1 noreply\r\n1\r\n");
  client.host.sampler.end_round();
  EXPECT_EQ(samples(command_kind::get), 0U) << "not answered yet";
  clock.advance_us(5000);
  client.settle();
  client.host.sampler.end_round();
  EXPECT_EQ(samples(command_kind::get), 4U);
  EXPECT_EQ(samples(command_kind::set), 0U) << "nobody waits for them";
  EXPECT_EQ(client.host.sampler.hot_keys().counts(0).size(), 6U);
  EXPECT_EQ(client.store.sample.size(), 6U);
  EXPECT_EQ(client.store.sampled_gets, 4U);
  ASSERT_EQ(slow.latest().size(), 4U);
  EXPECT_EQ(slow.latest()[0].nanoseconds, 5'000'000U);
  EXPECT_EQ(slow.latest()[0].worker, 3U);
  EXPECT_EQ(slow.latest()[0].client, "test:1");
}

// One request in 64 is sampled, and 64 is a multiple of most rhythms of clients.
TEST(SessionSample, OfAClientsRhythmEachBeatIsMetAlike) {
  runtime::ManualClock clock;
  SlowLog slow;
  Client client;
  client.host.sampler.configure({.sample = 64}, clock, slow, 0);
  constexpr int kLoops = 8000;
  std::string loops;
  for (int i = 0; i < kLoops / 100; ++i) {
    loops += "get a\r\nget b\r\nincr c 1\r\nset d 0 0 1\r\n1\r\n";
  }
  for (int i = 0; i < 100; ++i) {
    client.ask(loops);
  }
  const std::vector<HotKeys::Count> found = client.host.sampler.hot_keys().counts(clock.monotonic_ns());
  ASSERT_EQ(found.size(), 4U);
  for (const HotKeys::Count& count : found) {
    EXPECT_NEAR(static_cast<double>(count.samples), kLoops / 64.0, kLoops / 64.0 / 2) << count.key;
  }
}

TEST(SessionSample, OfAClientThatIsGoneIsDropped) {
  runtime::ManualClock clock;
  SlowLog slow;
  Client client;
  client.host.sampler.configure({.sample = 1, .slow_ms = 1}, clock, slow, 0);
  client.send("get a\r\nget b c d\r\n");
  client.session.reset();
  client.settle_store();
  clock.advance_us(5000);
  client.host.sampler.end_round();
  EXPECT_TRUE(slow.latest().empty());
  client.session = std::make_unique<Session>(client.host, client);
  client.ask("get a\r\n");
  clock.advance_us(5000);
  client.host.sampler.end_round();
  EXPECT_EQ(slow.latest().size(), 1U);
}

TEST(SessionSample, CountsAllKeysOfARequestAndRangesByTheirPrefix) {
  runtime::ManualClock clock;
  SlowLog slow;
  Client client;
  client.host.sampler.configure({.sample = 1, .slow_ms = 1}, clock, slow, 0);
  client.send("get a hot\r\nget b hot\r\npscan user: 5\r\nmr k1 k9\r\n");
  client.settle();
  std::map<std::string, std::uint64_t> found;
  for (const HotKeys::Count& count : client.host.sampler.hot_keys().counts(clock.monotonic_ns())) {
    found[(count.kind == HotKeys::what::range ? "range " : "") + count.key] = count.samples;
  }
  EXPECT_EQ(found, (std::map<std::string, std::uint64_t>{
                       {"a", 1}, {"b", 1}, {"hot", 2}, {"range user:", 1}, {"range k1", 1}}));
}

TEST(SessionSample, ARequestThatHasToWaitIsOneAndItsTimeGoesOn) {
  runtime::ManualClock clock;
  SlowLog slow;
  Client client;
  client.host.sampler.configure({.sample = 1, .slow_ms = 1}, clock, slow, 0);
  client.send("get a\r\nmx user: p\r\n");
  EXPECT_TRUE(client.session->paused_for(pause::order));
  for (int again = 0; again < 3; ++again) {
    clock.advance_us(5000);
    client.session->resume();
  }
  client.settle();
  client.host.sampler.end_round();
  std::map<command_kind, std::uint64_t> took;
  for (const SlowRequest& one : slow.latest()) {
    took[one.kind] = one.nanoseconds;
  }
  EXPECT_EQ(took, (std::map<command_kind, std::uint64_t>{{command_kind::get, 15'000'000},
                                                         {command_kind::range, 15'000'000}}));
  for (const HotKeys::Count& count : client.host.sampler.hot_keys().counts(clock.monotonic_ns())) {
    EXPECT_EQ(count.samples, 1U) << count.key;
  }
}

TEST(SessionSample, ABatchReportsTheNumberOfItsLines) {
  runtime::ManualClock clock;
  SlowLog slow;
  Client client;
  client.host.sampler.configure({.sample = 1, .slow_ms = 1}, clock, slow, 0);
  client.send("mb 3\r\nmd a\r\nmd b\r\n");
  clock.advance_us(9000);
  client.send("md c\r\n");
  clock.advance_us(5000);
  client.settle();
  client.host.sampler.end_round();
  ASSERT_EQ(slow.latest().size(), 1U) << "the line of the batch is no request of its own";
  EXPECT_EQ(slow.latest()[0].kind, command_kind::batch);
  EXPECT_EQ(slow.latest()[0].keys, 3U);
  EXPECT_EQ(slow.latest()[0].nanoseconds, 5'000'000U) << "until all of it came the time is the client's";
}

TEST(SessionSample, SlowRequestsTellTheirRangeAndSizes) {
  runtime::ManualClock clock;
  SlowLog slow;
  Client client;
  client.host.sampler.configure({.sample = 1, .slow_ms = 1}, clock, slow, 0);
  for (const char* const request : {"set k 0 0 5\r\nvalue\r\n", "pscan user: 5\r\n", "get x y z\r\n"}) {
    client.send(request);
    clock.advance_us(5000);
    client.settle();
    client.host.sampler.end_round();
  }
  std::map<command_kind, SlowRequest> found;
  for (const SlowRequest& one : slow.latest()) {
    found[one.kind] = one;
  }
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[command_kind::set].request_bytes, 5U);
  EXPECT_GE(found[command_kind::set].reply_bytes, std::string{"STORED\r\n"}.size());
  EXPECT_EQ(found[command_kind::range].key, "user:");
  EXPECT_EQ(found[command_kind::get].keys, 3U);
}

TEST(SessionSample, ChangesWhileItRuns) {
  runtime::ManualClock clock;
  SlowLog slow;
  Client client;
  client.host.sampler.configure({.sample = 0, .slow_ms = 0}, clock, slow, 0);
  const auto ask = [&] {
    client.send("get a\r\n");
    clock.advance_us(5000);
    client.settle();
    client.host.sampler.end_round();
    return slow.latest().size();
  };
  EXPECT_EQ(ask(), 0U);
  client.host.sampler.change({.sample = 1, .slow_ms = 1});
  EXPECT_EQ(ask(), 1U);
  client.host.sampler.change({.sample = 1, .slow_ms = 6});
  EXPECT_EQ(ask(), 1U);
}

TEST(SlowLog, KeepsTheLatestInTheirOrder) {
  SlowLog log;
  for (std::uint64_t i = 0; i < SlowLog::kMost + 10; ++i) {
    log.add({.nanoseconds = i});
  }
  const std::vector<SlowRequest> latest = log.latest();
  ASSERT_EQ(latest.size(), SlowLog::kMost);
  EXPECT_EQ(latest.front().nanoseconds, 10U);
  EXPECT_EQ(latest.back().nanoseconds, SlowLog::kMost + 9);
}

}  // namespace
}  // namespace mxkv::server::test
