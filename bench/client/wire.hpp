// The load client's interface to a protocol: converts requests into bytes, and bytes into outcomes. No
// sockets here.
//
// One object serves all connections of all threads. The state of a half-read reply is in ReplyState, one a
// connection. Every reply is verified as it is parsed, so a client cannot be fast by skipping checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "bench/client/byte_queue.hpp"
#include "bench/client/scan_check.hpp"
#include "bench/workload/fields.hpp"
#include "bench/workload/keys.hpp"
#include "bench/workload/multi_read.hpp"
#include "bench/workload/operations.hpp"

namespace mxkv::bench {

enum class Outcome : std::uint8_t {
  incomplete,   ///< more bytes are needed
  follow_up,    ///< right so far; the caller must now send a further request for the rest
  ok,           ///< answered, and all of it right
  not_found,    ///< a record that must exist is missing
  wrong,        ///< the answer has bytes that do not belong to the key
  error,        ///< the server refused the request
  out_of_step,  ///< no reply to this request: the stream cannot be trusted any more
};

struct Step {
  std::size_t consumed = 0;  ///< bytes of input that were read, also if incomplete
  Outcome outcome = Outcome::incomplete;
};

/// Records that scans found and that must still be read: first in, first out, in groups of one scan.
struct RecordsToRead {
  std::deque<std::uint64_t> hashes;
  std::deque<std::size_t> groups;  ///< number of records of each scan
  bool started = false;            ///< the reply to the first group is under way
  Outcome outcome = Outcome::ok;   ///< the first of its records that was not right
};

/// Memory of one connection's half-read reply.
struct ReplyState {
  ScanCheck scan;
  std::uint64_t announced = 0;  ///< records still to come, if the protocol announces their number
  bool more_remains = false;    ///< the page ended before the range did, and the server said so
  RecordsToRead to_read;        ///< of scans that read their records by a follow-up
  bool started = false;         ///< one record's reply, of several parts, is under way
  bool right = true;            ///< all of that reply so far was right
  std::uint64_t parts = 0;  ///< parts of that reply still to come; of a multi-read, the parts already read
  bool missing = false;     ///< a record of the multi-read is not there
};

/// Thread-safety: any thread (protocols are constants).
class Wire {
 public:
  virtual ~Wire() = default;
  /// Appends the bytes of the request. A follow-up is written at once, before any other reply is read.
  virtual void write_request(const Operation& operation, ByteQueue& out, ReplyState& state) const = 0;
  /// Continues reading the reply to `operation`. If it is incomplete with bytes consumed, call again.
  virtual Step read_reply(const Operation& operation, std::string_view input, ReplyState& state) const = 0;
};

/// The shape of operations on many keys.
struct ManyKeysShape {
  ManyKeysShape() = default;
  explicit ManyKeysShape(const Mix& mix) noexcept
      : prefix_bytes(mix.locked_prefix_bytes), touch_s(mix.locked_touch_s) {}

  std::size_t prefix_bytes = KeyFormat::kMaxBytes;
  std::uint32_t touch_s = 0;
};

/// The shape of keys and values, for all protocols.
struct RecordShape {
  KeyFormat keys{1};
  FieldFormat fields{FieldSpec{}, keys};
  const LoadedKeys* loaded = nullptr;  ///< needed for ranges only; outlives the wire
  MultiReadKeys multi_keys{};          ///< needed for multi-reads only
  ManyKeysShape many{};                ///< needed for locked ranges and batches only
  std::uint32_t ttl_s = 0;             ///< time to live of every record written; 0: none
};

/// memcached's classic text protocol, with mxkv's scan, locked ranges and batches.
std::unique_ptr<Wire> make_memcached_wire(const RecordShape& shape);
/// Only locked ranges and batches.
std::unique_ptr<Wire> make_many_keys_wire(const RecordShape& shape);
struct RedisOptions {
  bool indexed = true;  ///< inserts add the key to a sorted set, which scans need
};

/// redis as YCSB's binding uses it. A workload that scans needs LoadedKeys in order of scores.
std::unique_ptr<Wire> make_redis_wire(const RecordShape& shape, const RedisOptions& options);
/// redis: members "<key> <value>" of one sorted set, all of score 0: inserts, and scans by ZRANGEBYLEX.
std::unique_ptr<Wire> make_redis_lex_wire(const RecordShape& shape);
/// The requests of a trace, which must outlive the wire; to redis, or by memcached's classic protocol.
std::unique_ptr<Wire> make_trace_wire(const Trace& trace, bool redis);
/// memcached's requests to a server that only counts bytes and answers with as many bytes as memcached would.
std::unique_ptr<Wire> make_echo_wire(const RecordShape& shape);

}  // namespace mxkv::bench
