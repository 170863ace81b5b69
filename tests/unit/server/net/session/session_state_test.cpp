// Every transition of a session from each state that allows it, and that all other states assert.
#include "server/net/session/session_state.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "server/net/session/pauses.hpp"

namespace mxkv::server::test {
namespace {

using state = session_state;

/// A transition with its name.
struct Event {
  const char* name;
  void (SessionState::*happen)();
};

constexpr Event kRequireLogin{"require_login", &SessionState::require_login};
constexpr Event kBeginText{"begin_text", &SessionState::begin_text};
constexpr Event kBeginCredentials{"begin_credentials", &SessionState::begin_credentials};
constexpr Event kAdmit{"admit", &SessionState::admit};
constexpr Event kReject{"reject", &SessionState::reject};
constexpr Event kBeginBinary{"begin_binary", &SessionState::begin_binary};
constexpr Event kAdmitBinary{"admit_binary", &SessionState::admit_binary};
constexpr Event kRejectBinary{"reject_binary", &SessionState::reject_binary};
constexpr Event kBeginKeys{"begin_keys", &SessionState::begin_keys};
constexpr Event kEndKeys{"end_keys", &SessionState::end_keys};
constexpr Event kBeginValue{"begin_value", &SessionState::begin_value};
constexpr Event kFillValue{"fill_value", &SessionState::fill_value};
constexpr Event kEndValue{"end_value", &SessionState::end_value};
constexpr Event kBeginSwallowing{"begin_swallowing", &SessionState::begin_swallowing};
constexpr Event kEndSwallowing{"end_swallowing", &SessionState::end_swallowing};
constexpr Event kBeginBatch{"begin_batch", &SessionState::begin_batch};
constexpr Event kEndBatch{"end_batch", &SessionState::end_batch};
constexpr Event kBeginDump{"begin_dump", &SessionState::begin_dump};
constexpr Event kEndDump{"end_dump", &SessionState::end_dump};
constexpr Event kBeginReport{"begin_report", &SessionState::begin_report};
constexpr Event kEndReport{"end_report", &SessionState::end_report};
constexpr Event kBeginWatch{"begin_watch", &SessionState::begin_watch};
constexpr Event kDrain{"drain", &SessionState::drain};
constexpr Event kRefuse{"refuse", &SessionState::refuse};

constexpr std::array kEvents{
    kRequireLogin, kBeginCredentials, kAdmit,        kReject,          kBeginKeys,     kEndKeys,
    kBeginValue,   kFillValue,        kEndValue,     kBeginSwallowing, kEndSwallowing, kBeginBatch,
    kEndBatch,     kBeginDump,        kEndDump,      kBeginWatch,      kDrain,         kRefuse,
    kBeginBinary,  kAdmitBinary,      kRejectBinary, kBeginText,       kBeginReport,   kEndReport};

/// The resulting state.
struct Step {
  Event event;
  state next;
};

/// A state, one way to reach it, and all transitions that it allows. The state after a block depends on the state before it,
/// so a state appears once for each way.
struct Row {
  state here;
  std::vector<Event> way;
  std::vector<Step> steps;
};

const std::vector<Row>& table() {
  const Step drains{kDrain, state::draining};
  const Step refuses{kRefuse, state::refused};
  const std::vector<Step> of_an_opening{{kRequireLogin, state::opening},
                                        {kBeginText, state::line},
                                        {kBeginBinary, state::binary},
                                        drains,
                                        refuses};
  const std::vector<Step> of_a_strangers_opening{{kRequireLogin, state::opening},
                                                 {kBeginText, state::login},
                                                 {kBeginBinary, state::binary_login},
                                                 drains,
                                                 refuses};
  const std::vector<Step> of_a_line{{kBeginKeys, state::keys},
                                    {kBeginValue, state::value},
                                    {kBeginSwallowing, state::swallowing},
                                    {kBeginBatch, state::batch},
                                    {kBeginDump, state::dump},
                                    {kBeginReport, state::report},
                                    {kBeginWatch, state::watch},
                                    drains,
                                    refuses};
  const std::vector<Step> of_a_packet{{kAdmitBinary, state::binary},
                                      {kRejectBinary, state::binary_login},
                                      {kBeginValue, state::value},
                                      {kBeginReport, state::report},
                                      {kBeginSwallowing, state::swallowing},
                                      drains,
                                      refuses};
  const std::vector<Step> of_a_strangers_packet{{kAdmitBinary, state::binary},
                                                {kRejectBinary, state::binary_login},
                                                {kBeginSwallowing, state::swallowing},
                                                drains,
                                                refuses};
  static const std::vector<Row> rows{
      {state::opening, {}, of_an_opening},
      {state::opening, {kRequireLogin}, of_a_strangers_opening},
      {state::line, {kBeginText}, of_a_line},
      {state::keys, {kBeginText, kBeginKeys}, {{kEndKeys, state::line}, drains, refuses}},
      {state::value,
       {kBeginText, kBeginValue},
       {{kFillValue, state::value_end},
        {kEndValue, state::line},
        {kBeginSwallowing, state::swallowing},
        drains,
        refuses}},
      {state::value_end, {kBeginText, kBeginValue, kFillValue}, {{kEndValue, state::line}, drains, refuses}},
      {state::swallowing, {kBeginText, kBeginSwallowing}, {{kEndSwallowing, state::line}, drains, refuses}},
      {state::swallowing,
       {kBeginText, kBeginValue, kBeginSwallowing},
       {{kEndSwallowing, state::line}, drains, refuses}},
      {state::batch,
       {kBeginText, kBeginBatch},
       {{kBeginValue, state::value},
        {kBeginSwallowing, state::swallowing},
        {kEndBatch, state::line},
        drains,
        refuses}},
      {state::value,
       {kBeginText, kBeginBatch, kBeginValue},
       {{kFillValue, state::value_end},
        {kEndValue, state::batch},
        {kBeginSwallowing, state::swallowing},
        drains,
        refuses}},
      {state::value_end,
       {kBeginText, kBeginBatch, kBeginValue, kFillValue},
       {{kEndValue, state::batch}, drains, refuses}},
      {state::swallowing,
       {kBeginText, kBeginBatch, kBeginSwallowing},
       {{kEndSwallowing, state::batch}, drains, refuses}},
      {state::login,
       {kRequireLogin, kBeginText},
       {{kBeginCredentials, state::credentials}, {kBeginSwallowing, state::swallowing}, drains, refuses}},
      {state::swallowing,
       {kRequireLogin, kBeginText, kBeginSwallowing},
       {{kEndSwallowing, state::login}, drains, refuses}},
      {state::credentials,
       {kRequireLogin, kBeginText, kBeginCredentials},
       {{kAdmit, state::line}, {kReject, state::login}, drains, refuses}},
      {state::line, {kRequireLogin, kBeginText, kBeginCredentials, kAdmit}, of_a_line},
      {state::binary, {kBeginBinary}, of_a_packet},
      {state::binary, {kRequireLogin, kBeginBinary, kAdmitBinary}, of_a_packet},
      {state::value,
       {kBeginBinary, kBeginValue},
       {{kFillValue, state::value_end},
        {kEndValue, state::binary},
        {kBeginSwallowing, state::swallowing},
        drains,
        refuses}},
      {state::value_end,
       {kBeginBinary, kBeginValue, kFillValue},
       {{kEndValue, state::binary}, drains, refuses}},
      {state::swallowing,
       {kBeginBinary, kBeginSwallowing},
       {{kEndSwallowing, state::binary}, drains, refuses}},
      {state::binary_login, {kRequireLogin, kBeginBinary}, of_a_strangers_packet},
      {state::binary_login, {kBeginBinary, kRejectBinary}, of_a_strangers_packet},
      {state::swallowing,
       {kRequireLogin, kBeginBinary, kBeginSwallowing},
       {{kEndSwallowing, state::binary_login}, drains, refuses}},
      {state::dump, {kBeginText, kBeginDump}, {{kEndDump, state::line}, drains, refuses}},
      {state::report, {kBeginText, kBeginReport}, {{kEndReport, state::line}, drains, refuses}},
      {state::report, {kBeginBinary, kBeginReport}, {{kEndReport, state::binary}, drains, refuses}},
      {state::watch, {kBeginText, kBeginWatch}, {drains, refuses}},
      {state::draining, {kBeginText, kDrain}, {}},
      {state::refused, {kBeginText, kRefuse}, {}},
  };
  return rows;
}

SessionState after(const std::vector<Event>& way) {
  SessionState session;
  for (const Event& event : way) {
    (session.*event.happen)();
  }
  return session;
}

std::string text(const Row& row) {
  std::string text = "new";
  for (const Event& event : row.way) {
    text += std::string{" > "} + event.name;
  }
  return text;
}

const Step* step_of(const Row& row, const Event& event) {
  for (const Step& step : row.steps) {
    if (step.event.happen == event.happen) {
      return &step;
    }
  }
  return nullptr;
}

TEST(SessionState, EachTransitionLeadsWhereTheTableSays) {
  for (const Row& row : table()) {
    EXPECT_EQ(after(row.way).current(), row.here) << text(row);
    for (const Step& step : row.steps) {
      SessionState session = after(row.way);
      (session.*step.event.happen)();
      EXPECT_EQ(session.current(), step.next) << text(row) << " > " << step.event.name;
      EXPECT_EQ(session.takes_input(), step.next != state::draining && step.next != state::refused)
          << text(row) << " > " << step.event.name;
    }
  }
}

TEST(SessionState, TheTableHasEveryStateAndEveryTransition) {
  for (int one = 0; one <= static_cast<int>(state::refused); ++one) {
    EXPECT_TRUE(std::any_of(table().begin(), table().end(),
                            [one](const Row& row) { return row.here == static_cast<state>(one); }))
        << "state " << one;
  }
  for (const Event& event : kEvents) {
    EXPECT_TRUE(std::any_of(table().begin(), table().end(), [&event](const Row& row) {
      return step_of(row, event) != nullptr;
    })) << event.name;
  }
}

TEST(SessionStateDeathTest, ATransitionFromAnyOtherStateAsserts) {
  for (const Row& row : table()) {
    for (const Event& event : kEvents) {
      if (step_of(row, event) == nullptr) {
        SessionState session = after(row.way);
        EXPECT_DEATH((session.*event.happen)(), "session_state.hpp") << text(row) << " > " << event.name;
      }
    }
  }
}

TEST(SessionState, IsBeforeLoginUntilTheClientWasAdmitted) {
  EXPECT_FALSE(after({}).before_login());
  EXPECT_TRUE(after({kRequireLogin}).before_login());
  EXPECT_TRUE(after({kRequireLogin, kBeginText, kBeginSwallowing}).before_login());
  EXPECT_TRUE(after({kRequireLogin, kBeginText, kBeginCredentials, kReject}).before_login());
  EXPECT_FALSE(after({kRequireLogin, kBeginText, kBeginCredentials, kAdmit}).before_login());
  EXPECT_TRUE(after({kRequireLogin, kBeginBinary}).before_login());
  EXPECT_FALSE(after({kRequireLogin, kBeginBinary, kAdmitBinary}).before_login());
}

TEST(SessionState, ExpectsALineOnceNoPasswordCanCome) {
  EXPECT_TRUE(after({}).expects_line());
  EXPECT_TRUE(after({kBeginText}).expects_line());
  EXPECT_TRUE(after({kRequireLogin, kBeginText, kBeginCredentials, kAdmit}).expects_line());
  for (const std::vector<Event>& way : {std::vector{kRequireLogin},
                                        {kRequireLogin, kBeginText},
                                        {kRequireLogin, kBeginText, kBeginCredentials},
                                        {kBeginText, kBeginValue},
                                        {kBeginBinary}}) {
    EXPECT_FALSE(after(way).expects_line());
  }
}

TEST(SessionState, SpeaksOneProtocolForGood) {
  EXPECT_FALSE(after({}).speaks_binary());
  EXPECT_TRUE(after({kBeginBinary}).speaks_binary());
  EXPECT_TRUE(after({kBeginBinary, kBeginValue, kFillValue, kEndValue}).speaks_binary());
  EXPECT_TRUE(after({kRequireLogin, kBeginBinary, kAdmitBinary}).speaks_binary());
}

TEST(Pauses, AreASetOfIndependentReasons) {
  Pauses pauses;
  EXPECT_TRUE(pauses.empty());
  pauses.add(pause::output);
  pauses.add(pause::order | pause::output);
  EXPECT_TRUE(pauses.has(pause::output));
  EXPECT_TRUE(pauses.has(kOfOperations)) << "one of them will do";
  EXPECT_FALSE(pauses.has(kOfRoom));
  pauses.remove(kRetried);
  EXPECT_EQ(pauses, Pauses{pause::output});
  pauses.remove(pause::page_room);
  EXPECT_EQ(pauses, Pauses{pause::output}) << "it was not there";
  pauses.add(pause::input_end);
  pauses.remove(kPassing);
  EXPECT_EQ(pauses, Pauses{pause::input_end}) << "the end of input does not pass";
}

}  // namespace
}  // namespace mxkv::server::test
