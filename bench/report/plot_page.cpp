#include "bench/report/plot_page.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <set>

#include "bench/report/chart.hpp"
#include "bench/report/plot_charts.hpp"

namespace mxkv::bench {
namespace {

constexpr const char* kStyle = R"(
body { font: 15px/1.45 system-ui, 'DejaVu Sans', sans-serif; color: #1b1f24; background: #fff; margin: 0 auto;
  padding: 1.5em 2em 3em; max-width: 1640px; }
h1 { font-size: 1.5em; margin: 0 0 .2em; } h2 { font-size: 1.15em; margin: 1.8em 0 .5em; }
table { border-collapse: collapse; } th, td { padding: .3em .9em; border-bottom: 1px solid #d8dee4; text-align: right; }
th { font-weight: 600; background: #f6f8fa; } th:first-child, td:first-child { text-align: left; }
.scroll { overflow-x: auto; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(560px, 1fr)); gap: 1.2em; }
.charts figure { margin: 0; border: 1px solid #d8dee4; border-radius: 6px; padding: .6em; }
svg { width: 100%; height: auto; font: 13px system-ui, 'DejaVu Sans', sans-serif; }
svg text { fill: #1b1f24; } svg .title { font-size: 15px; font-weight: 600; } svg .tick { fill: #57606a; font-size: 12px; }
svg .value { font-size: 12px; } svg .grid { stroke: #e4e8ec; } svg .frame { fill: none; stroke: #8c959f; }
svg polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
details { margin: .5em 0; } summary { cursor: pointer; font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15em 1.2em; margin: .4em 0 0 1em; }
dt { color: #57606a; } dd { margin: 0; overflow-wrap: anywhere; } code { font: 13px 'DejaVu Sans Mono', monospace; }
.warning { color: #b42318; font-weight: 600; })";

template <class... Arguments>
void add(std::string& out, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Arguments>(arguments)...);
}

std::string latency_cell(const Histogram& all, double percent) {
  return all.count() != 0 ? short_latency(static_cast<double>(all.percentile(percent)) / 1000)
                          : "\xE2\x80\x93";
}

void add_row(std::string& out, const NamedResult& named) {
  const RunResult& result = named.result;
  Histogram all;
  for (const KindTally& kind : result.tally.kinds) {
    all.merge(kind.intended.count() != 0 ? kind.intended : kind.latency);
  }
  const double server_us = result.server_cpu_ns_per_operation() / 1000;
  const double target = result.schedule.rate_per_s;
  add(out, "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td>", escaped(named.name),
      short_number(result.throughput()), target > 0 ? short_number(target) : "closed loop",
      result.tally.operations());
  for (const double percent : {50.0, 99.0, 99.9}) {
    add(out, "<td>{}</td>", latency_cell(all, percent));
  }
  add(out, "<td>{}</td><td>{}</td><td>{}</td></tr>\n", latency_cell(all, 100),
      server_us > 0 ? short_latency(server_us) : "\xE2\x80\x93", result.failures(false));
}

void add_table(std::string& out, const std::vector<NamedResult>& results) {
  out +=
      "<div "
      "class=\"scroll\"><table><thead><tr><th>result</th><th>ops/s</th><th>target</th><th>operations</th>"
      "<th>p50</th><th>p99</th><th>p99.9</th><th>max</th><th>server "
      "CPU/op</th><th>failures</th></tr></thead><tbody>\n";
  for (const NamedResult& named : results) {
    add_row(out, named);
  }
  out +=
      "</tbody></table></div>\n<p>Latencies are of all kinds of operation together; of paced runs, from the "
      "time an "
      "operation was due.</p>\n";
  for (const NamedResult& named : results) {
    if (named.result.schedule.fell_behind()) {
      add(out, "<p class=\"warning\">{}: the schedule of {} operations a second was not kept.</p>\n",
          escaped(named.name), short_number(named.result.schedule.rate_per_s));
    }
    if (!named.result.problem.empty()) {
      add(out, "<p class=\"warning\">{}: {}</p>\n", escaped(named.name), escaped(named.result.problem));
    }
  }
}

void add_fact(std::string& out, std::string_view name, std::string_view value) {
  if (!value.empty()) {
    add(out, "<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value));
  }
}

void add_details(std::string& out, const NamedResult& named) {
  add(out, "<details><summary>{}</summary>\n", escaped(named.name));
  for (const ClientFacts& client : named.result.clients) {
    const Machine& machine = client.machine;
    add(out, "<dl><dt>command</dt><dd><code>{}</code></dd>", escaped(client.command));
    add_fact(out, "client", "mxkv-ycsb " + client.version);
    add_fact(
        out, "machine",
        fmt::format("{}: {}, {} CPUs ({} allowed), {:.1f} GiB, {}, {}", machine.host, machine.cpu_model,
                    machine.cpus, machine.cpus_allowed,
                    static_cast<double>(machine.memory_bytes) / (1U << 30), machine.kernel, machine.system));
    std::string settings;
    for (const auto& [name, value] : client.settings) {
      add(settings, "{}{}={}", settings.empty() ? "" : ", ", name, value);
    }
    add_fact(out, "settings", settings);
    out += "</dl>\n";
  }
  for (const ServerFacts& server : named.result.servers) {
    out += "<dl>";
    add_fact(out, "server", fmt::format("{}, version {}", server.address, server.version));
    if (!server.cpu_source.empty()) {
      add_fact(out, "its CPU time",
               fmt::format("{:.3f} s, by {}", static_cast<double>(server.cpu_ns()) / 1e9,
                           server.cpu_source == "process" ? "the clock of its process" : "its own counters"));
    }
    out += "</dl>\n";
  }
  out += "</details>\n";
}

void add_figure(std::string& out, const std::string& svg) {
  out += "<figure>\n" + svg + "</figure>\n";
}

}  // namespace

std::vector<NamedResult> name_results(const std::vector<std::string>& files, std::vector<RunResult> results) {
  std::set<std::string> labels;
  std::set<std::string> stems;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::vector<ClientFacts>& clients = results[i].clients;
    if (!clients.empty() && !clients.front().label.empty()) {
      labels.insert(clients.front().label);
    }
    stems.insert(std::filesystem::path(files[i]).stem().string());
  }
  std::vector<NamedResult> named;
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::string name = files[i];
    if (labels.size() == results.size()) {
      name = results[i].clients.front().label;
    } else if (stems.size() == results.size()) {
      name = std::filesystem::path(files[i]).stem().string();
    }
    named.push_back({std::move(name), std::move(results[i])});
  }
  return named;
}

std::string page_start(const std::string& title, const std::string& heading) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
      "charset=\"utf-8\"/><title>{}</title><style>{}</style></head>"
      "<body>\n<h1>{}</h1>\n",
      escaped(title), kStyle, escaped(heading));
}

std::string plot_page(const std::vector<NamedResult>& results) {
  std::string title = "mxkv-ycsb: ";
  for (std::size_t i = 0; i < results.size(); ++i) {
    title += (i > 0 ? ", " : "") + results[i].name;
  }
  std::string out =
      page_start(title, results.size() > 1 ? fmt::format("mxkv-ycsb: {} results", results.size())
                                           : "mxkv-ycsb: " + results.front().name);
  add_table(out, results);
  out += "<h2>Latency</h2>\n<div class=\"charts\">\n";
  for (std::size_t kind = 0; kind < kOperationKinds; ++kind) {
    if (const auto chart = percentile_chart(results, static_cast<OperationKind>(kind))) {
      add_figure(out, draw(*chart));
    }
  }
  out += "</div>\n<h2>Over time</h2>\n<div class=\"charts\">\n";
  add_figure(out, draw(throughput_chart(results)));
  add_figure(out, draw(latency_over_time_chart(results)));
  out += "</div>\n<h2>Comparison</h2>\n<div class=\"charts\">\n";
  add_figure(out, draw(throughput_bars(results)));
  add_figure(out, draw(latency_bars(results)));
  add_figure(out, draw(cpu_bars(results)));
  out += "</div>\n<h2>How it was measured</h2>\n";
  for (const NamedResult& named : results) {
    add_details(out, named);
  }
  return out + "</body></html>\n";
}

}  // namespace mxkv::bench
