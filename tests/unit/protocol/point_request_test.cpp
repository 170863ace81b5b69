// The request that a word and its flags make of one key, and predicates that no order of the verbs decides.
#include "protocol/point_request.hpp"

#include <string>
#include <vector>

#include "tests/unit/protocol/parsed_line.hpp"

namespace mxkv::protocol {
namespace {

std::string terms_of(const std::string& line) {
  const ParsedLine parsed(line + "\r\n");
  EXPECT_TRUE(parsed.accepted()) << line;
  const PointRequest request = point_request(*parsed.operator->());
  constexpr std::array kActions{"read", "store", "remove", "count", "inspect"};
  constexpr std::array kModes{"", " add", " replace", " append", " prepend"};
  std::string text = kActions[static_cast<std::size_t>(request.terms.action)];
  text += kModes[static_cast<std::size_t>(request.terms.mode)];
  text += request.terms.down ? " down" : "";
  text += request.terms.action == point_action::count ? " " + std::to_string(request.delta) : "";
  text += request.terms.compares ? " if " + std::to_string(request.compare) : "";
  text += request.terms.touches ? " until " + std::to_string(request.exptime) : "";
  text += request.vivifies() ? " or made" : "";
  text += request.invalidates() ? " or stale" : "";
  return text + (request.is_meta() ? ", meta" : ", text");
}

TEST(PointRequest, EachWordHasItsTerms) {
  struct Row {
    const char* line;
    const char* terms;
  };
  for (const auto& [line, terms] : {Row{"get k", "read, text"},
                                    Row{"gets k", "read, text"},
                                    Row{"gat 30 k", "read until 30, text"},
                                    Row{"gats 30 k", "read until 30, text"},
                                    Row{"touch k -1", "read until -1, text"},
                                    Row{"set k 0 30 1", "store, text"},
                                    Row{"add k 0 0 1", "store add, text"},
                                    Row{"replace k 0 0 1", "store replace, text"},
                                    Row{"append k 0 0 1", "store append, text"},
                                    Row{"prepend k 0 0 1", "store prepend, text"},
                                    Row{"cas k 0 0 1 9", "store if 9, text"},
                                    Row{"incr k 3", "count 3, text"},
                                    Row{"decr k 3", "count down 3, text"},
                                    Row{"delete k", "remove, text"},
                                    Row{"mg k v", "read, meta"},
                                    Row{"mg k T30 N60", "read until 30 or made, meta"},
                                    Row{"ms k 1", "store, meta"},
                                    Row{"ms k 1 ME", "store add, meta"},
                                    Row{"ms k 1 MR C9 I", "store replace if 9 or stale, meta"},
                                    Row{"ms k 1 MA N0", "store append or made, meta"},
                                    Row{"ms k 1 MP", "store prepend, meta"},
                                    Row{"ms k 1 MS", "store, meta"},
                                    Row{"md k C9", "remove if 9, meta"},
                                    Row{"md k I T30", "remove until 30 or stale, meta"},
                                    Row{"ma k", "count 1, meta"},
                                    Row{"ma k MD D7", "count down 7, meta"},
                                    Row{"ma k M+ N0", "count 1 or made, meta"},
                                    Row{"me k", "inspect, meta"}}) {
    EXPECT_EQ(terms_of(line), terms);
  }
}

TEST(PointRequest, OrderIsThatOfWhatItChangesAndShows) {
  const auto order_of = [](const std::string& line) {
    const ParsedLine parsed(line + "\r\n");
    const PointRequest request = point_request(*parsed.operator->());
    return std::string{request.only_reads() ? "reads" : "changes"} +
           (request.terms.ordered ? ", ordered" : "");
  };
  for (const std::string line : {"get k", "gets k", "mg k v", "mg k R30", "me k"}) {
    EXPECT_EQ(order_of(line), "reads") << line;
  }
  for (const std::string line : {"gat 30 k", "gats 30 k", "mg k T30", "mg k N30"}) {
    EXPECT_EQ(order_of(line), "changes") << line;
  }
  for (const std::string line :
       {"touch k 30", "set k 0 0 1", "incr k 1", "delete k", "ms k 1", "md k", "ma k"}) {
    EXPECT_EQ(order_of(line), "changes, ordered") << line;
  }
}

TEST(PointRequest, PredicatesNameTheirVerbs) {
  const auto lines_where = [](auto is, std::vector<std::string> lines) {
    std::erase_if(lines, [&](const std::string& line) { return is(ParsedLine(line + "\r\n")->op); });
    return lines;
  };
  const std::vector<std::string> ranges{"mr a", "mc a", "mx a", "mt a T1"};
  EXPECT_EQ(lines_where(is_meta_range, ranges), std::vector<std::string>{});
  EXPECT_EQ(lines_where(is_range, ranges), std::vector<std::string>{});
  EXPECT_EQ(lines_where(is_meta, ranges), ranges);
  const std::vector<std::string> scans{"scan a 1", "scans a 1", "pscan a 1", "pscans a 1"};
  EXPECT_EQ(lines_where(is_range, scans), std::vector<std::string>{});
  EXPECT_EQ(lines_where(is_meta_range, scans), scans);
  const std::vector<std::string> others{"stats", "mb 1", "flush_all", "version", "watch"};
  EXPECT_EQ(lines_where(is_meta, others), others);
  EXPECT_EQ(lines_where(is_storage, others), others);
  EXPECT_EQ(lines_where(is_retrieval, others), others);
}

}  // namespace
}  // namespace mxkv::protocol
