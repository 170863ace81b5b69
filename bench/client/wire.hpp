// What a protocol is to the load client: requests into bytes, bytes into outcomes. No sockets here.
//
// One object serves all connections of all threads; what a half-read reply needs to remember is in
// ReplyState, one a connection. Every reply is verified as it is parsed, so a client cannot be fast by not
// looking.
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
  follow_up,    ///< right so far; the rest comes in reply to a further request, which is to be sent now
  ok,           ///< answered, and all of it right
  not_found,    ///< a record that must be there is not
  wrong,        ///< answered with bytes that are not those of the key
  error,        ///< the server refused the request
  out_of_step,  ///< no reply to this request: the stream cannot be trusted any more
};

struct Step {
  std::size_t consumed = 0;  ///< bytes of input that are done with, also where incomplete
  Outcome outcome = Outcome::incomplete;
};

/// Records that scans found and that are still to be read: first in, first out, in groups of one scan.
struct RecordsToRead {
  std::deque<std::uint64_t> hashes;
  std::deque<std::size_t> groups;  ///< how many belong to each scan
  bool started = false;            ///< the reply to the first group is under way
  Outcome outcome = Outcome::ok;   ///< the first of its records that was not right
};

/// Memory of one connection's half-read reply.
struct ReplyState {
  ScanCheck scan;
  std::uint64_t announced = 0;  ///< records still to come, where the protocol says so in front
  bool more_remains = false;    ///< the page ended before the range did, and the server said so
  RecordsToRead to_read;        ///< of scans that read their records by a follow-up
  bool started = false;         ///< one record's reply, of several parts, is under way
  bool right = true;            ///< and all of it so far was as it had to be
  std::uint64_t parts = 0;      ///< of that reply, still to come; of a multi-read, those there already
  bool missing = false;         ///< a record of the multi-read is not there
};

/// Thread-safety: any thread (protocols are constants).
class Wire {
 public:
  virtual ~Wire() = default;
  /// Appends the bytes of the request. A follow-up is written at once, before any other reply is read.
  virtual void write_request(const Operation& operation, ByteQueue& out, ReplyState& state) const = 0;
  /// Goes on with the reply to `operation`. Incomplete with something consumed means: call again.
  virtual Step read_reply(const Operation& operation, std::string_view input, ReplyState& state) const = 0;
};

/// What operations on many keys at once are.
struct ManyKeysShape {
  ManyKeysShape() = default;
  explicit ManyKeysShape(const Mix& mix) noexcept
      : prefix_bytes(mix.locked_prefix_bytes), touch_s(mix.locked_touch_s) {}

  std::size_t prefix_bytes = KeyFormat::kMaxBytes;
  std::uint32_t touch_s = 0;
};

/// What all protocols share: the shape of keys and values.
struct RecordShape {
  KeyFormat keys{1};
  FieldFormat fields{FieldSpec{}, keys};
  const LoadedKeys* loaded = nullptr;  ///< needed for ranges only; outlives the wire
  MultiReadKeys multi_keys{};          ///< needed for multi-reads only
  ManyKeysShape many{};                ///< needed for locked ranges and batches only
};

/// memcached's classic text protocol, with mxkv's scan, locked ranges and batches.
std::unique_ptr<Wire> make_memcached_wire(const RecordShape& shape);
/// The latter two alone.
std::unique_ptr<Wire> make_many_keys_wire(const RecordShape& shape);
struct RedisOptions {
  bool indexed = true;  ///< inserts add the key to a sorted set, which scans need
};

/// redis as YCSB's binding uses it. A workload that scans needs LoadedKeys in order of scores.
std::unique_ptr<Wire> make_redis_wire(const RecordShape& shape, const RedisOptions& options);
/// redis: members "<key> <value>" of one sorted set, all of score 0: inserts, and scans by ZRANGEBYLEX.
std::unique_ptr<Wire> make_redis_lex_wire(const RecordShape& shape);
/// memcached's requests to a server that only counts bytes and answers as many as memcached would.
std::unique_ptr<Wire> make_echo_wire(const RecordShape& shape);

}  // namespace mxkv::bench
