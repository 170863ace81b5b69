// Keys, types, bounds. What each key means is in options.hpp, and for users in mxkv.yaml.
#include "config/schema.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "config/parse.hpp"

namespace mxkv::config {
namespace {

using runtime::Error;
using runtime::Result;

constexpr std::size_t operator""_KiB(unsigned long long n) {
  return n << 10U;
}
constexpr std::size_t operator""_MiB(unsigned long long n) {
  return n << 20U;
}
constexpr std::size_t operator""_GiB(unsigned long long n) {
  return n << 30U;
}
constexpr std::size_t operator""_TiB(unsigned long long n) {
  return n << 40U;
}
constexpr std::uint32_t operator""_s(unsigned long long n) {
  return static_cast<std::uint32_t>(n * 1000);
}

std::string quoted(std::string_view text) {
  return "\"" + std::string{text} + "\"";
}

// A type of scalar: its text form both ways.
template <class T>
struct Form {
  Result<T> (*parse)(std::string_view);
  std::string (*format)(T);
};

Result<std::uint32_t> parse_count(std::string_view text) {
  const Result<std::uint64_t> number = parse_number(text);
  if (!number) {
    return number.error();
  }
  // What is too large for the type is too large for every range below: keep it so.
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(number.value(), std::numeric_limits<std::uint32_t>::max()));
}

constexpr Form<std::uint32_t> kCount{parse_count, [](std::uint32_t value) { return std::to_string(value); }};
constexpr Form<std::uint32_t> kDuration{parse_duration_ms, format_duration_ms};
constexpr Form<std::size_t> kSize{parse_size, format_size};

// A value from `least` to `most`; `zero`, where given, is the word for 0 and may lie outside.
template <class T>
struct Range {
  constexpr Range(T from, T to, std::string_view word_for_0 = {}) : least(from), most(to), zero(word_for_0) {}
  T least;
  T most;
  std::string_view zero;
};

template <class T>
void ranged(SchemaVisitor& visitor, std::string_view name, T& target, const Form<T>& form,
            const std::type_identity_t<Range<T>>& range) {
  visitor.scalar(
      name, ScalarField{.set = [&target, form, range](std::string_view text) -> Mistake {
                          if (!range.zero.empty() && text == range.zero) {
                            target = 0;
                            return {};
                          }
                          const Result<T> value = form.parse(text);
                          if (!value) {
                            return value.error();
                          }
                          if (value.value() < range.least || value.value() > range.most) {
                            std::string allowed = form.format(range.least) + " to " + form.format(range.most);
                            if (!range.zero.empty()) {
                              allowed.append(", or ").append(range.zero);
                            }
                            return Error{quoted(text) + " is out of range (allowed: " + allowed + ")"};
                          }
                          target = value.value();
                          return {};
                        },
                        .get =
                            [&target, form, range] {
                              return target == 0 && !range.zero.empty() ? std::string{range.zero}
                                                                        : form.format(target);
                            }});
}

// One of a few words; `T` is an enumeration whose values are the words' positions.
template <class T>
void choice(SchemaVisitor& visitor, std::string_view name, T& target,
            std::span<const std::string_view> words) {
  visitor.scalar(
      name,
      ScalarField{.set = [&target, words](std::string_view text) -> Mistake {
                    std::string allowed;
                    for (std::size_t i = 0; i < words.size(); ++i) {
                      if (text == words[i]) {
                        target = static_cast<T>(i);
                        return {};
                      }
                      allowed.append(i == 0 ? "" : ", ").append(words[i]);
                    }
                    return Error{quoted(text) + " is unknown (allowed: " + allowed + ")"};
                  },
                  .get = [&target, words] { return std::string{words[static_cast<std::size_t>(target)]}; }});
}

void cpu_list(SchemaVisitor& visitor, std::string_view name, std::vector<runtime::PuId>& target) {
  visitor.scalar(name, ScalarField{.set = [&target](std::string_view text) -> Mistake {
                                     Result<std::vector<runtime::PuId>> cpus = parse_cpu_list(text);
                                     if (!cpus) {
                                       return cpus.error();
                                     }
                                     target = std::move(cpus).value();
                                     return {};
                                   },
                                   .get = [&target] { return format_cpu_list(target); }});
}

constexpr std::array<std::string_view, 2> kBoolWords{"false", "true"};
constexpr std::array<std::string_view, 2> kHugePagesWords{"off", "transparent"};
constexpr std::array<std::string_view, 3> kPrefetchWords{"off", "distance", "at_spawn"};
constexpr std::array<std::string_view, 2> kLogFormatWords{"text", "json"};
constexpr std::array<std::string_view, 6> kLogLevelWords{"trace", "debug", "info", "warning", "error", "off"};

constexpr std::uint32_t kMostWorkers = 1024;
constexpr std::uint32_t kMostNodes = 1024;
constexpr std::size_t kLeastMemory = 16_MiB;
constexpr std::size_t kMostMemory = 64_TiB;

void address(SchemaVisitor& visitor, std::string& target) {
  visitor.scalar("address", ScalarField{.set = [&target](std::string_view text) -> Mistake {
                                          const std::string copy{text};
                                          std::array<unsigned char, sizeof(in6_addr)> ignored{};
                                          if (inet_pton(AF_INET, copy.c_str(), ignored.data()) != 1 &&
                                              inet_pton(AF_INET6, copy.c_str(), ignored.data()) != 1) {
                                            return Error{quoted(text) +
                                                         " is not an address (allowed: an IPv4 or IPv6 "
                                                         "address in numbers)"};
                                          }
                                          target = copy;
                                          return {};
                                        },
                                        .get = [&target] { return target; }});
}

// A file's name; `none` is the word for the empty one.
void file_name(SchemaVisitor& visitor, std::string_view name, std::string& target, std::string_view none) {
  visitor.scalar(
      name, ScalarField{.set = [&target, none](std::string_view text) -> Mistake {
                          if (text.empty()) {
                            return Error{"is empty (allowed: a file's name, or " + std::string{none} + ")"};
                          }
                          target = text == none ? "" : text;
                          return {};
                        },
                        .get = [&target, none] { return target.empty() ? std::string{none} : target; }});
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

template <class T, class Format>
std::string format_list(const std::vector<T>& items, Format format) {
  std::string text;
  for (const T& item : items) {
    text.append(text.empty() ? "" : ", ").append(format(item));
  }
  return "[" + text + "]";
}

std::string format_listener(const ListenAddress& listen) {
  if (listen.path.empty() || listen.mode == ListenAddress{}.mode) {
    return format_listen(listen);
  }
  return "{path: " + quoted(listen.path) + ", mode: " + quoted(format_file_mode(listen.mode)) + "}";
}

void listeners(SchemaVisitor& visitor, std::vector<ListenAddress>& target) {
  const auto add_mapping = [&target](SchemaVisitor& item) -> Mistake {
    constexpr std::uint32_t kMissing = std::numeric_limits<std::uint32_t>::max();
    ListenAddress listen;
    std::string ip;
    std::uint32_t port = kMissing;
    std::optional<std::uint32_t> mode;
    address(item, ip);
    ranged(item, "port", port, kCount, {0, 65535});
    socket_path(item, listen.path);
    file_mode(item, "mode", mode);
    if (!listen.path.empty() && (!ip.empty() || port != kMissing)) {
      return Error{"has both a path and an address or port (allowed: one of them)"};
    }
    if (listen.path.empty() && mode) {
      return Error{"has a mode, but no path (allowed: mode together with path)"};
    }
    listen.address = ip.empty() ? listen.address : ip;
    listen.port = port == kMissing ? listen.port : static_cast<std::uint16_t>(port);
    listen.mode = mode.value_or(listen.mode);
    target.push_back(std::move(listen));
    return {};
  };
  visitor.list("listeners", ListField{.least_items = 1,
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
                                      .get = [&target] { return format_list(target, format_listener); }});
}

std::string format_node(const NodeOptions& node) {
  std::string text = "{node: " + std::to_string(node.node);
  if (node.workers != 0) {
    text.append(", workers: ").append(std::to_string(node.workers));
  }
  if (!node.cpus.empty()) {
    text.append(", cpus: \"").append(format_cpu_list(node.cpus)).append("\"");
  }
  if (node.memory_bytes != 0) {
    text.append(", memory: ").append(format_size(node.memory_bytes));
  }
  return text + "}";
}

void nodes(SchemaVisitor& visitor, std::vector<NodeOptions>& target) {
  const auto add_mapping = [&target](SchemaVisitor& item) -> Mistake {
    constexpr std::uint32_t kMissing = std::numeric_limits<std::uint32_t>::max();
    NodeOptions node;
    node.node = kMissing;
    ranged(item, "node", node.node, kCount, {0, kMostNodes - 1});
    ranged(item, "workers", node.workers, kCount, {1, kMostWorkers, "auto"});
    cpu_list(item, "cpus", node.cpus);
    ranged(item, "memory", node.memory_bytes, kSize, {kLeastMemory, kMostMemory, "auto"});
    if (node.node == kMissing) {
      return Error{"lacks its key node (allowed: the number of a NUMA node)"};
    }
    if (node.workers != 0 && !node.cpus.empty()) {
      return Error{"has both workers and cpus (allowed: one of them)"};
    }
    target.push_back(std::move(node));
    return {};
  };
  visitor.list("nodes", ListField{.least_items = 0,
                                  .clear = [&target] { target.clear(); },
                                  .set_text = {},
                                  .add_text = {},
                                  .add_mapping = add_mapping,
                                  .get = [&target] { return format_list(target, format_node); }});
}

void limits(SchemaVisitor& visitor, LimitOptions& options) {
  ranged(visitor, "connections", options.connections, kCount, {1, 1'000'000});
  ranged(visitor, "value_bytes", options.value_bytes, kSize, {1, 1_GiB});
  ranged(visitor, "get_line_bytes", options.get_line_bytes, kSize, {2_KiB, 64_MiB});
  ranged(visitor, "output_high_water", options.output_high_water, kSize, {4_KiB, 1_GiB});
  ranged(visitor, "output_stall", options.output_stall_ms, kDuration, {100, 86'400_s});
  ranged(visitor, "idle_timeout", options.idle_timeout_ms, kDuration, {100, 86'400_s, "off"});
  ranged(visitor, "requests_per_turn", options.requests_per_turn, kCount, {1, 65536});
  ranged(visitor, "pipeline", options.pipeline, kCount, {1, 65536});
  ranged(visitor, "scan_items", options.scan_items, kCount, {1, 1'000'000});
  ranged(visitor, "scan_bytes", options.scan_bytes, kSize, {1_KiB, 1_GiB});
  ranged(visitor, "scan_time", options.scan_time_ms, kDuration, {1, 10_s});
}

}  // namespace

void visit_schema(SchemaVisitor& visitor, DaemonOptions& options) {
  listeners(visitor, options.listeners);
  ranged(visitor, "workers", options.workers, kCount, {1, kMostWorkers, "auto"});
  cpu_list(visitor, "cpus", options.cpus);
  nodes(visitor, options.nodes);
  ranged(visitor, "spin_rounds", options.spin_rounds, kCount, {0, 1'000'000});
  visitor.section("memory", [&](SchemaVisitor& section) {
    ranged(section, "limit", options.memory.limit_bytes, kSize, {kLeastMemory, kMostMemory, "auto"});
    choice(section, "huge_pages", options.memory.huge_pages, kHugePagesWords);
    choice(section, "numa_placement", options.memory.numa_placement, kBoolWords);
  });
  visitor.section("prefetch", [&](SchemaVisitor& section) {
    choice(section, "mode", options.prefetch.mode, kPrefetchWords);
    ranged(section, "distance", options.prefetch.distance, kCount, {1, 64});
    ranged(section, "window", options.prefetch.window, kCount, {1, 256});
  });
  visitor.section("epoch", [&](SchemaVisitor& section) {
    ranged(section, "interval", options.epoch.interval_ms, kDuration, {1, 10_s});
    ranged(section, "bytes", options.epoch.advance_bytes, kSize, {64_KiB, 1_GiB});
  });
  visitor.section("limits", [&](SchemaVisitor& section) { limits(section, options.limits); });
  visitor.section("server", [&](SchemaVisitor& section) {
    ranged(section, "drain_timeout", options.server.drain_timeout_ms, kDuration, {0, 3600_s});
    choice(section, "daemonize", options.server.daemonize, kBoolWords);
    file_name(section, "pid_file", options.server.pid_file, "none");
  });
  visitor.section("log", [&](SchemaVisitor& section) {
    choice(section, "level", options.log.level, kLogLevelWords);
    file_name(section, "file", options.log.file, "stderr");
    choice(section, "format", options.log.format, kLogFormatWords);
    ranged(section, "rotate_bytes", options.log.rotate_bytes, kSize, {4_KiB, 1_TiB, "off"});
    ranged(section, "rotate_files", options.log.rotate_files, kCount, {1, 1000});
    ranged(section, "rate", options.log.rate, kCount, {1, 1'000'000, "unlimited"});
  });
}

}  // namespace mxkv::config
