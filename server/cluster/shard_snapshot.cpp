#include "server/cluster/shard_snapshot.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "runtime/base/assert.hpp"

namespace mxkv::server {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kKey = "snapshot/";

}  // namespace

std::string snapshot_key(std::uint32_t shard) {
  return std::string{kKey} + std::to_string(shard);
}

std::optional<std::uint32_t> shard_of_snapshot_key(std::string_view key) {
  std::uint32_t shard = 0;
  if (!key.starts_with(kKey)) {
    return std::nullopt;
  }
  key.remove_prefix(kKey.size());
  const char* const begin = key.data();
  const auto [end, error] = std::from_chars(begin, begin + key.size(), shard);
  return error == std::errc{} && end == begin + key.size() ? std::optional{shard} : std::nullopt;
}

std::string write_snapshot_entry(const SnapshotEntry& entry) {
  const ShardState& state = entry.start.state;
  return Json{{"number", entry.number},
              {"node", entry.node},
              {"first", entry.first},
              {"messages", entry.messages},
              {"items", entry.items},
              {"bytes", entry.bytes},
              {"position", entry.start.position},
              {"term", state.term()},
              {"owner", state.owner()},
              {"sequence", state.sequence()},
              {"left_to", state.left_to()},
              {"lease_ns", state.lease_ns()},
              {"lease_before_ns", state.lease_before_ns()},
              {"before", entry.before}}
      .dump();
}

std::optional<SnapshotEntry> parse_snapshot_entry(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  try {
    // Throws if the value is no non-negative integer.
    const auto number = [&json](const char* name) {
      return json.at(name).get_ref<const Json::number_unsigned_t&>();
    };
    // An older server states no lease.
    const auto lease = [&](const char* name) { return json.contains(name) ? number(name) : kLongestLeaseNs; };
    return SnapshotEntry{.number = number("number"),
                         .node = number("node"),
                         .first = number("first"),
                         .messages = number("messages"),
                         .items = number("items"),
                         .bytes = number("bytes"),
                         .start = {.position = number("position"),
                                   .state = ShardState::restored(
                                       number("term"), number("owner"), number("sequence"), number("left_to"),
                                       lease("lease_ns"), lease("lease_before_ns"))},
                         .before = number("before")};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

SnapshotWriter::SnapshotWriter(OrderedLog& log, const MessageScope& scope, std::uint64_t node,
                               std::uint64_t number, const ShardStart& start,
                               std::unique_ptr<SnapshotSource> source)
    : log_(log),
      scope_(scope),
      entry_{.number = number, .node = node, .start = start},
      source_(std::move(source)),
      shared_(std::make_shared<Shared>()) {
  MXKV_ASSERT(start.state.whole(), "a snapshot stands between two groups");
}

// Cuts a piece to the size that any engine takes in a message: a large value may be bigger.
void SnapshotWriter::append(std::string_view piece) {
  const std::size_t parts = std::max<std::size_t>(1, (piece.size() + kPartBytes - 1) / kPartBytes);
  for (std::size_t part = 0; part < parts; ++part) {
    ++shared_->under_way;
    log_.append(write_message({.kind = message_kind::snapshot,
                               .shard = scope_.shard,
                               .cluster = scope_.cluster,
                               .term = std::max<std::uint64_t>(1, entry_.start.state.term()),
                               .sequence = ++entry_.messages,
                               .node = entry_.node,
                               .epoch = entry_.number,
                               .part = static_cast<std::uint32_t>(part),
                               .parts = static_cast<std::uint32_t>(parts),
                               .body = piece.substr(part * kPartBytes, kPartBytes)}),
                [shared = shared_](Appended appended) {
                  MXKV_ASSERT(shared->under_way > 0, "an append is answered once");
                  --shared->under_way;
                  if (appended.outcome == append_outcome::stored) {
                    shared->first = std::min(shared->first, appended.position);
                  } else {
                    shared->failed = true;
                  }
                });
  }
}

SnapshotWriter::state SnapshotWriter::step() {
  while (!ended_ && !shared_->failed && shared_->under_way < kMostUnderWay) {
    std::string piece;
    const SnapshotSource::state found = source_->next(piece, entry_.items);
    if (found == SnapshotSource::state::failed) {
      shared_->failed = true;
    } else if (found == SnapshotSource::state::end) {
      ended_ = true;
    } else if (found == SnapshotSource::state::busy) {
      break;
    } else {
      entry_.bytes += piece.size();
      append(piece);
    }
  }
  if (shared_->failed) {
    return state::failed;
  }
  if (!ended_ || shared_->under_way > 0) {
    return state::writing;
  }
  MXKV_ASSERT(entry_.messages == 0 || shared_->first != ~LogPosition{0},
              "all messages of a snapshot are stored before it counts");
  entry_.first = entry_.messages == 0 ? 0 : shared_->first;
  return state::stored;
}

SnapshotLoader::SnapshotLoader(OrderedLog& log, const MessageScope& scope, const SnapshotEntry& entry,
                               std::function<void(std::string_view body)> apply)
    : log_(log), scope_(scope), entry_(entry), apply_(std::move(apply)) {
  if (entry_.messages == 0) {
    state_ = state::loaded;
  } else {
    log_.read(entry_.first, *this);
  }
}

SnapshotLoader::~SnapshotLoader() {
  log_.stop();
}

// The parts were written in order; one may be there twice.
void SnapshotLoader::message(LogPosition /*position*/, std::string_view bytes) {
  const ParsedMessage parsed = parse_message(bytes, scope_);
  const Message& message = parsed.message;
  if (state_ != state::reading || parsed.flaw != message_flaw::none ||
      message.kind != message_kind::snapshot || message.epoch != entry_.number ||
      message.node != entry_.node || message.sequence < next_) {
    return;
  }
  if (message.sequence > next_) {
    state_ = state::failed;
  } else {
    MXKV_ASSERT(next_ <= entry_.messages, "a snapshot ends with its last message");
    piece_ += message.body;
    if (message.part + 1 == message.parts) {
      apply_(std::exchange(piece_, {}));
    }
    state_ = next_++ == entry_.messages ? state::loaded : state::reading;
  }
  if (state_ != state::reading) {
    log_.stop();
  }
}

void SnapshotLoader::begins_later() {
  state_ = state::failed;
  log_.stop();
}

}  // namespace mxkv::server
