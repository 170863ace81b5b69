#include "tests/simulation/store_operation.hpp"

namespace mxkv::simulation {

namespace {

constexpr std::uint64_t kSecondUs = 1'000'000;

std::string describe_line(const CommandLine& line) {
  constexpr std::array kNames{"get",    "touch",    "set",        "add",   "replace",
                              "remove", "count up", "count down", "append"};
  constexpr std::array kReplies{"?", "done", "missing", "not stored", "exists"};
  std::string text = std::string{kNames[static_cast<std::size_t>(line.what)]} + " key " +
                     std::to_string(line.key) + " with " + std::to_string(line.operand);
  if (line.expiry != 0) {
    text += " until " + std::to_string(line.expiry % 100'000);
  }
  if (line.compare) {
    text += " if " + std::to_string(*line.compare % 100'000'000);
  }
  text += std::string{": "} + kReplies[static_cast<std::size_t>(line.reply)];
  if (line.number) {
    text += " " + std::to_string(*line.number);
  }
  return line.cas == 0 ? text : text + " cas " + std::to_string(line.cas % 100'000'000);
}

}  // namespace

std::uint32_t keys_of(const Operation& op) {
  std::uint32_t keys = 0;
  if (op.what != operation::line && op.what != operation::batch) {
    for (std::size_t key = op.first; key < op.last; ++key) {
      keys |= 1U << key;
    }
  }
  for (const CommandLine& line : op.lines) {
    keys |= line.key == CommandLine::kOtherKey ? 0 : 1U << line.key;
  }
  return keys;
}

bool only_reads(const Operation& op) {
  return op.what == operation::page || op.what == operation::count ||
         (op.what == operation::line && op.lines.front().what == act::get);
}

bool must_follow(const Operation& later, const Operation& earlier) {
  if (later.session == 0 || later.session != earlier.session || later.number <= earlier.number ||
      later.did_nothing() || earlier.did_nothing()) {  // it may have been refused before its turn
    return false;
  }
  constexpr auto kWrite = server::operation_kind::write;
  if (later.kind == kWrite && earlier.kind == kWrite) {
    return true;
  }
  return !(only_reads(later) && only_reads(earlier)) && (keys_of(later) & keys_of(earlier)) != 0;
}

std::optional<Operation> projected(const Operation& op, std::size_t key) {
  if (op.did_nothing() || op.what == operation::count || (keys_of(op) >> key & 1U) == 0) {
    return std::nullopt;
  }
  Operation part = op;
  part.first = static_cast<std::uint8_t>(key);
  part.last = static_cast<std::uint8_t>(key + 1);
  part.others = true;
  std::erase_if(part.seen, [key](const SeenItem& item) { return item.key != key; });
  if (op.end == ending::failed) {
    if (op.lines[op.failed_line].key != key) {
      return std::nullopt;
    }
    part.lines.resize(op.failed_line + 1);
  }
  std::erase_if(part.lines, [key](const CommandLine& line) { return line.key != key; });
  part.failed_line = part.lines.empty() ? 0 : part.lines.size() - 1;
  return part;
}

std::string describe(const Operation& op) {
  constexpr std::array kNames{"line", "batch", "page", "count", "erase", "touch"};
  constexpr std::array kEndings{"unknown", "done", "failed", "refused", "no memory"};
  std::string text =
      op.session == 0 ? std::string{} : std::to_string(op.session) + "." + std::to_string(op.number) + ": ";
  text += std::string{op.locked ? "" : "unlocked "} + kNames[static_cast<std::size_t>(op.what)] + " (" +
          kEndings[static_cast<std::size_t>(op.end)] + ") during [" + std::to_string(op.invoked) + ", " +
          std::to_string(op.responded) + "], at " + std::to_string(op.from_us / kSecondUs % 100'000) +
          " to " + std::to_string(op.until_us / kSecondUs % 100'000);
  for (const CommandLine& line : op.lines) {
    text += "; " + describe_line(line);
  }
  if (op.end == ending::failed) {
    text += "; failed at line " + std::to_string(op.failed_line);
  }
  if (op.lines.empty()) {
    text += "; keys " + std::to_string(op.first) + " to " + std::to_string(op.last) + ", items " +
            std::to_string(op.items) + ", numbers " + std::to_string(op.numbers) + ", sum " +
            std::to_string(op.sum) + (op.expiry == 0 ? "" : ", until " + std::to_string(op.expiry % 100'000));
  }
  for (const SeenItem& item : op.seen) {
    text += "; saw key " + std::to_string(item.key) + " with " + std::to_string(item.number) + " cas " +
            std::to_string(item.cas % 100'000'000);
  }
  return text;
}

}  // namespace mxkv::simulation
