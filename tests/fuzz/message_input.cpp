// Messages of a shard's log: bytes as they are, and a log that the bytes describe. Reading and writing are
// inverse. In whatever order messages come, the verdicts of a shard's state are consistent.
#include <cstdint>
#include <string>

#include "server/cluster/message.hpp"
#include "server/cluster/shard_state.hpp"
#include "tests/fuzz/inputs.hpp"

namespace mxkv::fuzz {
namespace {

using server::Message;
using server::message_effect;
using server::message_flaw;
using server::message_kind;
using server::MessageScope;

constexpr MessageScope kScope{.cluster = 7, .shard = 1};

/// A message of small numbers, by six bytes of the input.
Message described(std::string_view bytes) {
  const auto number = [bytes](std::size_t at) { return static_cast<std::uint64_t>(bytes[at] & 7); };
  return {.kind = static_cast<message_kind>(number(0)),
          .shard = kScope.shard,
          .cluster = kScope.cluster,
          .term = number(1),
          .sequence = number(2),
          .node = number(3),
          .epoch = number(4),
          .part = static_cast<std::uint32_t>(number(5)) >> 1U,
          .parts = (static_cast<std::uint32_t>(number(5)) & 1U) + 1,
          .body = "12345678"};
}

/// The violations by a message that was taken.
std::string judge(const server::ShardState& before, const server::ShardState& after, const Message& message,
                  message_effect effect) {
  switch (effect) {
    case message_effect::opens:
      return after.term() == before.term() + 1 && after.owner() == message.node && after.sequence() == 1
                 ? ""
                 : "a claim that opens another term";
    case message_effect::counts:
    case message_effect::yields:
      return message.node == before.owner() && message.term == before.term() && before.left_to() == 0 &&
                     after.sequence() == before.sequence() + 1
                 ? ""
                 : "a message counts that is not the owner's next";
    case message_effect::repeats:
    case message_effect::none:
      return after == before ? "" : "a message without effect changes the state";
  }
  return "no effect that there is";
}

}  // namespace

std::string check_message_input(std::string_view input) {
  const server::ParsedMessage raw = server::parse_message(input, kScope);
  if (raw.flaw == message_flaw::none && server::write_message(raw.message) != input) {
    return "a message is written in another way";
  }
  constexpr std::size_t kBytes = 6;
  server::ShardState state;
  for (std::size_t at = 0; at + kBytes <= input.size(); at += kBytes) {
    const Message message = described(input.substr(at, kBytes));
    const std::string bytes = server::write_message(message);
    const server::ParsedMessage parsed = server::parse_message(bytes, kScope);
    if (parsed.flaw != message_flaw::none) {
      continue;  // fields that do not go together
    }
    if (!(parsed.message == message)) {
      return "a message is read in another way";
    }
    const server::ShardState before = state;
    const message_effect effect = state.take(message);
    if (std::string wrong = judge(before, state, message, effect); !wrong.empty()) {
      return wrong;
    }
  }
  return {};
}

}  // namespace mxkv::fuzz
