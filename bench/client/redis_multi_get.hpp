// A multi-read by redis's MGET, where records are strings: one request, one array of values.
#pragma once

#include "bench/client/resp_text.hpp"
#include "bench/client/wire.hpp"

namespace mxkv::bench {

inline void write_redis_multi_get(const RecordShape& shape, const Operation& operation, ByteQueue& out) {
  constexpr std::size_t kMaxLengthText = 16;  // "$<bytes>" of a key and line ends
  const std::size_t count = shape.multi_keys.count();
  char* const begin = out.prepare(kMaxRespText + count * (kMaxLengthText + KeyFormat::kMaxBytes));
  char* at = put_command(begin, 1 + count, "MGET");
  for (std::size_t i = 0; i < count; ++i) {
    char key[KeyFormat::kMaxBytes];
    at = put_bulk(at, {key, shape.keys.write(shape.multi_keys.key_number(operation, i), key)});
  }
  out.commit(static_cast<std::size_t>(at - begin));
}

/// Reads one value at a time.
inline Step read_redis_multi_get(const RecordShape& shape, const Operation& operation, std::string_view input,
                                 ReplyState& state) {
  const std::uint32_t count = shape.multi_keys.count();
  if (!state.started) {
    const NumberLine head = read_number_line(input, '*');
    if (head.outcome != Outcome::ok || head.number != count) {
      return {head.bytes, head.outcome != Outcome::ok ? head.outcome : Outcome::out_of_step};
    }
    state.started = true;
    return {head.bytes, Outcome::incomplete};
  }
  const Bulk value = read_bulk(input);
  if (value.outcome == Outcome::incomplete) {
    return {};
  }
  if (value.outcome == Outcome::not_found) {
    state.missing = true;
  } else if (value.outcome != Outcome::ok) {
    return {value.bytes, Outcome::out_of_step};
  } else {
    const std::uint64_t hash = shape.multi_keys.key_number(operation, state.parts);
    state.right = state.right && shape.fields.record_matches(hash, value.data);
  }
  if (++state.parts < count) {
    return {value.bytes, Outcome::incomplete};
  }
  const Outcome some_right = state.right ? Outcome::ok : Outcome::wrong;
  const Outcome outcome = state.right && state.missing ? Outcome::not_found : some_right;
  state.started = false;
  state.right = true;
  state.missing = false;
  state.parts = 0;
  return {value.bytes, outcome};
}

}  // namespace mxkv::bench
