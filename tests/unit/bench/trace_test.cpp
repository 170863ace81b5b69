// A trace is read whole, or refused with file, line and the expected form; its requests in both protocols.
#include "bench/workload/trace.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "bench/client/pacer.hpp"
#include "bench/client/wire.hpp"
#include "bench/workload/operations.hpp"
#include "tests/unit/bench/wire_fixture.hpp"

namespace mxkv::bench {
namespace {

using testing::read_in_two;
using testing::request_of;

constexpr std::uint64_t kMostTraceValue = 1000;

runtime::Result<Trace> trace_of(const std::string& text) {
  return Trace::parse(text, "file", kMostTraceValue);
}

std::string problem_of_trace(const std::string& text) {
  const auto trace = trace_of(text);
  return trace ? "" : trace.error().message;
}

TEST(Trace, KeepsTheRequestsAndEachKeyOnce) {
  const auto found = trace_of("7,ab,2,0,1,get,0\n7,q:c,5,10,2,set,3600\r\n9,ab,2,1000,1,cas,9999999\n");
  ASSERT_TRUE(found.ok());
  const Trace& trace = found.value();
  ASSERT_EQ(trace.size(), 3U);
  EXPECT_EQ(trace.keys().size(), 2U);
  EXPECT_EQ(trace.keys()[trace[0].key], "ab");
  EXPECT_EQ(trace.keys()[trace[1].key], "q:c--") << "as long as the original key";
  EXPECT_EQ(trace[2].key, trace[0].key);
  EXPECT_EQ(trace[0].action, TraceAction::get);
  EXPECT_EQ(trace[1].action, TraceAction::set);
  EXPECT_EQ(trace[2].action, TraceAction::cas);
  EXPECT_EQ(trace[1].value_bytes, 10U);
  EXPECT_EQ(trace[1].ttl_s, 3600U);
  EXPECT_EQ(trace[2].ttl_s, 2'592'000U) << "a server would take more for a date";
  EXPECT_EQ(trace.length_s(), 3);
}

TEST(Trace, TakesEveryOperation) {
  std::string text;
  for (const char* name :
       {"get", "gets", "set", "add", "replace", "cas", "append", "prepend", "delete", "incr", "decr"}) {
    text += std::string("1,") + name + ",9,1,1," + name + ",0\n";
  }
  const auto trace = trace_of(text);
  ASSERT_TRUE(trace.ok());
  for (std::size_t i = 0; i < trace.value().size(); ++i) {
    const TraceRequest& request = trace.value()[i];
    EXPECT_EQ(request.action, static_cast<TraceAction>(i));
    EXPECT_EQ(trace.value().keys().opaque(request.key), i == 6 || i == 7 || i >= 9) << i;
    EXPECT_EQ(trace.value().keys().counter(request.key), i >= 9) << i;
  }
}

TEST(Trace, FindsKeysAgainHoweverManyThereAre) {
  TraceKeys keys;
  constexpr std::uint32_t kMany = 50'000;
  for (int pass = 0; pass < 2; ++pass) {
    for (std::uint32_t i = 0; i < kMany; ++i) {
      const std::string key = std::string(i % 245, 'x') + std::to_string(i);
      ASSERT_EQ(keys.intern(key), i);
      ASSERT_EQ(keys[i], key);
    }
  }
  EXPECT_EQ(keys.size(), kMany);
}

TEST(Trace, SaysWhatIsWrongAndWhere) {
  const std::string form = "timestamp,key,key size,value size,client id,operation,TTL";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "file: has no request; expected lines of " + form},
      {"1,a,1,1,1,get,0\n2,b,1,1,1,get,0",
       "file:2: the file ends within this line; expected a newline: is the file complete?"},
      {"1,a,1,1,1,get\n", "file:1: has 6 columns; expected 7: " + form},
      {"1,a,1,1,1,get,0\n1,a,1,1,1,get,0,0\n", "file:2: has 8 columns; expected 7: " + form},
      {"1,a,1,1,1,get,0\n\n", "file:2: has 1 column; expected 7: " + form},
      {"x,a,1,1,1,get,0\n", "file:1: timestamp 'x'; expected whole seconds below 4294967295"},
      {"-1,a,1,1,1,get,0\n", "file:1: timestamp '-1'; expected whole seconds below 4294967295"},
      {"5,a,1,1,1,get,0\n4,a,1,1,1,get,0\n",
       "file:2: timestamp '4' is before the previous line's, 5; expected times in order"},
      {"1,,1,1,1,get,0\n", "file:1: key ''; expected 1 to 250 bytes without blanks and control characters"},
      {"1,a b,3,1,1,get,0\n",
       "file:1: key 'a b'; expected 1 to 250 bytes without blanks and control characters"},
      {"1,a,0,1,1,get,0\n", "file:1: key size '0'; expected 1 to 250, the servers' limit"},
      {"1,a,251,1,1,get,0\n", "file:1: key size '251'; expected 1 to 250, the servers' limit"},
      {"1,a,1,1001,1,get,0\n",
       "file:1: value size '1001'; expected 0 to 1000, the limit that --trace-value-bytes sets"},
      {"1,a,1,1,1,GET,0\n",
       "file:1: operation 'GET'; expected get, gets, set, add, replace, cas, append, prepend, delete, incr "
       "or decr"},
      {"1,a,1,1,1,get,0.5\n", "file:1: TTL '0.5'; expected whole seconds, 0 for none"},
      {"\x28\xB5\x2F\xFD rest",
       "file: is compressed: pipe it in, as by zstdcat FILE | mxkv-ycsb run --trace -"},
      {std::string(5000, 'x'), "file:1: has more than 4096 bytes; expected " + form}};
  for (const auto& [text, problem] : cases) {
    EXPECT_EQ(problem_of_trace(text), problem);
  }
  EXPECT_NE(problem_of_trace("1," + std::string(251, 'k') + ",9,1,1,get,0\n").find("expected 1 to 250 bytes"),
            std::string::npos);
}

TEST(Trace, AFileIsReadInPiecesAndAMissingOneIsNamed) {
  EXPECT_EQ(Trace::read("/nowhere/trace", kMostTraceValue).error().message,
            "/nowhere/trace: cannot be read: No such file or directory");
  std::string text;
  constexpr std::size_t kLines = 60'000;  // more than one piece of a read
  for (std::size_t i = 0; i < kLines; ++i) {
    text += std::to_string(i / 100) + ",key" + std::to_string(i) + ",9,1,1,get,0\n";
  }
  const std::string name = ::testing::TempDir() + "trace_test.csv";
  std::FILE* const file = std::fopen(name.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(std::fwrite(text.data(), 1, text.size(), file), text.size());
  ASSERT_EQ(std::fclose(file), 0);
  const auto trace = Trace::read(name, kMostTraceValue);
  std::remove(name.c_str());
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace.value().size(), kLines);
  EXPECT_EQ(trace.value().keys()[trace.value()[kLines - 1].key], "key59999-");
}

TEST(Trace, RequestsOfASecondAreSpreadOverIt) {
  const auto trace = trace_of("10,a,1,1,1,get,0\n10,a,1,1,1,get,0\n13,a,1,1,1,get,0\n");
  ASSERT_TRUE(trace.ok());
  EXPECT_DOUBLE_EQ(trace.value().offset_s(0), 0);
  EXPECT_DOUBLE_EQ(trace.value().offset_s(1), 0.5);
  EXPECT_DOUBLE_EQ(trace.value().offset_s(2), 3);
  std::vector<std::uint64_t> due;
  for (std::uint32_t thread = 0; thread < 2; ++thread) {
    Pacer pacer({.rate_per_s = 1, .index = thread, .threads = 2, .trace = &trace.value(), .trace_speed = 10});
    pacer.start(1000);
    due.push_back(pacer.send(0));
    due.push_back(pacer.next_ns());
  }
  EXPECT_EQ(due[0], 1000U);
  EXPECT_EQ(due[1], 1000U + 300'000'000);
  EXPECT_EQ(due[2], 1000U + 50'000'000);
  EXPECT_GT(due[3], 1'000'000'000'000U) << "there is no further request";
}

TEST(Trace, ThreadsTakeTurnsWithItsRequests) {
  WorkloadSpec spec;
  spec.operation_count = 0;
  spec.replay.trace = std::make_shared<const Trace>(
      trace_of("1,a,1,5,1,get,0\n1,b,1,6,1,set,0\n1,c,1,7,1,delete,0\n1,d,1,8,1,incr,0\n1,e,1,9,1,gets,0\n")
          .value());
  SharedWorkload shared(spec);
  std::vector<std::pair<std::uint64_t, OperationKind>> found;
  for (std::uint32_t thread = 0; thread < 2; ++thread) {
    OperationSource source(shared, thread, 2);
    while (const auto operation = source.next()) {
      EXPECT_EQ(operation->value_bytes, 5 + operation->record);
      found.emplace_back(operation->record, operation->kind);
    }
  }
  EXPECT_EQ(found, (std::vector<std::pair<std::uint64_t, OperationKind>>{{0, OperationKind::read},
                                                                         {2, OperationKind::remove},
                                                                         {4, OperationKind::read},
                                                                         {1, OperationKind::update},
                                                                         {3, OperationKind::update}}));
  spec.operation_count = 2;
  SharedWorkload first_two(spec);
  OperationSource source(first_two, 0, 1);
  EXPECT_EQ(source.left(), 2U);
}

/// One request in a protocol: its bytes, and the outcomes of replies.
class TraceWireTest : public ::testing::Test {
 protected:
  static Operation operation_of(OperationKind kind, std::uint64_t record, std::uint32_t bytes) {
    Operation operation;
    operation.kind = kind;
    operation.record = record;
    operation.value_bytes = bytes;
    return operation;
  }

  static Outcome outcome_of(const Wire& wire, const Operation& operation, const std::string& reply) {
    Outcome outcome = Outcome::incomplete;
    for (std::size_t cut = 0; cut <= reply.size(); ++cut) {
      std::string stream = reply;
      const Outcome now = read_in_two(wire, operation, stream, cut);
      EXPECT_TRUE(cut == 0 || now == outcome) << reply << cut;
      outcome = now;
    }
    return outcome;
  }

  const Trace trace_ =
      trace_of(
          "1,g,1,0,1,get,0\n1,g,1,0,1,gets,0\n1,g,1,20,1,set,60\n1,g,1,20,1,cas,0\n1,g,1,20,1,add,0\n"
          "1,g,1,20,1,replace,5\n1,g,1,0,1,delete,0\n1,n,1,3,1,incr,0\n1,n,1,3,1,set,0\n1,p,1,2,1,append,0\n")
          .value();
};

TEST_F(TraceWireTest, MemcachedHasARequestForEachOperation) {
  const auto wire = make_trace_wire(trace_, false);
  const auto request = [&](OperationKind kind, std::uint64_t record, std::uint32_t bytes) {
    return request_of(*wire, operation_of(kind, record, bytes));
  };
  EXPECT_EQ(request(OperationKind::read, 0, 0), "get g\r\n");
  EXPECT_EQ(request(OperationKind::read, 1, 0), "gets g\r\n");
  const std::string set = request(OperationKind::update, 2, 20);
  EXPECT_TRUE(set.starts_with("set g 0 60 20\r\n"));
  EXPECT_EQ(set.size(), std::string("set g 0 60 20\r\n").size() + 22);
  EXPECT_TRUE(request(OperationKind::update, 3, 20).starts_with("set g 0 0 20\r\n"));
  EXPECT_TRUE(request(OperationKind::update, 4, 20).starts_with("add g 0 0 20\r\n"));
  EXPECT_TRUE(request(OperationKind::update, 5, 20).starts_with("replace g 0 5 20\r\n"));
  EXPECT_EQ(request(OperationKind::remove, 6, 0), "delete g\r\n");
  EXPECT_EQ(request(OperationKind::update, 7, 3), "incr n 1\r\n");
  EXPECT_EQ(request(OperationKind::update, 8, 3), "set n 0 0 3\r\n111\r\n");
  EXPECT_TRUE(request(OperationKind::update, 9, 2).starts_with("append p 0 0 2\r\n"));
  EXPECT_TRUE(request(OperationKind::insert, 0, 12).starts_with("set g 0 0 12\r\n"))
      << "fills the miss of a get";
  EXPECT_EQ(request(OperationKind::insert, 0, 0), "set g 0 0 0\r\n\r\n");
}

TEST_F(TraceWireTest, MemcachedsRepliesAreVerified) {
  const auto wire = make_trace_wire(trace_, false);
  const Operation set = operation_of(OperationKind::update, 2, 20);
  const std::string value = request_of(*wire, set).substr(std::string("set g 0 60 20\r\n").size());
  const Operation get = operation_of(OperationKind::read, 0, 0);
  EXPECT_EQ(outcome_of(*wire, get, "VALUE g 0 20\r\n" + value + "END\r\n"), Outcome::ok);
  EXPECT_EQ(
      outcome_of(*wire, operation_of(OperationKind::read, 1, 0), "VALUE g 0 20 77\r\n" + value + "END\r\n"),
      Outcome::ok);
  EXPECT_EQ(outcome_of(*wire, get, "VALUE h 0 20\r\n" + value + "END\r\n"), Outcome::wrong);
  EXPECT_EQ(outcome_of(*wire, get, "VALUE g 0 20\r\n" + std::string(20, 'x') + "\r\nEND\r\n"),
            Outcome::wrong);
  EXPECT_EQ(outcome_of(*wire, get, "END\r\n"), Outcome::not_found);
  EXPECT_EQ(outcome_of(*wire, get, "SERVER_ERROR x\r\n"), Outcome::error);
  EXPECT_EQ(outcome_of(*wire, set, "STORED\r\n"), Outcome::ok);
  EXPECT_EQ(outcome_of(*wire, set, "NOT_STORED\r\n"), Outcome::error);
  EXPECT_EQ(outcome_of(*wire, operation_of(OperationKind::update, 4, 20), "NOT_STORED\r\n"), Outcome::ok);
  EXPECT_EQ(outcome_of(*wire, operation_of(OperationKind::remove, 6, 0), "NOT_FOUND\r\n"),
            Outcome::not_found);
  EXPECT_EQ(outcome_of(*wire, operation_of(OperationKind::remove, 6, 0), "DELETED\r\n"), Outcome::ok);
  EXPECT_EQ(outcome_of(*wire, operation_of(OperationKind::update, 7, 3), "112\r\n"), Outcome::ok);
  EXPECT_EQ(outcome_of(*wire, operation_of(OperationKind::update, 7, 3), "NOT_FOUND\r\n"),
            Outcome::not_found);
  EXPECT_EQ(outcome_of(*wire, operation_of(OperationKind::update, 7, 3), "DELETED\r\n"),
            Outcome::out_of_step);
}

TEST_F(TraceWireTest, RedisHasARequestForEachOperation) {
  const auto wire = make_trace_wire(trace_, true);
  const auto request = [&](OperationKind kind, std::uint64_t record, std::uint32_t bytes) {
    return request_of(*wire, operation_of(kind, record, bytes));
  };
  EXPECT_EQ(request(OperationKind::read, 1, 0), "*2\r\n$3\r\nGET\r\n$1\r\ng\r\n");
  const std::string set = request(OperationKind::update, 2, 20);
  EXPECT_TRUE(set.starts_with("*5\r\n$3\r\nSET\r\n$1\r\ng\r\n$20\r\n"));
  EXPECT_TRUE(set.ends_with("\r\n$2\r\nEX\r\n$2\r\n60\r\n"));
  EXPECT_TRUE(request(OperationKind::update, 4, 20).ends_with("\r\n$2\r\nNX\r\n"));
  EXPECT_TRUE(request(OperationKind::update, 5, 20).ends_with("\r\n$2\r\nXX\r\n$2\r\nEX\r\n$1\r\n5\r\n"));
  EXPECT_EQ(request(OperationKind::remove, 6, 0), "*2\r\n$3\r\nDEL\r\n$1\r\ng\r\n");
  EXPECT_EQ(request(OperationKind::update, 7, 3), "*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n");
  EXPECT_TRUE(request(OperationKind::update, 9, 2).starts_with("*3\r\n$6\r\nAPPEND\r\n$1\r\np\r\n$2\r\n"));
  EXPECT_EQ(outcome_of(*wire, operation_of(OperationKind::read, 0, 0), "$-1\r\n"), Outcome::not_found);
  EXPECT_EQ(outcome_of(*wire, operation_of(OperationKind::update, 2, 20), "+OK\r\n"), Outcome::ok);
  EXPECT_EQ(outcome_of(*wire, operation_of(OperationKind::update, 4, 20), "$-1\r\n"), Outcome::ok);
  EXPECT_EQ(outcome_of(*wire, operation_of(OperationKind::remove, 6, 0), ":0\r\n"), Outcome::not_found);
  EXPECT_EQ(outcome_of(*wire, operation_of(OperationKind::update, 7, 3), ":-4\r\n"), Outcome::ok);
  EXPECT_EQ(outcome_of(*wire, operation_of(OperationKind::update, 7, 3), "-ERR\r\n"), Outcome::error);
}

}  // namespace
}  // namespace mxkv::bench
