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
          std::to_string(range.byte_limit);
  for (const bool flag :
       {range.by_prefix, range.reverse, range.keys_only, range.with_cas, range.want_cursor, range.base64}) {
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
      pending_.erase(0, parsed.consumed);
    }
  }

  [[nodiscard]] std::vector<std::string> take_notes() { return std::move(notes_); }

 private:
  void note(const Parsed& parsed) {
    if (parsed.what == outcome::error) {
      notes_.push_back("error " + std::string(parsed.error) +
                       (parsed.delete_key ? "delete " + std::string(request_->key) : ""));
      skip_ = parsed.swallow;
      return;
    }
    notes_.push_back(protocol::describe(*request_));
    if (is_storage(request_->op)) {
      skip_ = request_->value_bytes;
      block_end_.emplace_back();
    }
  }

  /// Goes through what belongs to the last command; false if more of it is to come.
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
  if (is_storage(request.op)) {
    text += " flags " + std::to_string(request.flags) + " bytes " + std::to_string(request.value_bytes);
  }
  if (is_storage(request.op) || request.op == verb::touch || request.op == verb::gat ||
      request.op == verb::gats || request.op == verb::flush_all) {
    text += " time " + std::to_string(request.exptime);
  }
  if (request.op == verb::cas) {
    text += " unique " + std::to_string(request.cas_unique);
  }
  if (request.op == verb::incr || request.op == verb::decr) {
    text += " delta " + std::to_string(request.delta);
  }
  if (request.op == verb::stats || request.op == verb::verbosity) {
    text += " argument " + std::string(request.argument);
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
