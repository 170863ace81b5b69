// top: the server's activity, from the differences of its counters.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/commands/json_text.hpp"
#include "protocol/clients/cli/commands/live.hpp"
#include "protocol/clients/cli/interrupt.hpp"
#include "protocol/clients/cli/text/amounts.hpp"
#include "protocol/clients/cli/wire/stats_reply.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::cli {

void add_live_options(CLI::App& app, LiveOptions& options) {
  app.add_option("--interval", options.interval, "Seconds between two reports")
      ->check(CLI::Range(0.05, 3600.0))
      ->type_name("SECONDS");
  app.add_option("--rounds", options.rounds, "Stop after this many reports")->type_name("N");
}

namespace {

void sleep_for_interval(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    check_interrupt();
    const std::chrono::duration<double> left = end - std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::min(left, std::chrono::duration<double>(0.1)));
  }
}

}  // namespace

Outcome run_live(Session& session, const LiveOptions& options, const std::function<void(Session&)>& draw) {
  const bool in_place = ::isatty(STDOUT_FILENO) != 0 && !session.json();
  for (std::uint64_t round = 0; round < options.rounds; ++round) {
    sleep_for_interval(options.interval);
    if (in_place && options.rounds > 1) {
      session.clear_terminal();
    }
    draw(session);
    session.flush();
  }
  return Outcome::done;
}

namespace {

struct Counter {
  const char* label;
  std::vector<const char*> names;  ///< counters of `stats`, added up
};

const std::vector<Counter>& command_counters() {
  static const std::vector<Counter> counters{
      {"get", {"cmd_get"}},
      {"set", {"cmd_set"}},
      {"touch", {"cmd_touch"}},
      {"delete", {"delete_hits", "delete_misses"}},
      {"incr, decr", {"incr_hits", "incr_misses", "decr_hits", "decr_misses"}},
      {"scan", {"cmd_scan"}},
      {"range count", {"cmd_range_count"}},
      {"range delete", {"cmd_range_delete"}},
      {"range touch", {"cmd_range_touch"}},
      {"batch", {"cmd_batch"}},
      {"items scanned", {"scan_items"}},
      {"evicted", {"evictions"}},
      {"expired", {"reclaimed", "crawler_reclaimed"}},
  };
  return counters;
}

/// Two reports, and the differences between them.
class Between {
 public:
  void look(Connection& server) {
    std::swap(before_, now_);
    before_time_ = now_time_;
    now_ = read_stats(server, "");
    workers_ = read_stats(server, "runtime");
    now_time_ = std::chrono::steady_clock::now();
    std::swap(idle_before_, idle_now_);
    idle_now_.clear();
    for (std::size_t worker = 0; workers_.has(worker_name(worker, "idle_us")); ++worker) {
      idle_now_.push_back(workers_.number(worker_name(worker, "idle_us")));
    }
  }

  [[nodiscard]] double delta(const char* name) const {
    return std::max(0.0, now_.number(name) - before_.number(name));  // less after a `stats reset`
  }
  [[nodiscard]] double rate(const std::vector<const char*>& names) const {
    double sum = 0;
    for (const char* const name : names) {
      sum += delta(name);
    }
    return sum / seconds();
  }
  [[nodiscard]] double seconds() const {
    return std::max(1e-3, std::chrono::duration<double>(now_time_ - before_time_).count());
  }
  /// Empty if there was no get.
  [[nodiscard]] std::optional<double> hit_ratio() const {
    const double hits = delta("get_hits");
    const double all = hits + delta("get_misses");
    return all == 0 ? std::nullopt : std::optional{hits / all};
  }
  [[nodiscard]] std::vector<double> busy() const {
    std::vector<double> shares;
    for (std::size_t worker = 0; worker < std::min(idle_now_.size(), idle_before_.size()); ++worker) {
      const double idle = (idle_now_[worker] - idle_before_[worker]) / 1e6 / seconds();
      shares.push_back(std::min(1.0, std::max(0.0, 1 - idle)));
    }
    return shares;
  }
  [[nodiscard]] const Stats& now() const noexcept { return now_; }
  [[nodiscard]] std::string connections_of(std::size_t worker) const {
    return std::string(workers_.text(worker_name(worker, "connections")));
  }

 private:
  static std::string worker_name(std::size_t worker, const char* what) {
    return "worker:" + std::to_string(worker) + ":" + what;
  }

  Stats before_;
  Stats now_;
  Stats workers_;
  std::vector<double> idle_before_;
  std::vector<double> idle_now_;
  std::chrono::steady_clock::time_point before_time_;
  std::chrono::steady_clock::time_point now_time_;
};

void draw_json(Session& session, const Between& between) {
  Json document = Json::object();
  document["seconds"] = between.seconds();
  for (const Counter& counter : command_counters()) {
    document["per_second"][counter.label] = between.rate(counter.names);
  }
  const std::optional<double> hits = between.hit_ratio();
  document["hit_ratio"] = hits ? Json(*hits) : Json(nullptr);
  for (const char* const name : {"bytes", "limit_maxbytes", "curr_items", "curr_connections"}) {
    document[name] = json_word(between.now().text(name));
  }
  document["read_bytes_per_second"] = between.rate({"bytes_read"});
  document["written_bytes_per_second"] = between.rate({"bytes_written"});
  document["workers_busy"] = between.busy();
  print_json(session, document);
}

void draw_text(Session& session, const Between& between) {
  const Stats& now = between.now();
  session.print_line(session.connection().server() + "  mxkv " + std::string(now.text("mxkv_version")) +
                     "  up " + seconds_text(now.number("uptime")));
  const std::optional<double> hits = between.hit_ratio();
  session.print_line(count_text(now.number("curr_items")) + " items of " + bytes_text(now.number("bytes")) +
                     ", memory limit " + bytes_text(now.number("limit_maxbytes")) + "; " +
                     std::string(now.text("curr_connections")) +
                     (now.text("curr_connections") == "1" ? " connection; in " : " connections; in ") +
                     bytes_text(between.rate({"bytes_read"})) + "/s, out " +
                     bytes_text(between.rate({"bytes_written"})) + "/s; " +
                     (hits ? std::to_string(std::lround(100 * *hits)) + " % of gets hit" : "no gets"));
  std::vector<std::vector<std::string>> rows{{"", "per second"}};
  for (const Counter& counter : command_counters()) {
    if (const double rate = between.rate(counter.names); rate > 0) {
      rows.push_back({counter.label, count_text(rate)});
    }
  }
  session.print(table_text(rows));
  std::vector<std::vector<std::string>> workers{{"worker", "busy", "connections"}};
  const std::vector<double> busy = between.busy();
  for (std::size_t worker = 0; worker < busy.size(); ++worker) {
    workers.push_back({std::to_string(worker), std::to_string(std::lround(100 * busy[worker])) + " %",
                       between.connections_of(worker)});
  }
  session.print(table_text(workers));
}

}  // namespace

Action declare_top(CLI::App& app) {
  const auto options = std::make_shared<LiveOptions>();
  const auto once = std::make_shared<bool>(false);
  add_live_options(app, *options);
  app.add_flag("--once", *once, "One report, after one interval");
  return [options, once](Session& session) {
    LiveOptions live = *options;
    live.rounds = *once ? 1 : live.rounds;
    Between between;
    between.look(session.connection());
    return run_live(session, live, [&between](Session& drawn) {
      between.look(drawn.connection());
      drawn.json() ? draw_json(drawn, between) : draw_text(drawn, between);
    });
  };
}

}  // namespace mxkv::cli
