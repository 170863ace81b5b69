// Reads a trace line by line. The first line that is wrong ends the reading, and the error has its place.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/workload/number.hpp"
#include "bench/workload/trace.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::bench {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kColumns = 7;
constexpr std::string_view kForm = "timestamp,key,key size,value size,client id,operation,TTL";
constexpr std::size_t kMostShown = 60;
constexpr std::uint32_t kLongestTtl = 2'592'000;  // servers take a greater one for a date
constexpr char kFill = '-';

// In the order of TraceAction.
constexpr std::array<std::string_view, 11> kActions{"get",    "gets",    "set",    "add",  "replace", "cas",
                                                    "append", "prepend", "delete", "incr", "decr"};

std::string quoted_start(std::string_view text) {
  return "'" + runtime::readable(text.substr(0, kMostShown)) + "'";
}

}  // namespace

/// Thread-safety: owner only.
class TraceParser {
 public:
  TraceParser(std::string file, std::uint64_t most_value_bytes)
      : file_(std::move(file)), most_value_bytes_(most_value_bytes) {}

  /// Takes further bytes. Returns false after an error.
  bool feed(std::string_view bytes) {
    if (line_ == 0 && rest_.empty() && is_compressed(bytes)) {
      problem_ = file_ + ": is compressed: pipe it in, as by zstdcat FILE | mxkv-ycsb run --trace -";
      return false;
    }
    while (problem_.empty()) {
      const std::size_t end = bytes.find('\n');
      if (end == std::string_view::npos) {
        rest_.append(bytes.substr(0, kMostLine + 1 - std::min(kMostLine, rest_.size())));
        if (rest_.size() > kMostLine) {
          ++line_;
          complain("has more than " + std::to_string(kMostLine) + " bytes; expected " + std::string(kForm));
        }
        break;
      }
      ++line_;
      if (rest_.empty()) {
        take(bytes.substr(0, end));
      } else {
        rest_.append(bytes.substr(0, end));
        take(rest_);
        rest_.clear();
      }
      bytes.remove_prefix(end + 1);
    }
    return problem_.empty();
  }

  runtime::Result<Trace> finish() {
    if (problem_.empty() && !rest_.empty()) {
      ++line_;
      complain("the file ends within this line; expected a newline: is the file complete?");
    }
    if (problem_.empty() && trace_.requests_.empty()) {
      problem_ = file_ + ": has no request; expected lines of " + std::string(kForm);
    }
    if (!problem_.empty()) {
      return runtime::Error{problem_};
    }
    return std::move(trace_);
  }

 private:
  static constexpr std::size_t kMostLine = 4096;

  static bool is_compressed(std::string_view bytes) noexcept {
    return bytes.starts_with("\x28\xB5\x2F\xFD") || bytes.starts_with("\x1F\x8B");
  }

  void complain(const std::string& what) { problem_ = file_ + ":" + std::to_string(line_) + ": " + what; }

  void take(std::string_view line) {
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    std::array<std::string_view, kColumns> columns;
    std::size_t count = 0;
    for (std::string_view rest = line;; rest.remove_prefix(columns[count - 1].size() + 1)) {
      const std::size_t comma = rest.find(',');
      columns[count++] = rest.substr(0, comma);
      if (comma == std::string_view::npos || count == kColumns) {
        break;
      }
    }
    const auto commas = static_cast<std::size_t>(std::ranges::count(line, ','));
    if (commas + 1 != kColumns) {
      complain("has " + std::to_string(commas + 1) + (commas == 0 ? " column" : " columns") + "; expected " +
               std::to_string(kColumns) + ": " + std::string(kForm));
      return;
    }
    read_request(columns);
  }

  void read_request(const std::array<std::string_view, kColumns>& columns) {
    const auto& [time, key, key_size, value_size, client, action_name, ttl] = columns;
    TraceRequest request;
    const auto second = parse_number<std::uint64_t>(time, UINT32_MAX - 1);
    const auto seconds_to_live = parse_number<std::uint64_t>(ttl, UINT32_MAX);
    const auto key_bytes = parse_number<std::uint64_t>(key_size, TraceKeys::kMostBytes);
    const auto value_bytes = parse_number<std::uint64_t>(value_size, most_value_bytes_);
    const auto* const action = std::ranges::find(kActions, action_name);
    if (!second) {
      return complain("timestamp " + quoted_start(time) + "; expected whole seconds below 4294967295");
    }
    if (!trace_.seconds_.empty() && *second < trace_.seconds_.back().second) {
      return complain("timestamp " + quoted_start(time) + " is before the previous line's, " +
                      std::to_string(trace_.seconds_.back().second) + "; expected times in order");
    }
    if (const bool fits = !key.empty() && key.size() <= TraceKeys::kMostBytes &&
                          std::ranges::all_of(key, [](unsigned char c) { return c > ' ' && c != 0x7F; });
        !fits) {
      return complain("key " + quoted_start(key) + "; expected 1 to " +
                      std::to_string(TraceKeys::kMostBytes) + " bytes without blanks and control characters");
    }
    if (!key_bytes || *key_bytes == 0) {
      return complain("key size " + quoted_start(key_size) + "; expected 1 to " +
                      std::to_string(TraceKeys::kMostBytes) + ", the servers' limit");
    }
    if (!value_bytes) {
      return complain("value size " + quoted_start(value_size) + "; expected 0 to " +
                      std::to_string(most_value_bytes_) + ", the limit that --trace-value-bytes sets");
    }
    if (action == kActions.end()) {
      return complain("operation " + quoted_start(action_name) +
                      "; expected get, gets, set, add, replace, cas, append, prepend, delete, incr or decr");
    }
    if (!seconds_to_live) {
      return complain("TTL " + quoted_start(ttl) + "; expected whole seconds, 0 for none");
    }
    request.second = static_cast<std::uint32_t>(*second);
    request.ttl_s = static_cast<std::uint32_t>(std::min<std::uint64_t>(*seconds_to_live, kLongestTtl));
    request.value_bytes = static_cast<std::uint32_t>(*value_bytes) & Trace::kMostValueBytes;
    request.action = static_cast<TraceAction>(action - kActions.begin());
    request.key = trace_.keys_.intern(full_key(key, *key_bytes));
    add(request);
  }

  /// The anonymised key, made as long as the original one if it is shorter.
  std::string_view full_key(std::string_view key, std::size_t bytes) {
    if (key.size() >= bytes) {
      return key;
    }
    key_.assign(key);
    key_.resize(bytes, kFill);
    return key_;
  }

  void add(const TraceRequest& request) {
    if (trace_.seconds_.empty() || trace_.seconds_.back().second != request.second) {
      trace_.seconds_.push_back({request.second, trace_.requests_.size()});
    }
    trace_.requests_.push_back(request);
    if (request.action == TraceAction::incr || request.action == TraceAction::decr) {
      trace_.keys_.mark_counter(request.key);
    } else if (request.action == TraceAction::append || request.action == TraceAction::prepend) {
      trace_.keys_.mark_opaque(request.key);
    }
  }

  std::string file_;
  std::uint64_t most_value_bytes_;
  Trace trace_;
  std::string rest_;  // the beginning of a line whose end has not come yet
  std::string key_;
  std::string problem_;
  std::uint64_t line_ = 0;  // the number of the line that is read
};

runtime::Result<Trace> Trace::parse(std::string_view text, const std::string& file,
                                    std::uint64_t most_value_bytes) {
  TraceParser parser(file, most_value_bytes);
  static_cast<void>(parser.feed(text));
  return parser.finish();
}

runtime::Result<Trace> Trace::read(const std::string& file, std::uint64_t most_value_bytes) {
  constexpr auto kClose = [](std::FILE* opened) { std::fclose(opened); };
  const bool piped = file == "-";
  const std::string name = piped ? "standard input" : file;
  const std::unique_ptr<std::FILE, decltype(kClose)> opened{piped ? nullptr : std::fopen(file.c_str(), "re"),
                                                            kClose};
  std::FILE* const input = piped ? stdin : opened.get();
  TraceParser parser(name, most_value_bytes);
  std::vector<char> piece(kPieceBytes);
  std::size_t bytes = input != nullptr ? std::fread(piece.data(), 1, piece.size(), input) : 0;
  while (bytes > 0 && parser.feed({piece.data(), bytes})) {
    bytes = std::fread(piece.data(), 1, piece.size(), input);
  }
  if (input == nullptr || std::ferror(input) != 0) {
    return runtime::Error{name + ": cannot be read: " + std::strerror(errno)};
  }
  return parser.finish();
}

}  // namespace mxkv::bench
