// memcached's classic protocol, and mxkv's `scan` in the same style. many_keys_wire.cpp has the atomic
// operations on many keys.
#include <limits>
#include <memory>
#include <string>

#include "bench/client/memcached_text.hpp"
#include "bench/client/text.hpp"
#include "bench/client/wire.hpp"

namespace mxkv::bench {
namespace {

constexpr std::size_t kMaxRequestText = 64;  // all of a request but key and value
constexpr std::size_t kVarying = std::numeric_limits<std::size_t>::max();

class MemcachedWire final : public Wire {
 public:
  explicit MemcachedWire(const RecordShape& shape)
      : shape_(shape),
        constant_bytes_(shape.fields.constant_record_bytes().value_or(kVarying)),
        set_head_(" 0 " + std::to_string(shape.ttl_s) + " "),
        value_tail_(" 0 " + std::to_string(constant_bytes_) + "\r\n"),
        many_keys_(make_many_keys_wire(shape)) {}

  void write_request(const Operation& operation, ByteQueue& out, ReplyState& state) const override {
    if (operation.kind == OperationKind::multi_read) {
      write_multi_get(operation, out);
      return;
    }
    char* const begin =
        out.prepare(kMaxRequestText + KeyFormat::kMaxBytes + shape_.fields.most_record_bytes());
    char* at = begin;
    switch (operation.kind) {
      case OperationKind::read:
        at = put(at, "get ");
        at += shape_.keys.write(operation.key_hash, at);
        break;
      case OperationKind::scan:
        at = put(at, "scan ");
        at += shape_.keys.write(operation.key_hash, at);
        *at++ = ' ';
        at = put_number(at, operation.scan_length);
        break;
      case OperationKind::locked_scan:
      case OperationKind::locked_touch:
      case OperationKind::batch:
        return many_keys_->write_request(operation, out, state);
      case OperationKind::remove:
        at = put(at, "delete ");
        at += shape_.keys.write(operation.key_hash, at);
        break;
      case OperationKind::update:
      case OperationKind::insert:
      case OperationKind::multi_read:         // is written already
      case OperationKind::read_modify_write:  // sent as its read and its update
        at = put(at, "set ");
        at += shape_.keys.write(operation.key_hash, at);
        at = put_set_tail(operation, at);
        break;
    }
    at = put(at, kLineEnd);
    out.commit(static_cast<std::size_t>(at - begin));
  }

  Step read_reply(const Operation& operation, std::string_view input, ReplyState& state) const override {
    switch (operation.kind) {
      case OperationKind::read:
        return read_get(operation, input);
      case OperationKind::scan:
        return read_scan(operation, input, state);
      case OperationKind::multi_read:
        return read_multi_get(operation, input, state);
      case OperationKind::locked_scan:
      case OperationKind::locked_touch:
      case OperationKind::batch:
        return many_keys_->read_reply(operation, input, state);
      case OperationKind::remove:
        return read_delete(input);
      case OperationKind::update:
      case OperationKind::insert:
      case OperationKind::read_modify_write:  // sent as its read and its update
        break;
    }
    return read_set(input);
  }

 private:
  void write_multi_get(const Operation& operation, ByteQueue& out) const {
    const std::uint32_t count = shape_.multi_keys.count();
    char* const begin = out.prepare(kMaxRequestText + count * (KeyFormat::kMaxBytes + 1));
    char* at = put(begin, "get");
    for (std::uint32_t i = 0; i < count; ++i) {
      *at++ = ' ';
      at += shape_.keys.write(shape_.multi_keys.key_number(operation, i), at);
    }
    at = put(at, kLineEnd);
    out.commit(static_cast<std::size_t>(at - begin));
  }

  char* put_set_tail(const Operation& operation, char* at) const {
    const std::size_t bytes = constant_bytes_ != kVarying
                                  ? constant_bytes_
                                  : shape_.fields.record_bytes(operation.key_hash, operation.version);
    at = put(put_number(put(at, set_head_), bytes), kLineEnd);
    shape_.fields.write_record(operation.key_hash, operation.version, at, bytes);
    return at + bytes;
  }

  [[nodiscard]] bool right_value(std::uint64_t key_hash, std::string_view data) const {
    return shape_.fields.record_matches(key_hash, data);
  }

  static Step read_set(std::string_view input) noexcept {
    constexpr std::string_view kStored = "STORED\r\n";
    return input.starts_with(kStored) ? Step{kStored.size(), Outcome::ok} : read_refusal(input);
  }

  static Step read_delete(std::string_view input) noexcept {
    constexpr std::string_view kDeleted = "DELETED\r\n";
    constexpr std::string_view kNotFound = "NOT_FOUND\r\n";
    if (input.starts_with(kNotFound)) {
      return {kNotFound.size(), Outcome::not_found};
    }
    return input.starts_with(kDeleted) ? Step{kDeleted.size(), Outcome::ok} : read_refusal(input);
  }

  /// Compares with the one right reply, built from the request; any other reply goes the long way.
  Step read_get(const Operation& operation, std::string_view input) const {
    if (constant_bytes_ == kVarying) {
      return read_other_get(operation, input);
    }
    char head[kValue.size() + KeyFormat::kMaxBytes + kMaxRequestText];
    char* at = put(head, kValue);
    at = put(at + shape_.keys.write(operation.key_hash, at), value_tail_);
    const std::string_view expected(head, static_cast<std::size_t>(at - head));
    constexpr std::string_view kTail = "\r\nEND\r\n";
    const std::size_t whole = expected.size() + constant_bytes_ + kTail.size();
    if (input.size() >= whole && input.starts_with(expected) &&
        input.substr(whole - kTail.size(), kTail.size()) == kTail) {
      const bool right = right_value(operation.key_hash, input.substr(expected.size(), constant_bytes_));
      return {whole, right ? Outcome::ok : Outcome::wrong};
    }
    return read_other_get(operation, input);
  }

  Step read_other_get(const Operation& operation, std::string_view input) const {
    if (!input.starts_with(kValue)) {
      return input.starts_with(kEnd) ? Step{kEnd.size(), Outcome::not_found} : read_refusal(input);
    }
    const Item item = read_only_item(input);
    if (item.status != Item::Status::complete) {
      return unread(item);
    }
    const bool right =
        shape_.keys.parse(item.key) == operation.key_hash && right_value(operation.key_hash, item.data);
    return {item.bytes, right ? Outcome::ok : Outcome::wrong};
  }

  /// Reads one item at a time. Items come in the order of their keys; an item left out is missing.
  Step read_multi_get(const Operation& operation, std::string_view input, ReplyState& state) const {
    const std::uint32_t count = shape_.multi_keys.count();
    if (input.starts_with(kValue)) {
      const Item item = read_item(input);
      if (item.status != Item::Status::complete) {
        return unread(item);
      }
      const auto hash = shape_.keys.parse(item.key);
      while (state.parts < count && hash != shape_.multi_keys.key_number(operation, state.parts)) {
        state.missing = true;
        ++state.parts;
      }
      state.right = state.right && state.parts++ < count && right_value(*hash, item.data);
      return {item.bytes, Outcome::incomplete};
    }
    const bool ends = input.starts_with(kEnd);
    const Step step = ends ? Step{kEnd.size(), multi_get_outcome(state, count)} : read_refusal(input);
    if (step.outcome != Outcome::incomplete) {
      state.parts = 0;
      state.right = true;
      state.missing = false;
    }
    return step;
  }

  static Outcome multi_get_outcome(const ReplyState& state, std::uint32_t count) noexcept {
    if (!state.right) {
      return Outcome::wrong;
    }
    return state.missing || state.parts < count ? Outcome::not_found : Outcome::ok;
  }

  /// Reads one item at a time, so that a long reply is never parsed twice.
  Step read_scan(const Operation& operation, std::string_view input, ReplyState& state) const {
    constexpr std::string_view kCursor = "CURSOR ";
    ScanCheck& check = state.scan;
    const LoadedKeys& loaded = *shape_.loaded;
    if (!check.started()) {
      check.begin(loaded, operation);
      state.more_remains = false;
    }
    if (input.starts_with(kValue)) {
      const Item item = read_item(input);
      if (item.status != Item::Status::complete) {
        return unread(item);
      }
      const auto hash = shape_.keys.parse(item.key);
      if (!hash || !right_value(*hash, item.data)) {
        check.reject(hash.value_or(0));
      }
      check.accept(loaded, operation, hash.value_or(0));
      return {item.bytes, Outcome::incomplete};
    }
    if (input.starts_with(kCursor)) {
      const auto line = first_line(input);
      state.more_remains = true;
      return line ? Step{line->size() + kLineEnd.size(), Outcome::incomplete} : Step{};
    }
    if (input.starts_with(kEnd)) {
      const bool none = check.records() == 0;
      const bool right = check.finish(loaded, operation, state.more_remains);
      return {kEnd.size(), right ? Outcome::ok : (none ? Outcome::not_found : Outcome::wrong)};
    }
    const Step other = read_refusal(input);
    if (other.outcome != Outcome::incomplete) {
      check = ScanCheck{};
    }
    return other;
  }

  RecordShape shape_;
  std::size_t constant_bytes_;  // of every value, or kVarying
  std::string set_head_;        // between key and length of a set
  std::string value_tail_;      // of the right reply's first line, with its end
  std::unique_ptr<Wire> many_keys_;
};

}  // namespace

std::unique_ptr<Wire> make_memcached_wire(const RecordShape& shape) {
  return std::make_unique<MemcachedWire>(shape);
}

}  // namespace mxkv::bench
