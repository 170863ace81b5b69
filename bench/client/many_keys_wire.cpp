// Atomic operations on many keys, by mxkv's meta commands: locked pages (mr X), locked touches (mt), batches
// (mb).
//
// A page is checked like a scan's page. A touch must have met every loaded key with the prefix, and may have
// met more. A batch must be answered as a whole: a line for each of its lines, and one behind them.
#include <algorithm>
#include <optional>
#include <string_view>

#include "bench/client/memcached_text.hpp"
#include "bench/client/text.hpp"
#include "bench/client/wire.hpp"

namespace mxkv::bench {
namespace {

constexpr std::size_t kMaxLineText = 64;  // all of a line but its keys
constexpr std::string_view kDone = "HD\r\n";
constexpr std::string_view kNextItem = "VA ";
constexpr std::string_view kPageEnd = "EN ";
constexpr std::string_view kTouched = "HD A";
constexpr std::string_view kBatchFailed = "EX ";

/// The number behind `lead`, up to the next space or the end of the line.
std::optional<std::uint64_t> number_behind(std::string_view line, std::string_view lead) noexcept {
  if (!line.starts_with(lead)) {
    return std::nullopt;
  }
  line.remove_prefix(lead.size());
  return parse_number(line.substr(0, line.find(' ')));
}

class ManyKeysWire final : public Wire {
 public:
  explicit ManyKeysWire(const RecordShape& shape) : shape_(shape) {}

  void write_request(const Operation& operation, ByteQueue& out, ReplyState& /*state*/) const override {
    if (operation.kind == OperationKind::batch) {
      write_batch(operation, out);
      return;
    }
    char* const begin = out.prepare(kMaxLineText + 2 * KeyFormat::kMaxBytes);
    char* const end = operation.kind == OperationKind::locked_scan ? put_page(operation, begin)
                                                                   : put_touch(operation, begin);
    out.commit(static_cast<std::size_t>(put(end, kLineEnd) - begin));
  }

  Step read_reply(const Operation& operation, std::string_view input, ReplyState& state) const override {
    switch (operation.kind) {
      case OperationKind::locked_scan:
        return read_page(operation, input, state);
      case OperationKind::locked_touch:
        return read_touch(operation, input);
      default:
        return read_batch(operation, input, state);
    }
  }

 private:
  char* put_page(const Operation& operation, char* at) const {
    at = put(at, "mr ");
    at += shape_.keys.write(operation.key_hash, at);
    return put(put_number(put(at, " v A"), operation.scan_length), " X");
  }

  /// The bytes of the key's prefix, written to `out` with all of the key.
  std::string_view prefix_of(const Operation& operation, char* out) const {
    return {out, std::min(shape_.keys.write(operation.key_hash, out), shape_.many.prefix_bytes)};
  }

  char* put_touch(const Operation& operation, char* at) const {
    at = put(at, "mt ");
    at += prefix_of(operation, at).size();
    return put_number(put(at, " p T"), shape_.many.touch_s);
  }

  void write_batch(const Operation& operation, ByteQueue& out) const {
    char* begin = out.prepare(kMaxLineText);
    char* at = put(put_number(put(begin, "mb "), operation.batch.size()), kLineEnd);
    out.commit(static_cast<std::size_t>(at - begin));
    for (const std::uint64_t key_hash : operation.batch) {
      const std::size_t bytes = shape_.fields.record_bytes(key_hash, operation.version);
      begin = out.prepare(kMaxLineText + KeyFormat::kMaxBytes + bytes);
      at = put(begin, "ms ");
      at += shape_.keys.write(key_hash, at);
      at = put_number(put(at, " "), bytes);
      at = put(shape_.ttl_s != 0 ? put_number(put(at, " T"), shape_.ttl_s) : at, kLineEnd);
      shape_.fields.write_record(key_hash, operation.version, at, bytes);
      out.commit(static_cast<std::size_t>(put(at + bytes, kLineEnd) - begin));
    }
  }

  /// Reads one item at a time, so that a long reply is never parsed twice.
  Step read_page(const Operation& operation, std::string_view input, ReplyState& state) const {
    ScanCheck& check = state.scan;
    const LoadedKeys& loaded = *shape_.loaded;
    if (!check.started()) {
      check.begin(loaded, operation);
    }
    if (input.starts_with(kNextItem)) {
      return read_item(operation, input, check);
    }
    if (!input.starts_with(kPageEnd)) {
      return give_up(read_refusal(input), check);
    }
    const auto line = first_line(input);
    if (!line) {
      return {};
    }
    const auto told = number_behind(*line, "EN A");
    if (!told) {
      return give_up({0, Outcome::out_of_step}, check);
    }
    if (*told != check.records()) {
      check.reject();
    }
    const bool none = check.records() == 0;
    const bool right = check.finish(loaded, operation, line->find(" G") != std::string_view::npos);
    return {line->size() + kLineEnd.size(),
            right ? Outcome::ok : (none ? Outcome::not_found : Outcome::wrong)};
  }

  /// "VA <bytes> k<key>" and the data.
  Step read_item(const Operation& operation, std::string_view input, ScanCheck& check) const {
    const auto line = first_line(input);
    if (!line) {
      return {};
    }
    const std::size_t key_at = line->find(" k");
    const auto bytes = number_behind(*line, kNextItem);
    if (!bytes || key_at == std::string_view::npos) {
      return give_up({0, Outcome::out_of_step}, check);
    }
    const std::size_t data_at = line->size() + kLineEnd.size();
    const std::size_t whole = data_at + *bytes + kLineEnd.size();
    if (input.size() < whole) {
      return {};
    }
    if (input.substr(data_at + *bytes, kLineEnd.size()) != kLineEnd) {
      return give_up({0, Outcome::out_of_step}, check);
    }
    const auto hash = shape_.keys.parse(line->substr(key_at + 2));
    if (!hash || !shape_.fields.record_matches(*hash, input.substr(data_at, *bytes))) {
      check.reject();
    }
    check.accept(*shape_.loaded, operation, hash.value_or(0));
    return {whole, Outcome::incomplete};
  }

  /// A step that may end the page without its last line.
  static Step give_up(Step step, ScanCheck& check) noexcept {
    if (step.outcome != Outcome::incomplete) {
      check = ScanCheck{};
    }
    return step;
  }

  Step read_touch(const Operation& operation, std::string_view input) const {
    const auto line = first_line(input);
    const auto touched = line ? number_behind(*line, kTouched) : std::nullopt;
    if (!touched) {
      return read_refusal(input);
    }
    char key[KeyFormat::kMaxBytes];
    const bool all = *touched > 0 && *touched >= shape_.loaded->count_prefix(prefix_of(operation, key));
    return {line->size() + kLineEnd.size(), all ? Outcome::ok : Outcome::not_found};
  }

  /// Reads one line at a time; a failed batch has only one.
  static Step read_batch(const Operation& operation, std::string_view input, ReplyState& state) noexcept {
    if (input.starts_with(kDone)) {
      const bool last = state.parts == operation.batch.size();
      state.parts = last ? 0 : state.parts + 1;
      return {kDone.size(), last ? Outcome::ok : Outcome::incomplete};
    }
    const auto line = first_line(input);
    if (!line) {
      return {};
    }
    if (state.parts != 0) {
      return {0, Outcome::out_of_step};
    }
    return line->starts_with(kBatchFailed) ? Step{line->size() + kLineEnd.size(), Outcome::error}
                                           : read_refusal(input);
  }

  RecordShape shape_;
};

}  // namespace

std::unique_ptr<Wire> make_many_keys_wire(const RecordShape& shape) {
  return std::make_unique<ManyKeysWire>(shape);
}

}  // namespace mxkv::bench
