// The parser's frame: finds the line, recognises the verb, hands over to the verb's family.
#include "protocol/parser.hpp"

#include "protocol/commands.hpp"
#include "protocol/line_scan.hpp"
#include "protocol/numbers.hpp"

namespace mxkv::protocol {
namespace {

/// How TLS begins.
constexpr std::string_view kTlsHandshake = "\x16\x03";

Parsed closed() noexcept {
  Parsed parsed;
  parsed.what = outcome::close;
  return parsed;
}

/// A browser, or somebody who makes one post to us: not worth an answer (rule 5).
Parsed unknown_command(const Tokens& tokens) noexcept {
  return tokens.last().starts_with("HTTP/") ? closed() : refused(kError);
}

Parsed run(CommandLine line, verb op, Parsed (*family)(CommandLine) noexcept) noexcept {
  line.request.op = op;
  return family(line);
}

/// A command whose name has more than eight letters.
Parsed parse_long_name(CommandLine line, std::string_view name) noexcept {
  if (name == "verbosity") {
    return run(line, verb::verbosity, parse_verbosity);
  }
  if (name == "flush_all") {
    return run(line, verb::flush_all, parse_flush_all);
  }
  if (name == "lru_crawler") {
    return run(line, verb::tune, parse_lru_crawler);
  }
  if (name == "refresh_certs") {
    return run(line, verb::refresh_certs, parse_refresh_certs);
  }
  if (name == "cache_memlimit") {
    return run(line, verb::cache_memlimit, parse_cache_memlimit);
  }
  return name == "debugtime" ? run(line, verb::debugtime, parse_debugtime) : unknown_command(line.tokens);
}

Parsed parse_line(CommandLine line) noexcept {
  line.request.noreply = false;
  line.request.key = {};
  const Token token = line.tokens.next();
  const std::string_view name = token.text;
  if (name.empty()) {
    return refused(kBadFormat);
  }
  if (!token.clean) {
    // Words are compared with zeros behind them: "get" and a NUL byte would look like a get.
    return unknown_command(line.tokens);
  }
  if (name.size() > 8) {
    return parse_long_name(line, name);
  }
  switch (load_text(name)) {
    case word_of("get"):
      return run(line, verb::get, parse_retrieval);
    case word_of("gets"):
      return run(line, verb::gets, parse_retrieval);
    case word_of("gat"):
      return run(line, verb::gat, parse_get_and_touch);
    case word_of("gats"):
      return run(line, verb::gats, parse_get_and_touch);
    case word_of("set"):
    case word_of("put"):
      return run(line, verb::set, parse_storage);
    case word_of("add"):
      return run(line, verb::add, parse_storage);
    case word_of("replace"):
      return run(line, verb::replace, parse_storage);
    case word_of("append"):
      return run(line, verb::append, parse_storage);
    case word_of("prepend"):
      return run(line, verb::prepend, parse_storage);
    case word_of("cas"):
      return run(line, verb::cas, parse_storage);
    case word_of("mg"):
      return run(line, verb::meta_get, parse_meta);
    case word_of("ms"):
      return run(line, verb::meta_set, parse_meta_set);
    case word_of("md"):
      return run(line, verb::meta_delete, parse_meta);
    case word_of("ma"):
      return run(line, verb::meta_arithmetic, parse_meta);
    case word_of("me"):
      return run(line, verb::meta_debug, parse_meta);
    case word_of("mr"):
      return run(line, verb::meta_range, parse_meta_range);
    case word_of("mc"):
      return run(line, verb::meta_count, parse_meta_range);
    case word_of("mx"):
      return run(line, verb::meta_range_delete, parse_meta_range);
    case word_of("mt"):
      return run(line, verb::meta_range_touch, parse_meta_range);
    case word_of("mb"):
      return run(line, verb::meta_batch, parse_meta_batch);
    case word_of("mn"):
      line.request.op = verb::meta_noop;
      return accepted();
    case word_of("incr"):
      return run(line, verb::incr, parse_arithmetic);
    case word_of("decr"):
      return run(line, verb::decr, parse_arithmetic);
    case word_of("touch"):
      return run(line, verb::touch, parse_touch);
    case word_of("delete"):
      return run(line, verb::remove, parse_delete);
    case word_of("scan"):
      return run(line, verb::scan, parse_range);
    case word_of("scans"):
      return run(line, verb::scans, parse_range);
    case word_of("pscan"):
      return run(line, verb::pscan, parse_range);
    case word_of("pscans"):
      return run(line, verb::pscans, parse_range);
    case word_of("stats"):
      return run(line, verb::stats, parse_stats);
    case word_of("lru"):
      return run(line, verb::tune, parse_lru);
    case word_of("client"):
      return run(line, verb::client, parse_client);
    case word_of("watch"):
      return run(line, verb::watch, parse_watch);
    case word_of("slabs"):
      return run(line, verb::tune, parse_slabs);
    case word_of("config"):
      return run(line, verb::config_get, parse_config);
    case word_of("shutdown"):
      return run(line, verb::shutdown, parse_shutdown);
    case word_of("version"):
      return run(line, verb::version, parse_version);
    case word_of("quit"):
      return run(line, verb::quit, parse_quit);
    default:
      return unknown_command(line.tokens);
  }
}

Parsed parse_login_line(CommandLine line) noexcept {
  Tokens ahead = line.tokens;
  if (ahead.next().text == "set") {
    for (int ignored = 0; ignored < 3; ++ignored) {
      (void)ahead.next();
    }
    std::uint64_t& bytes = line.request.value_bytes;
    if (read_u64(ahead.next().text, bytes) && bytes <= kLongestValue) {
      line.request.op = verb::set;
      line.request.noreply = false;
      return accepted();
    }
  }
  return parse_line(line);
}

/// Finds the line and has `family` parse what it holds.
Parsed parse_framed(const char* data, std::size_t size, const ParserLimits& limits, LineState& line,
                    Request& request, Parsed (*family)(CommandLine) noexcept) noexcept {
  if (size == 0) {
    return {};
  }
  std::size_t end = 0;
  switch (find_line_end(data, size, limits, line, end)) {
    case line_end::missing:
      return {};
    case line_end::too_long:
      return closed();
    case line_end::found:
      break;
  }
  const std::size_t bytes = end - (end > 0 && data[end - 1] == '\r' ? 1 : 0);
  Tokens tokens(data, data + bytes);
  Parsed parsed = family({tokens, request, limits});
  parsed.consumed = end + 1;
  return parsed;
}

}  // namespace

wire_protocol protocol_of(std::string_view first) noexcept {
  if (first.starts_with(kBinaryRequestMagic)) {
    return wire_protocol::binary;
  }
  if (first.starts_with(kTlsHandshake)) {
    return wire_protocol::tls;
  }
  return kTlsHandshake.starts_with(first) ? wire_protocol::undecided : wire_protocol::text;
}

std::string_view foreign_protocol(std::string_view data) noexcept {
  if (data.starts_with(kTlsHandshake)) {
    return "TLS";
  }
  return data.substr(0, data.find('\n')).find(" HTTP/") != std::string_view::npos ? "HTTP" : "";
}

Parsed Parser::parse_any_line(const char* data, std::size_t size, LineState& line,
                              Request& request) const noexcept {
  return parse_framed(data, size, limits_, line, request, parse_line);
}

Parsed Parser::parse_login(const char* data, std::size_t size, LineState& line,
                           Request& request) const noexcept {
  return parse_framed(data, size, limits_, line, request, parse_login_line);
}

}  // namespace mxkv::protocol
