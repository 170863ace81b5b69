// Feeds a stream in pieces. The bytes not yet consumed are copied to a fresh block of exactly their size
// before each call, so that a sanitizer sees reads beyond them and views into an earlier block.
#include "tests/unit/protocol/transcript.hpp"

#include <algorithm>
#include <memory>

namespace mxkv::protocol {
namespace {

std::string describe(const RangeBound& bound) {
  if (bound.unbounded) {
    return "unbounded";
  }
  return (bound.inclusive ? "[" : "(") + std::string(bound.key);
}

std::string describe(const RangeRequest& range) {
  std::string text = " low " + describe(range.low) + " high " + describe(range.high);
  text += " prefix " + std::string(range.prefix) + " limit " + std::to_string(range.limit) + " bytes " +
          std::to_string(range.byte_limit) + " time " + std::to_string(range.time_limit_us) + " delimiter " +
          std::string(range.delimiter);
  for (const bool flag : {range.by_prefix, range.reverse, range.keys_only, range.with_cas, range.want_cursor,
                          range.base64, range.exact, range.locked, range.numeric.any()}) {
    text += flag ? " yes" : " no";
  }
  return text;
}

class Connection {
 public:
  explicit Connection(const ParserLimits& limits) : parser_(limits) {}

  /// False when the connection is closed.
  bool receive(std::string_view bytes) {
    pending_.append(bytes);
    for (;;) {
      if (!take_block()) {
        return true;
      }
      const auto block = std::make_unique<char[]>(pending_.size());
      pending_.copy(block.get(), pending_.size());
      const Parsed parsed = parser_.parse(block.get(), pending_.size(), line_, *request_);
      if (parsed.what == outcome::need_more) {
        return true;
      }
      if (parsed.what == outcome::close) {
        notes_.emplace_back("close");
        return false;
      }
      note(parsed);
      if (parsed.closes) {
        return false;
      }
      pending_.erase(0, parsed.consumed);
    }
  }

  [[nodiscard]] std::vector<std::string> take_notes() { return std::move(notes_); }

 private:
  void note(const Parsed& parsed) {
    if (parsed.what == outcome::error) {
      notes_.push_back("error " + std::string(parsed.error) +
                       (parsed.delete_key ? "delete " + std::string(request_->key) : "") +
                       (parsed.length_unknown ? "length unknown" : "") + (parsed.closes ? "closes" : ""));
      skip_ = parsed.swallow;
      return;
    }
    notes_.push_back(protocol::describe(*request_));
    if (takes_value(request_->op)) {
      skip_ = request_->value_bytes;
      block_end_.emplace_back();
    }
  }

  /// Goes through the bytes that belong to the last command; false if more of them are to come.
  bool take_block() {
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, pending_.size()));
    skip_ -= taken;
    pending_.erase(0, taken);
    if (skip_ > 0) {
      return false;
    }
    if (!block_end_.empty()) {
      pending_.erase(0, block_end_.back().feed(pending_));
      if (!block_end_.back().complete()) {
        return false;
      }
      notes_.emplace_back(block_end_.back().good() ? "block" : "bad block");
      block_end_.clear();
    }
    return true;
  }

  Parser parser_;
  LineState line_;
  std::unique_ptr<Request> request_ = std::make_unique<Request>();
  std::string pending_;
  std::uint64_t skip_ = 0;
  std::vector<DataBlockEnd> block_end_;  // none or one
  std::vector<std::string> notes_;
};

}  // namespace

std::string describe_meta(const MetaFlags& flags) {
  std::string text;
  const auto add = [&text](bool says, std::string_view what, const std::string& number = {}) {
    if (says) {
      text.append(text.empty() ? "" : " ").append(what).append(number.empty() ? "" : " ").append(number);
    }
  };
  add(flags.binary_key, "binary");
  add(!flags.wants().empty(), "wants", std::string(flags.wants()));
  add(!flags.opaque().empty(), "opaque", std::string(flags.opaque()));
  add(flags.mode != 0, "mode", std::string(1, flags.mode));
  add(flags.quiet, "quiet");
  add(flags.value, "value");
  add(flags.no_bump, "no bump");
  add(flags.invalidate, "invalidate");
  add(flags.remove_value, "remove value");
  add(flags.has_compare, "compare", std::to_string(flags.compare));
  add(flags.cas != 0, "cas", std::to_string(flags.cas));
  add(flags.has_exptime, "time", std::to_string(flags.exptime));
  add(flags.vivify, "vivify", std::to_string(flags.vivify_exptime));
  add(flags.has_recache, "recache", std::to_string(flags.recache));
  add(true, "delta", std::to_string(flags.delta));
  add(flags.initial != 0, "initial", std::to_string(flags.initial));
  return text;
}

std::string describe(const Request& request) {
  std::string text =
      "verb " + std::to_string(static_cast<int>(request.op)) + " key " + std::string(request.key);
  text += request.noreply ? " noreply" : "";
  if (is_retrieval(request.op)) {
    text += " count " + std::to_string(request.key_count);
    std::string_view keys = request.keys;
    for (std::string_view key = next_key(keys); !key.empty(); key = next_key(keys)) {
      text += " " + std::string(key);
    }
  }
  if (is_meta(request.op) && request.op != verb::meta_noop) {
    text += " " + describe_meta(request.meta);
  }
  if (takes_value(request.op)) {
    text += " flags " + std::to_string(request.flags) + " bytes " + std::to_string(request.value_bytes);
  }
  if (takes_value(request.op) || request.op == verb::touch || request.op == verb::gat ||
      request.op == verb::gats || request.op == verb::flush_all || request.op == verb::meta_range_touch) {
    text += " time " + std::to_string(request.exptime);
  }
  if (request.op == verb::cas) {
    text += " cas " + std::to_string(request.cas);
  }
  if (request.op == verb::incr || request.op == verb::decr) {
    text += " delta " + std::to_string(request.delta);
  }
  if (request.op == verb::meta_batch) {
    text += " lines " + std::to_string(request.batch_lines);
  }
  if (request.op == verb::stats || request.op == verb::verbosity) {
    text += " argument " + std::string(request.argument);
  }
  if (is_meta_range(request.op)) {
    text += " flags " + std::string(request.meta.wants()) + " opaque " + std::string(request.meta.opaque());
  }
  if (command_of(request.op).belongs == family::watching) {
    text += " shows " + std::string(request.meta.wants()) + " name " + std::string(request.meta.opaque());
  }
  if (request.op == verb::meta_unwatch) {
    text += " mark " + std::string(request.argument);
  }
  if (request.op == verb::meta_watch) {
    text += " kinds " + std::to_string(request.watched) + " from " + std::string(request.setting) +
            (request.meta.value ? " values" : "") + describe(request.range);
  }
  return is_range(request.op) ? text + describe(request.range) : text;
}

std::vector<std::string> transcript(std::string_view stream, const ParserLimits& limits, const Cut& cut) {
  Connection connection(limits);
  while (!stream.empty()) {
    const std::size_t bytes = std::clamp<std::size_t>(cut(stream.size()), 1, stream.size());
    if (!connection.receive(stream.substr(0, bytes))) {
      break;
    }
    stream.remove_prefix(bytes);
  }
  return connection.take_notes();
}

}  // namespace mxkv::protocol
