#include "tests/fuzz/owed.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "protocol/reply.hpp"

namespace mxkv::fuzz {
namespace {

using protocol::outcome;
using protocol::verb;

/// Goes through a stream, request by request.
class Ledger {
 public:
  Ledger(std::string_view stream, const config::LimitOptions& limits, server::Credentials* credentials)
      : rest_(stream),
        limits_(limits),
        parser_({.value_bytes = limits.value_bytes, .get_line_bytes = limits.get_line_bytes}),
        credentials_(credentials) {}

  std::vector<Owed> all() {
    const protocol::wire_protocol spoken = protocol::protocol_of(rest_);
    if (spoken == protocol::wire_protocol::binary) {
      owed_.emplace_back().how = Owed::form::stream;  // the binary protocol has a fuzzer of its own
    }
    while (spoken == protocol::wire_protocol::text && take()) {
    }
    return std::move(owed_);
  }

 private:
  /// One request; false: no further request is answered.
  bool take() {
    protocol::LineState line;
    const bool logs_in = credentials_ != nullptr;
    const protocol::Parsed parsed = logs_in ? parser_.parse_login(rest_.data(), rest_.size(), line, *request_)
                                            : parser_.parse(rest_.data(), rest_.size(), line, *request_);
    if (parsed.what == outcome::need_more || parsed.what == outcome::close) {
      return false;
    }
    rest_.remove_prefix(parsed.consumed);
    if (logs_in) {
      return log_in(parsed);
    }
    if (parsed.what == outcome::error) {
      return skip(parsed.swallow) && owe(parsed.error) && !parsed.closes;
    }
    return take_request();
  }

  bool take_request() {
    const protocol::Request& request = *request_;
    if (protocol::takes_value(request.op)) {
      const std::string_view end = rest_.substr(std::min<std::uint64_t>(request.value_bytes, rest_.size()));
      if (!skip(request.value_bytes + 2)) {
        return false;
      }
      if (!end.starts_with(protocol::kCrLf)) {
        if (!request.noreply) {
          owe(protocol::kBadDataChunk);
          owed_.back().how = Owed::form::bad_block;
        }
        return true;
      }
    }
    switch (request.op) {
      case verb::quit:
        return false;
      case verb::meta_batch:
        return take_batch(request.batch_lines);
      case verb::version:
        return owe(kVersionLine);
      case verb::meta_noop:
        return owe(protocol::kMetaNoop);
      case verb::tune:
        return owe(request.noreply ? std::string_view{} : protocol::kOk);
      case verb::watch:
        owe(protocol::kOk);
        owed_.back().how = Owed::form::stream;
        return false;
      case verb::stats:
      case verb::verbosity:
      case verb::cache_memlimit:
      case verb::config_get:
      case verb::config_set:
      case verb::refresh_certs:
      case verb::debugtime:
      case verb::shutdown: {
        const std::string text = administer(request);
        return owe(request.noreply ? std::string_view{} : text) && !text.empty();
      }
      default:
        return request.noreply || owe_shaped(owed_);
    }
  }

  /// The lines of a batch, which is owed one reply when the last line came.
  bool take_batch(std::uint64_t lines) {
    Owed batch;
    batch.how = Owed::form::shaped;
    batch.op = verb::meta_batch;
    std::uint64_t value_bytes = 0;
    bool goes_on = true;
    for (std::uint64_t number = 1; goes_on && number <= lines; ++number) {
      protocol::LineState line;
      const protocol::Parsed parsed = parser_.parse(rest_.data(), rest_.size(), line, *request_);
      if (parsed.what == outcome::need_more || parsed.what == outcome::close) {
        return false;
      }
      rest_.remove_prefix(parsed.consumed);
      goes_on = !parsed.length_unknown;
      const bool has_block = parsed.what == outcome::request && protocol::takes_value(request_->op);
      value_bytes += has_block ? request_->value_bytes : 0;
      const std::string_view flaw = number > limits_.batch_lines      ? protocol::kBatchLines
                                    : parsed.what == outcome::request ? flaw_of_line(value_bytes)
                                                                      : parsed.error;
      if (!skip(has_block ? request_->value_bytes + 2 : parsed.swallow)) {
        return false;
      }
      if (flaw.empty() && parsed.what == outcome::request) {
        owe_shaped(batch.lines);
      } else if (batch.bad_line == 0) {
        batch.bad_line = number;
        batch.text = flaw.empty() ? protocol::kNotInBatch : flaw;  // noreply has no effect in a batch
      }
    }
    owed_.push_back(std::move(batch));
    return goes_on;
  }

  /// The flaw of a line that was parsed; its block is still there.
  std::string_view flaw_of_line(std::uint64_t value_bytes) const {
    if (!protocol::may_stand_in_batch(request_->op)) {
      return protocol::kNotInBatch;
    }
    if (!protocol::takes_value(request_->op)) {
      return {};
    }
    if (value_bytes > limits_.batch_bytes) {
      return protocol::kBatchBytes;
    }
    const std::string_view end = rest_.substr(std::min<std::uint64_t>(request_->value_bytes, rest_.size()));
    return end.starts_with(protocol::kCrLf) ? std::string_view{} : protocol::kBadDataChunk;
  }

  /// Before the client has logged in.
  bool log_in(const protocol::Parsed& parsed) {
    const bool accepted = parsed.what == outcome::request;
    const bool has_block = accepted && protocol::takes_value(request_->op);
    const std::string_view block = rest_;
    if (!skip(has_block ? request_->value_bytes + 2 : parsed.swallow)) {
      return false;
    }
    if (!accepted || request_->op != verb::set) {
      return owe(protocol::kUnauthenticated);
    }
    if (request_->value_bytes > server::Credentials::kMostBytes) {
      return owe(protocol::kLongLogin);
    }
    const auto bytes = static_cast<std::size_t>(request_->value_bytes);
    if (block.substr(bytes, 2) != protocol::kCrLf) {
      return owe(protocol::kBadLoginEnd);
    }
    server::Login::Claim claim;
    if (!server::Credentials::split(block.substr(0, bytes), claim)) {
      return owe(protocol::kBadLogin);
    }
    if (credentials_->log_in(std::move(claim), nullptr)->verdict() != server::login_verdict::accepted) {
      return owe(protocol::kWrongLogin);
    }
    credentials_ = nullptr;
    return owe(protocol::kStored);
  }

  bool owe(std::string_view text) {
    if (!text.empty()) {
      owed_.emplace_back().text = text;
    }
    return true;
  }

  bool owe_shaped(std::vector<Owed>& list) {
    const protocol::Request& request = *request_;
    Owed& owed = list.emplace_back();
    owed.how = Owed::form::shaped;
    owed.op = request.op;
    owed.key = request.key;
    if (protocol::is_retrieval(request.op)) {
      owed.keys = request.keys;
      owed.key_count = request.key_count;
    }
    if (protocol::is_meta(request.op) || protocol::is_meta_range(request.op)) {
      owed.meta = request.meta;
    }
    if (protocol::is_range(request.op)) {
      owed.reverse = request.range.reverse;
      owed.base64 = request.range.base64;
      owed.keys_only = request.range.keys_only;
      owed.with_cas = request.range.with_cas;
      owed.by_delimiter = !request.range.delimiter.empty();
      owed.locked = request.range.locked;
    }
    return true;
  }

  /// Skips the bytes that belong to a request; false: it does not come to its end.
  bool skip(std::uint64_t bytes) {
    if (bytes > rest_.size()) {
      return false;
    }
    rest_.remove_prefix(static_cast<std::size_t>(bytes));
    return true;
  }

  std::string_view rest_;
  config::LimitOptions limits_;
  protocol::Parser parser_;
  server::Credentials* credentials_;
  std::unique_ptr<protocol::Request> request_ = std::make_unique<protocol::Request>();
  std::vector<Owed> owed_;
};

}  // namespace

std::string administer(const protocol::Request& request) {
  switch (request.op) {
    case verb::stats:
      return "STAT group " + std::string{request.argument} + "\r\nEND\r\n";
    case verb::shutdown:
      return {};
    case verb::debugtime:
      return std::string{protocol::kError};
    default:
      return std::string{protocol::kOk};
  }
}

std::vector<Owed> owed_for(std::string_view stream, const config::LimitOptions& limits,
                           server::Credentials* credentials) {
  return Ledger{stream, limits, credentials}.all();
}

}  // namespace mxkv::fuzz
