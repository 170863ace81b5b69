#include "server/cluster/range_snapshot.hpp"

#include <vector>

#include "server/cluster/record_body.hpp"
#include "server/commit/record_reader.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

RangeSnapshot::~RangeSnapshot() {
  MXKV_ASSERT(scan_.now() != PartScan::state::running && !scan_.buffer().holds_values(),
              "a snapshot has ended, or was stopped");
}

runtime::WorkerId RangeSnapshot::some_worker() noexcept {
  return runtime::WorkerId{
      static_cast<std::uint16_t>(next_worker_++ % store_.tree().runtime().worker_count())};
}

void RangeSnapshot::start() {
  MXKV_ASSERT(scan_.now() == PartScan::state::idle && !ended_, "a copy is made once");
  request_ = store_.tree().runtime().new_request();
  scan_.start(some_worker(), request_);
}

RangeSnapshot::state RangeSnapshot::poll(std::string& body) {
  body.clear();
  switch (scan_.now()) {
    case PartScan::state::idle:
      return ended_ ? state::end : state::working;
    case PartScan::state::running:
      return state::working;
    case PartScan::state::failed:
      return state::failed;
    case PartScan::state::filled:
      break;
  }
  if (ended_) {
    return state::end;
  }
  take(body);
  ended_ = scan_.exhausted();
  if (!ended_) {
    scan_.start(some_worker(), request_);
  } else if (scan_.buffer().holds_values()) {
    scan_.release(some_worker());
  }
  return state::chunk;
}

void RangeSnapshot::take(std::string& body) {
  const CheckpointBuffer& buffer = scan_.buffer();
  std::size_t begin = 0;
  std::vector<std::string_view> value;
  for (const FilledBlock& block : buffer.blocks()) {
    const std::string_view payload = buffer.bytes(begin, block.end);
    begin = block.end;
    RecordReader reader{payload};
    for (std::size_t at = 0; reader.next(); at = reader.position()) {
      value.clear();
      if (reader.at_end() && block.value != nullptr) {
        for (const Chunk* chunk : block.value->pieces()) {
          value.emplace_back(chunk->data(), chunk->bytes);
        }
      }
      RecordBody::add(body, payload.substr(at, reader.position() - at), value);
      ++items_;
    }
    MXKV_ASSERT(reader.at_end(), "a scan writes records");
  }
}

bool RangeSnapshot::stop() {
  ended_ = true;
  switch (scan_.now()) {
    case PartScan::state::running:
      return false;
    case PartScan::state::filled:
      if (scan_.buffer().holds_values()) {
        scan_.release(some_worker());
        return false;
      }
      return true;
    case PartScan::state::idle:
    case PartScan::state::failed:
      return true;
  }
  return true;
}

}  // namespace mxkv::server
