// Operations, requests and whole replies for tests of the protocols.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "bench/client/wire.hpp"
#include "bench/workload/fields.hpp"

namespace mxkv::bench::testing {

/// Records of one field of this length.
inline FieldSpec one_field(std::size_t bytes) {
  FieldSpec fields;
  fields.count = 1;
  fields.bytes = bytes;
  return fields;
}

inline Operation operation_of(OperationKind kind, std::uint64_t record, std::uint32_t scan_length = 0) {
  Operation operation;
  operation.kind = kind;
  operation.record = record;
  operation.key_hash = fnv_hash64(record);
  operation.scan_length = scan_length;
  return operation;
}

inline std::string key_of(const RecordShape& shape, std::uint64_t hash) {
  std::array<char, KeyFormat::kMaxBytes> key;
  return {key.data(), shape.keys.write(hash, key.data())};
}

inline std::string value_of(const RecordShape& shape, std::uint64_t hash, std::uint64_t version = 0) {
  std::string value(shape.fields.record_bytes(hash, version), '\0');
  shape.fields.write_record(hash, version, value.data(), value.size());
  return value;
}

inline std::string request_of(const Wire& wire, const Operation& operation) {
  ByteQueue out(16);
  ReplyState state;
  wire.write_request(operation, out, state);
  return std::string(out.view());
}

/// Reads one reply that arrives in two pieces, cut at `cut`; bytes that are not consumed stay in `stream`.
inline Outcome read_in_two(const Wire& wire, const Operation& operation, std::string& stream, std::size_t cut,
                           ReplyState state = {}) {
  std::size_t begin = 0;
  Outcome outcome = Outcome::incomplete;
  for (const std::size_t end : {cut, stream.size()}) {
    while (outcome == Outcome::incomplete) {
      const Step step =
          wire.read_reply(operation, std::string_view(stream).substr(begin, end - begin), state);
      outcome = step.outcome;
      begin += step.consumed;
      if (step.consumed == 0) {
        break;
      }
    }
  }
  stream.erase(0, begin);
  return outcome;
}

/// Every cut of the stream gives this outcome and leaves the next reply alone.
inline void expect_outcome(const Wire& wire, const Operation& operation, const std::string& reply,
                           Outcome wanted) {
  constexpr std::string_view kNext = "NEXT";
  for (std::size_t cut = 0; cut <= reply.size() + kNext.size(); ++cut) {
    std::string stream = reply + std::string(kNext);
    ASSERT_EQ(read_in_two(wire, operation, stream, cut), wanted) << "cut at " << cut << " of: " << reply;
    if (wanted != Outcome::out_of_step) {
      ASSERT_EQ(stream, kNext) << "cut at " << cut << " of: " << reply;
    }
  }
}

}  // namespace mxkv::bench::testing
