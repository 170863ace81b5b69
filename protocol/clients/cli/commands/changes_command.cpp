// changes: every change of the keys of a range as it happens, until Ctrl-C.
#include <array>
#include <chrono>
#include <memory>
#include <optional>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/commands/json_text.hpp"
#include "protocol/clients/cli/commands/range_options.hpp"
#include "protocol/clients/cli/interrupt.hpp"
#include "protocol/clients/cli/text/quoting.hpp"
#include "protocol/reply.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::cli {
namespace {

struct ChangesArguments {
  std::string position;
  bool values = false;
  std::uint64_t lines = UINT64_MAX;
  double seconds = 0;
};

/// A pushed line.
class Pushed {
 public:
  explicit Pushed(std::string line) : line_(std::move(line)) {}

  [[nodiscard]] bool is(std::string_view code) const noexcept {
    return line_.starts_with(code) && (line_.size() == code.size() || line_[code.size()] == ' ');
  }
  /// The text behind a flag's letter; nothing: it is not there.
  [[nodiscard]] std::optional<std::string_view> flag(char letter) const noexcept {
    const std::string_view line = line_;
    for (std::size_t at = line.find(' '); at != std::string_view::npos; at = line.find(' ', at + 1)) {
      if (at + 1 < line.size() && line[at + 1] == letter) {
        return line.substr(at + 2, line.find(' ', at + 1) - at - 2);
      }
    }
    return std::nullopt;
  }
  /// The first word as a number.
  [[nodiscard]] std::size_t number() const { return std::stoul(line_.substr(line_.find(' ') + 1)); }
  /// A key, decoded if the line has a `b`.
  [[nodiscard]] std::string key(char letter) const {
    const std::string_view text = flag(letter).value_or("");
    if (!flag('b')) {
      return std::string(text);
    }
    std::string decoded(text.size(), '\0');
    std::size_t bytes = 0;
    if (!protocol::read_base64(text, decoded.data(), bytes)) {
      throw Failure(Outcome::unreachable, "the server sent a key that is not base64: " + line_);
    }
    decoded.resize(bytes);
    return decoded;
  }
  [[nodiscard]] const std::string& line() const noexcept { return line_; }

 private:
  std::string line_;
};

/// The word for people and programs.
std::string_view kind_of(const Pushed& line) noexcept {
  if (line.is("WP") || line.is("WV")) {
    return "put";
  }
  if (line.is("WG")) {
    return line.flag('R') == "e" ? "evicted" : "deleted";
  }
  if (line.is("WX")) {
    return line.flag('R') == "f" ? "flushed" : "range-deleted";
  }
  return line.is("WT") ? "touched" : "range-touched";
}

bool of_range(const Pushed& line) noexcept {
  return line.is("WX") || line.is("WY");
}

void print(Session& session, const Pushed& line, const std::optional<std::string>& value) {
  if (!session.json()) {
    std::string text{kind_of(line)};
    text += " " + quoted_word(line.key('k'));
    if (of_range(line)) {
      text += line.flag('H') ? " " + quoted_word(line.key('H')) : std::string(" to the end");
    }
    if (const auto seconds = line.flag('t'); seconds && !line.is("WP") && !line.is("WV")) {
      text += " " + std::string(*seconds);
    }
    session.print_line(value ? text + " " + quoted_word(*value) : text);
    return;
  }
  Json document = Json::object();
  document["kind"] = std::string(kind_of(line));
  if (of_range(line)) {
    document["from"] = json_bytes(line.key('k'));
    document["from_exclusive"] = line.flag('o').has_value();
    document["to"] = line.flag('H') ? json_bytes(line.key('H')) : Json(nullptr);
    document["to_inclusive"] = line.flag('i').has_value();
  } else {
    document["key"] = json_bytes(line.key('k'));
  }
  if (value) {
    document["value"] = json_bytes(*value);
  }
  constexpr std::array<std::pair<char, const char*>, 4> kNumbers{
      {{'s', "bytes"}, {'f', "flags"}, {'t', "ttl"}, {'c', "cas"}}};
  for (const auto& [letter, name] : kNumbers) {
    if (const auto number = line.flag(letter)) {
      document[name] = json_word(*number);
    }
  }
  print_json(session, document);
}

void print_mark(Session& session, std::string_view position) {
  if (session.json()) {
    Json document = Json::object();
    document["kind"] = "mark";
    document["position"] = std::string(position);
    print_json(session, document);
  }
}

void begin(Connection& server, const Range& range, const ChangesArguments& arguments) {
  server.send(range_line(protocol::verb::meta_watch, range) + " O1 c f s t" + (arguments.values ? " v" : "") +
              (arguments.position.empty() ? "" : " G" + arguments.position) + "\r\n");
  if (const std::string_view answer = server.line(); !answer.starts_with("HD ")) {
    throw_refusal(answer);
  }
}

Outcome run_changes(Session& session, const Range& range, const ChangesArguments& arguments) {
  const auto server = session.another();  // the pushed lines of a watch are no replies
  begin(*server, range, arguments);
  const auto start = std::chrono::steady_clock::now();
  const std::chrono::duration<double> most(arguments.seconds);
  for (std::uint64_t seen = 0; seen < arguments.lines;) {
    session.flush();
    if (arguments.seconds > 0 && std::chrono::steady_clock::now() - start >= most) {
      break;
    }
    check_interrupt();
    if (!server->wait(Milliseconds(200))) {
      continue;
    }
    const Pushed line{std::string(server->line())};
    if (line.is("WO")) {
      throw Failure(Outcome::no, "the watch is over: " + line.line());
    }
    if (line.is("WE")) {
      if (const auto position = line.flag('G')) {
        print_mark(session, *position);
      }
    } else if (!line.is("WS") && !line.is("WB")) {
      std::optional<std::string> value;
      if (line.is("WV")) {
        const std::size_t bytes = line.number();
        value = server->data(bytes + protocol::kCrLf.size()).substr(0, bytes);
      }
      print(session, line, value);
      ++seen;
    }
  }
  return Outcome::done;
}

}  // namespace

Action declare_changes(CLI::App& app) {
  const auto range = add_range(app);
  const auto arguments = std::make_shared<ChangesArguments>();
  app.add_option("--position", arguments->position, "Go on behind this position; default: from now on")
      ->type_name("POSITION");
  app.add_flag("--values", arguments->values, "Print values, too");
  app.add_option("--lines", arguments->lines, "Stop after this many changes")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  app.add_option("--for", arguments->seconds, "Stop after this many seconds")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber);
  return [range, arguments](Session& session) {
    return run_changes(session, range->range(session), *arguments);
  };
}

}  // namespace mxkv::cli
