// Keys, types, bounds. options.hpp explains each key, and mxkv.yaml explains it for users.
#include "config/schema.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "config/schema_forms.hpp"
#include "config/yaml_text.hpp"

namespace mxkv::config {
namespace {

using runtime::Error;
using runtime::Result;

constexpr std::array<std::string_view, 3> kAuthWords{"auto", "none", "required"};
constexpr std::array<std::string_view, 3> kRoleWords{"reader", "writer", "administrator"};
constexpr std::array<std::string_view, 2> kReadsWords{"owner", "replica"};
constexpr std::array<std::string_view, 2> kTlsVersionWords{"1.2", "1.3"};
constexpr std::array<std::string_view, 2> kHugePagesWords{"off", "transparent"};
constexpr std::array<std::string_view, 3> kStealingWords{"off", "node", "machine"};
constexpr std::array<std::string_view, 2> kWhenFullWords{"evict", "error"};
constexpr std::array<std::string_view, 2> kEvictForWords{"requests", "bytes"};
constexpr std::array<std::string_view, 3> kPrefixEvictForWords{"auto", "requests", "bytes"};
constexpr std::array<std::string_view, 2> kOrderWords{"las", "nls"};
constexpr std::array<std::string_view, 2> kBalanceWords{"off", "connections"};
constexpr std::array<std::string_view, 2> kAcceptWords{"machine", "node"};
constexpr std::array<std::string_view, 2> kLogFormatWords{"text", "json"};
constexpr std::array<std::string_view, 2> kReadWords{"durable", "latest"};
constexpr std::array<std::string_view, 2> kFailureWords{"refuse", "exit"};
constexpr std::array<std::string_view, 2> kCompressWords{"off", "zstd"};
constexpr std::array<std::string_view, 6> kLogLevelWords{"trace", "debug", "info", "warning", "error", "off"};

void address(SchemaVisitor& visitor, std::string& target) {
  visitor.scalar("address", ScalarField{.set = [&target](std::string_view text) -> Mistake {
                                          const std::string copy{text};
                                          std::array<unsigned char, sizeof(in6_addr)> ignored{};
                                          if (inet_pton(AF_INET, copy.c_str(), ignored.data()) != 1 &&
                                              inet_pton(AF_INET6, copy.c_str(), ignored.data()) != 1) {
                                            return Error{in_quotes(text) +
                                                         " is not an address (allowed: an IPv4 or IPv6 "
                                                         "address in numbers)"};
                                          }
                                          target = copy;
                                          return {};
                                        },
                                        .get = [&target] { return target; }});
}

// A required file name.
void given_file(SchemaVisitor& visitor, std::string_view name, std::string& target) {
  visitor.scalar(name, ScalarField{.set = [&target](std::string_view text) -> Mistake {
                                     if (text.empty()) {
                                       return Error{"is empty (allowed: a file's name)"};
                                     }
                                     target = text;
                                     return {};
                                   },
                                   .get = [&target] { return target; }});
}

void socket_path(SchemaVisitor& visitor, std::string& target) {
  visitor.scalar("path", ScalarField{.set = [&target](std::string_view text) -> Mistake {
                                       Result<std::string> path = parse_socket_path(text);
                                       if (!path) {
                                         return path.error();
                                       }
                                       target = std::move(path).value();
                                       return {};
                                     },
                                     .get = [&target] { return target; }});
}

void file_mode(SchemaVisitor& visitor, std::string_view name, std::optional<std::uint32_t>& target) {
  visitor.scalar(name, ScalarField{.set = [&target](std::string_view text) -> Mistake {
                                     const Result<std::uint32_t> mode = parse_file_mode(text);
                                     if (!mode) {
                                       return mode.error();
                                     }
                                     target = mode.value();
                                     return {};
                                   },
                                   .get = [&target] { return format_file_mode(target.value_or(0)); }});
}

std::string format_tls(const TlsOptions& tls) {
  std::string text = "{certificate: " + in_yaml_quotes(tls.certificate) + ", key: " + in_yaml_quotes(tls.key);
  if (!tls.client_ca.empty()) {
    text += ", client_ca: " + in_yaml_quotes(tls.client_ca);
  }
  if (tls.minimum != TlsOptions{}.minimum) {
    text += ", minimum: " + in_quotes(kTlsVersionWords[static_cast<std::size_t>(tls.minimum)]);
  }
  return text + "}";
}

std::string format_listener(const ListenAddress& listen) {
  const bool has_mode = !listen.path.empty() && listen.mode != ListenAddress{}.mode;
  const bool has_auth = listen.auth != ListenAddress{}.auth;
  const bool has_role = listen.role != ListenAddress{}.role;
  const bool has_reads = listen.reads != ListenAddress{}.reads;
  if (!has_mode && !listen.node && !has_auth && !has_role && !has_reads && !listen.tls) {
    return in_yaml_quotes(format_listen(listen));
  }
  std::string text = listen.path.empty()
                         ? "{address: " + in_quotes(listen.address) + ", port: " + std::to_string(listen.port)
                         : "{path: " + in_yaml_quotes(listen.path);
  if (has_mode) {
    text += ", mode: " + in_quotes(format_file_mode(listen.mode));
  }
  if (listen.node) {
    text += ", node: " + std::to_string(*listen.node);
  }
  if (has_auth) {
    text.append(", auth: ").append(kAuthWords[static_cast<std::size_t>(listen.auth)]);
  }
  if (has_role) {
    text.append(", role: ").append(kRoleWords[static_cast<std::size_t>(listen.role)]);
  }
  if (has_reads) {
    text.append(", reads: ").append(kReadsWords[static_cast<std::size_t>(listen.reads)]);
  }
  if (listen.tls) {
    text.append(", tls: ").append(format_tls(*listen.tls));
  }
  return text + "}";
}

void listeners(SchemaVisitor& visitor, std::vector<ListenAddress>& target, std::size_t least_items) {
  const auto add_mapping = [&target](SchemaVisitor& item) -> Mistake {
    constexpr std::uint32_t kMissing = std::numeric_limits<std::uint32_t>::max();
    ListenAddress listen;
    std::string ip;
    std::uint32_t port = kMissing;
    std::optional<std::uint32_t> mode;
    std::uint32_t node = kMissing;
    address(item, ip);
    ranged(item, "port", port, kCount, {0, 65535});
    socket_path(item, listen.path);
    file_mode(item, "mode", mode);
    ranged(item, "node", node, kCount, {0, kMostNodes - 1});
    choice(item, "auth", listen.auth, kAuthWords);
    choice(item, "role", listen.role, kRoleWords);
    choice(item, "reads", listen.reads, kReadsWords);
    item.section("tls", [&listen](SchemaVisitor& section) {
      TlsOptions& tls = listen.tls.emplace();
      given_file(section, "certificate", tls.certificate);
      given_file(section, "key", tls.key);
      given_file(section, "client_ca", tls.client_ca);
      choice(section, "minimum", tls.minimum, kTlsVersionWords);
    });
    if (!listen.path.empty() && (!ip.empty() || port != kMissing)) {
      return Error{"has both a path and an address or port (allowed: one of them)"};
    }
    if (listen.path.empty() && mode) {
      return Error{"has a mode, but no path (allowed: mode together with path)"};
    }
    if (listen.tls && (listen.tls->certificate.empty() || listen.tls->key.empty())) {
      return Error{std::string{"lacks its key tls."} +
                   (listen.tls->certificate.empty() ? "certificate" : "key") + " (allowed: a file in PEM)"};
    }
    listen.address = ip.empty() ? listen.address : ip;
    listen.port = port == kMissing ? listen.port : static_cast<std::uint16_t>(port);
    listen.mode = mode.value_or(listen.mode);
    if (node != kMissing) {
      listen.node = node;
    }
    target.push_back(std::move(listen));
    return {};
  };
  visitor.list("listeners", ListField{.least_items = least_items,
                                      .clear = [&target] { target.clear(); },
                                      .set_text = {},
                                      .add_text = [&target](std::string_view text) -> Mistake {
                                        Result<ListenAddress> listen = parse_listen(text);
                                        if (!listen) {
                                          return listen.error();
                                        }
                                        target.push_back(std::move(listen).value());
                                        return {};
                                      },
                                      .add_mapping = add_mapping,
                                      .items = [&target] { return format_items(target, format_listener); }});
}

// The text of a key's first bytes.
void key_prefix(SchemaVisitor& visitor, std::string& target) {
  constexpr std::size_t kMostKeyBytes = 250;
  visitor.scalar(
      "prefix",
      ScalarField{.set = [&target](std::string_view text) -> Mistake {
                    if (text.empty() || text.size() > kMostKeyBytes) {
                      return Error{in_quotes(text) + " has " + std::to_string(text.size()) +
                                   " bytes (allowed: 1 to 250, as for a key)"};
                    }
                    if (std::ranges::any_of(text, [](unsigned char c) { return c <= ' ' || c == 127; })) {
                      return Error{in_quotes(text) +
                                   " has a space or a control character, and no key of "
                                   "the text protocols has one (allowed: other bytes)"};
                    }
                    target = text;
                    return {};
                  },
                  .get = [&target] { return target; }});
}

std::string format_prefix(const PrefixOptions& options) {
  std::string text = "{prefix: " + in_yaml_quotes(options.prefix);
  if (options.has_limit()) {
    text += ", memory: " + format_memory({options.memory_bytes, options.memory_percent});
  }
  if (options.keep_bytes != 0) {
    text += ", keep: " + format_size(options.keep_bytes);
  }
  if (options.when_full != PrefixOptions{}.when_full) {
    text.append(", when_full: ").append(kWhenFullWords[static_cast<std::size_t>(options.when_full)]);
  }
  if (options.evict_for != PrefixOptions{}.evict_for) {
    text.append(", evict_for: ").append(kPrefixEvictForWords[static_cast<std::size_t>(options.evict_for)]);
  }
  return text + "}";
}

// Checks a new prefix against those before it.
Mistake among(const std::vector<PrefixOptions>& before, const PrefixOptions& added) {
  if (added.prefix.empty()) {
    return Error{"lacks its key prefix (allowed: the first bytes of keys)"};
  }
  if (std::ranges::find(before, added.prefix, &PrefixOptions::prefix) != before.end()) {
    return Error{"the prefix " + in_quotes(added.prefix) + " is listed twice (allowed: once)"};
  }
  if (before.size() == kMostPrefixes) {
    return Error{"is one too many (allowed: " + std::to_string(kMostPrefixes) + " prefixes)"};
  }
  if (added.memory_bytes != 0 && added.keep_bytes > added.memory_bytes) {
    return Error{"keep, " + format_size(added.keep_bytes) + ", is above memory (allowed: at most " +
                 format_size(added.memory_bytes) + ")"};
  }
  return {};
}

// A size, a percentage of memory.limit, or none.
void prefix_memory(SchemaVisitor& visitor, PrefixOptions& target) {
  const auto set = [&target](std::string_view text) -> Mistake {
    constexpr const char* kAllowed = " (allowed: 64KiB to 64TiB, 1% to 100%, or none)";
    target.memory_bytes = target.memory_percent = 0;
    if (text == "none") {
      return {};
    }
    const Result<MemoryAmount> amount = parse_memory(text);
    if (!amount || text == "auto") {
      return Error{in_quotes(text) + " is no amount of memory" + kAllowed};
    }
    const auto [bytes, percent] = amount.value();
    if (percent == 0 && (bytes < 64_KiB || bytes > kMostMemory)) {
      return Error{in_quotes(text) + " is out of range" + kAllowed};
    }
    target.memory_bytes = bytes;
    target.memory_percent = percent;
    return {};
  };
  visitor.scalar("memory", ScalarField{.set = set, .get = [&target] {
                                         return target.has_limit() ? format_memory({target.memory_bytes,
                                                                                    target.memory_percent})
                                                                   : std::string{"none"};
                                       }});
}

void prefixes(SchemaVisitor& visitor, std::vector<PrefixOptions>& target) {
  const auto add_mapping = [&target](SchemaVisitor& item) -> Mistake {
    PrefixOptions added;
    key_prefix(item, added.prefix);
    prefix_memory(item, added);
    ranged(item, "keep", added.keep_bytes, kSize, {64_KiB, kMostMemory, "none"});
    choice(item, "when_full", added.when_full, kWhenFullWords);
    choice(item, "evict_for", added.evict_for, kPrefixEvictForWords);
    Mistake mistake = among(target, added);
    if (!mistake) {
      target.push_back(std::move(added));
    }
    return mistake;
  };
  visitor.list("prefixes", ListField{.least_items = 0,
                                     .clear = [&target] { target.clear(); },
                                     .set_text = {},
                                     .add_text = {},
                                     .add_mapping = add_mapping,
                                     .items = [&target] { return format_items(target, format_prefix); }});
}

void limits(SchemaVisitor& visitor, LimitOptions& options) {
  ranged(visitor, "connections", options.connections, kCount, {1, 1'000'000});
  ranged(visitor, "connections_per_client", options.connections_per_client, kCount, {1, 1'000'000, "off"});
  ranged(visitor, "requests_per_client", options.requests_per_client, kCount, {1, 1'000'000'000, "off"});
  ranged(visitor, "bytes_per_client", options.bytes_per_client, kSize, {1_KiB, 1_TiB, "off"});
  ranged(visitor, "value_bytes", options.value_bytes, kSize, {1, 1_GiB});
  ranged(visitor, "get_line_bytes", options.get_line_bytes, kSize, {2_KiB, 64_MiB});
  ranged(visitor, "output_high_water", options.output_high_water, kSize, {4_KiB, 1_GiB});
  ranged(visitor, "output_stall", options.output_stall_ms, kDuration, {100, 86'400_s});
  ranged(visitor, "idle_timeout", options.idle_timeout_ms, kDuration, {100, 86'400_s, "off"});
  ranged(visitor, "handshake", options.handshake_ms, kDuration, {100, 3600_s});
  ranged(visitor, "keepalive", options.keepalive_ms, kDuration, {1_s, 32'400_s, "off"});
  ranged(visitor, "requests_per_turn", options.requests_per_turn, kCount, {1, 65536});
  ranged(visitor, "pipeline", options.pipeline, kCount, {1, 65536});
  ranged(visitor, "locked_items", options.locked_items, kCount, {1, 1'000'000'000});
  ranged(visitor, "scan_items", options.scan_items, kCount, {1, 1'000'000});
  ranged(visitor, "scan_bytes", options.scan_bytes, kSize, {1_KiB, 1_GiB});
  ranged(visitor, "scan_time", options.scan_time_ms, kDuration, {1, 10_s});
  ranged(visitor, "batch_lines", options.batch_lines, kCount, {1, 65536});
  ranged(visitor, "batch_bytes", options.batch_bytes, kSize, {1_KiB, 1_GiB});
}

// commit, never, or the time that the disk may lag.
void sync(SchemaVisitor& visitor, DurabilityOptions& options) {
  visitor.scalar(
      "sync", ScalarField{.set = [&options](std::string_view text) -> Mistake {
                            if (text == "commit" || text == "never") {
                              options.sync = text == "commit" ? sync_mode::commit : sync_mode::never;
                              options.interval_ms = DurabilityOptions{}.interval_ms;
                              return {};
                            }
                            const Result<std::uint32_t> time = parse_duration_ms(text);
                            if (!time || time.value() < 10 || time.value() > 10_s) {
                              return Error{in_quotes(text) +
                                           " is not a way to sync (allowed: commit, 10ms to 10s, or never)"};
                            }
                            options.sync = sync_mode::interval;
                            options.interval_ms = time.value();
                            return {};
                          },
                          .get =
                              [&options] {
                                switch (options.sync) {
                                  case sync_mode::commit:
                                    return std::string{"commit"};
                                  case sync_mode::never:
                                    return std::string{"never"};
                                  case sync_mode::interval:
                                    break;
                                }
                                return format_duration_ms(options.interval_ms);
                              }});
}

void durability(SchemaVisitor& visitor, DurabilityOptions& options) {
  file_name(visitor, "directory", options.directory, "none");
  sync(visitor, options);
  choice(visitor, "reads", options.reads, kReadWords);
  ranged(visitor, "buffer", options.buffer_bytes, kSize, {1_MiB, 16_GiB});
  ranged(visitor, "segment", options.segment_bytes, kSize, {1_MiB, 1_GiB});
  ranged(visitor, "journal_most", options.journal_most_bytes, kSize, {8_MiB, 64_TiB, "auto"});
  choice(visitor, "on_failure", options.on_failure, kFailureWords);
  visitor.section("checkpoint", [&](SchemaVisitor& section) {
    ranged(section, "journal", options.checkpoint.journal_bytes, kSize, {1_MiB, 64_TiB, "auto"});
    ranged(section, "every", options.checkpoint.every_ms, kDuration, {1_s, 7 * 86'400_s, "off"});
    ranged(section, "rate", options.checkpoint.rate, kSize, {64_KiB, 1_TiB, "unlimited"});
    choice(section, "compress", options.checkpoint.compress, kCompressWords);
  });
}

// Switches of the research that the server is built on: to compare mechanisms, not to tune a server.
void experiments(SchemaVisitor& visitor, DaemonOptions& options) {
  visitor.removed("pools", "only changes of the root are bound to a pool");
  visitor.removed("stealing", "only changes of the root are bound to a pool that could be stolen");
  choice(visitor, "order", options.order, kOrderWords);
  choice(visitor, "order_reach", options.order_reach, kStealingWords);
  visitor.removed("rebalance", "server.balance moves connections, and nothing else moves to another worker");
  ranged(visitor, "balance_window", options.balance.window_ms, kDuration, {1, 10_s});
  visitor.removed("offer_reads", "server.balance moves whole connections to idle workers");
  visitor.section("prefetch", [&](SchemaVisitor& section) {
    choice(section, "mode", options.prefetch.mode, kPrefetchWords);
    ranged(section, "distance", options.prefetch.distance, kCount, {1, kMostDistance});
    ranged(section, "window", options.prefetch.window, kCount, {1, kMostWindow});
  });
  visitor.section("epoch", [&](SchemaVisitor& section) {
    section.removed("mode", "a worker always publishes its epoch once for many tasks");
    ranged(section, "interval", options.epoch.interval_ms, kDuration, {1, 10_s});
    ranged(section, "bytes", options.epoch.advance_bytes, kSize, {64_KiB, 1_GiB});
  });
  visitor.removed("index", "all nodes have optimistic latches, on the NUMA node whose worker makes them");
  ranged(visitor, "lock_slots", options.lock_slots, kCount, {1, 64'000, "auto"});
  visitor.removed("toggle", "one queue orders operations on many keys, and lock_slots says how finely");
}

}  // namespace

void visit_schema(SchemaVisitor& visitor, DaemonOptions& options) {
  listeners(visitor, options.listeners, 1);
  show_placement(visitor, options);
  show_topologies(visitor, options.topologies);
  ranged(visitor, "spin_rounds", options.spin_rounds, kCount, {0, 1'000'000});
  visitor.section("memory", [&](SchemaVisitor& section) {
    memory_amount(section, "limit", options.memory.limit_bytes, options.memory_limit_percent);
    choice(section, "when_full", options.when_full, kWhenFullWords);
    choice(section, "evict_for", options.evict_for, kEvictForWords);
    choice(section, "huge_pages", options.memory.huge_pages, kHugePagesWords);
    choice(section, "numa_placement", options.memory.numa_placement, kBoolWords);
    choice(section, "in_core", options.memory.in_core, kBoolWords);
    choice(section, "evacuation", options.evacuation, kBoolWords);
  });
  prefixes(visitor, options.prefixes);
  visitor.section("durability", [&](SchemaVisitor& section) { durability(section, options.durability); });
  visitor.section("watch", [&](SchemaVisitor& section) {
    ranged(section, "most", options.watch.most, kCount, {0, 1'000'000});
    ranged(section, "memory", options.watch.memory_bytes, kSize, {1_MiB, 1_TiB, "auto"});
    ranged(section, "ring", options.watch.ring_bytes, kSize, {1_MiB, 1_TiB});
    ranged(section, "history", options.watch.history_bytes, kSize, {0, 64_TiB});
    ranged(section, "linger", options.watch.linger_ms, kDuration, {0, 3600_s});
    ranged(section, "mark", options.watch.mark_ms, kDuration, {10, 60_s});
    ranged(section, "value_bytes", options.watch.value_bytes, kSize, {0, 1_MiB});
  });
  visitor.section("cluster", [&](SchemaVisitor& section) { show_cluster(section, options.cluster); });
  visitor.section("limits", [&](SchemaVisitor& section) { limits(section, options.limits); });
  visitor.section("stats", [&](SchemaVisitor& section) {
    ranged(section, "sample", options.stats.sample, kCount, {1, 1'000'000, "off"});
    ranged(section, "slow", options.stats.slow_ms, kDuration, {1, 3600_s, "off"});
  });
  visitor.section("server", [&](SchemaVisitor& section) {
    ranged(section, "drain_timeout", options.server.drain_timeout_ms, kDuration, {0, 3600_s});
    choice(section, "daemonize", options.server.daemonize, kBoolWords);
    file_name(section, "pid_file", options.server.pid_file, "none");
    file_name(section, "auth_file", options.server.auth_file, "none");
    choice(section, "shutdown_command", options.server.shutdown_command, kBoolWords);
    choice(section, "debug_time", options.server.debug_time, kBoolWords);
    choice(section, "balance", options.balance.mode, kBalanceWords);
    choice(section, "accept", options.balance.accept, kAcceptWords);
  });
  visitor.section("admin", [&](SchemaVisitor& section) { listeners(section, options.admin.listeners, 0); });
  visitor.section("log", [&](SchemaVisitor& section) {
    choice(section, "level", options.log.level, kLogLevelWords);
    file_name(section, "file", options.log.file, "stderr");
    choice(section, "format", options.log.format, kLogFormatWords);
    ranged(section, "rotate_bytes", options.log.rotate_bytes, kSize, {4_KiB, 1_TiB, "off"});
    ranged(section, "rotate_files", options.log.rotate_files, kCount, {1, 1000});
    ranged(section, "rate", options.log.rate, kCount, {1, 1'000'000, "unlimited"});
  });
  show_experimental(visitor, [&](SchemaVisitor& section) { experiments(section, options); });
}

}  // namespace mxkv::config
