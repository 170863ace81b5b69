#include "server/daemon/chronicle.hpp"

#include <algorithm>
#include <array>

#include "config/parse.hpp"

namespace mxkv::server {

namespace {

std::string with_others(const std::string& text, std::uint64_t times) {
  return times > 1 ? text + " (and " + std::to_string(times - 1) + " more)" : text;
}

std::string text_of(happening what, const Happenings::Seen& seen, const Chronicle::Facts& facts) {
  const std::string about = seen.subject.about();
  switch (what) {
    case happening::wrong_login:
      return with_others("wrong user or password from " + about, seen.times);
    case happening::forbidden:
      return with_others("forbidden to " + about, seen.times);
    case happening::too_many_connections:
      return "connections refused: " + std::to_string(seen.times) + " (limits.connections is " +
             std::to_string(facts.connections_most) + ")";
    case happening::too_many_of_client:
      return with_others("connection refused from " + about + " (limits.connections_per_client is " +
                             std::to_string(facts.connections_per_client) + ")",
                         seen.times);
    case happening::closed_unread:
      return with_others("closed " + about + ": it does not read its replies", seen.times);
    case happening::closed_idle:
    case happening::foreign_protocol:
      return with_others("closed " + about, seen.times);
    case happening::failed_handshake:
      return with_others("TLS handshake failed with " + about, seen.times);
    case happening::endless_line:
      return with_others("closed " + about + ": its line is too long", seen.times);
    case happening::no_memory:
      return "writes refused for lack of memory: " + std::to_string(seen.times) + " (" +
             config::format_size_rounded(facts.memory_used) + " of " +
             config::format_size_rounded(facts.memory_most) + " are used)";
    case happening::flushed:
      return with_others("flush_all from " + about, seen.times);
    case happening::slow:
      return with_others("slow request: " + seen.subject.command + seen.subject.text + " from " +
                             seen.subject.client + " took " +
                             std::to_string(seen.subject.took_ns / 1'000'000) + " ms",
                         seen.times);
    case happening::evicted:
      break;
  }
  return {};
}

config::log_level level_of(happening what) {
  const bool usual = what == happening::closed_idle || what == happening::flushed || what == happening::slow;
  return usual ? config::log_level::info : config::log_level::warning;
}

/// As lines in JSON name it: OPERATING.md lists these names, and they do not change.
std::string_view name_of(happening what) {
  constexpr std::array<std::string_view, kHappenings> kNames{"wrong_login",
                                                             "forbidden",
                                                             "too_many_connections",
                                                             "too_many_connections_of_client",
                                                             "closed_unread",
                                                             "closed_idle",
                                                             "foreign_protocol",
                                                             "tls_handshake_failed",
                                                             "line_too_long",
                                                             "evicting",
                                                             "no_memory",
                                                             "flush_all",
                                                             "slow_request"};
  return kNames[static_cast<std::size_t>(what)];
}

}  // namespace

std::vector<Chronicle::Line> Chronicle::tell(Time now, Happenings& happenings, const Facts& facts) {
  std::vector<Line> lines;
  if (told_ && now - *told_ < kEvery) {
    return lines;
  }
  const bool rung = happenings.rung();
  if (rung || eviction_began_) {
    const auto seen = happenings.take();
    for (std::size_t i = 0; i < kHappenings; ++i) {
      const auto what = static_cast<happening>(i);
      if (what != happening::evicted && seen[i].times > 0) {
        lines.push_back(
            {.how = level_of(what),
             .text = text_of(what, seen[i], facts),
             .event = {.name = name_of(what), .times = seen[i].times, .subject = seen[i].subject}});
      }
    }
    tell_of_eviction(now, seen[static_cast<std::size_t>(happening::evicted)].times, facts, lines);
    told_ = now;
  }
  return lines;
}

void Chronicle::tell_of_eviction(Time now, std::uint64_t evicted, const Facts& facts,
                                 std::vector<Line>& lines) {
  evicted_ += evicted;
  if (evicted > 0) {
    last_eviction_ = now;
    if (!eviction_began_) {
      eviction_began_ = now;
      // Else a prefix alone is above its limit.
      const bool is_full = facts.memory_used >= facts.memory_most - facts.memory_most / 4;
      lines.push_back({.how = config::log_level::info,
                       .text = std::string{is_full ? "memory is full (" : "a prefix is full ("} +
                               config::format_size_rounded(facts.memory_used) + " of " +
                               config::format_size_rounded(facts.memory_most) +
                               (is_full ? "): items are evicted"
                                        : " are used in all, see `stats prefixes`): items are evicted"),
                       .event = {.name = name_of(happening::evicted), .times = evicted}});
    }
    lines.push_back({.how = config::log_level::debug,
                     .text = "evicted " + std::to_string(evicted) + " items (" +
                             config::format_size_rounded(facts.memory_used) + " of " +
                             config::format_size_rounded(facts.memory_most) + " are used)"});
  } else if (eviction_began_ && now - last_eviction_ >= kEvictionRests) {
    const auto lasted = std::chrono::ceil<std::chrono::seconds>(last_eviction_ - *eviction_began_ + kEvery);
    lines.push_back({.how = config::log_level::info,
                     .text = "eviction has ended: " + std::to_string(evicted_) + " items in " +
                             std::to_string(lasted.count()) + " s",
                     .event = {.name = "eviction_ended", .times = evicted_}});
    eviction_began_.reset();
    evicted_ = 0;
  }
}

std::optional<std::chrono::nanoseconds> Chronicle::next(Time now, const Happenings& happenings) const {
  std::optional<Time> at;
  if (happenings.rung() && told_) {
    at = *told_ + kEvery;
  } else if (eviction_began_) {
    at = std::max(last_eviction_ + kEvictionRests, *told_ + kEvery);
  }
  return at ? std::optional<std::chrono::nanoseconds>{std::max<std::chrono::nanoseconds>(
                  *at - now, std::chrono::nanoseconds{0})}
            : std::nullopt;
}

}  // namespace mxkv::server
