// The floor: requests and replies as long as memcached's. The replies have no contents to verify.
#include <string>

#include "bench/client/wire.hpp"

namespace mxkv::bench {
namespace {

class EchoWire final : public Wire {
 public:
  explicit EchoWire(const RecordShape& shape)
      : shape_(shape),
        value_bytes_(shape.fields.most_record_bytes()),
        requests_(make_memcached_wire(shape)) {}

  void write_request(const Operation& operation, ByteQueue& out, ReplyState& state) const override {
    requests_->write_request(operation, out, state);
  }

  Step read_reply(const Operation& operation, std::string_view input, ReplyState&) const override {
    const std::size_t bytes = reply_bytes(operation);
    return input.size() < bytes ? Step{} : Step{bytes, Outcome::ok};
  }

 private:
  [[nodiscard]] std::size_t reply_bytes(const Operation& operation) const noexcept {
    constexpr std::size_t kEndBytes = 5;
    constexpr std::size_t kStoredBytes = 8;
    constexpr std::size_t kDeletedBytes = 9;
    constexpr std::size_t kItemText = 15;  // "VALUE ", " 0 ", " " is counted below, and two line ends
    char key[KeyFormat::kMaxBytes];
    const std::size_t item = kItemText - 2 + shape_.keys.write(operation.key_hash, key) +
                             std::to_string(value_bytes_).size() + value_bytes_;
    switch (operation.kind) {
      case OperationKind::read:
        return item + kEndBytes;
      case OperationKind::scan:
        return operation.scan_length * item + kEndBytes;
      case OperationKind::multi_read:
        return shape_.multi_keys.count() * item + kEndBytes;
      case OperationKind::remove:
        return kDeletedBytes;
      case OperationKind::update:
      case OperationKind::insert:
      case OperationKind::read_modify_write:  // sent as its read and its update
      case OperationKind::locked_scan:        // and these are for mxkv alone
      case OperationKind::locked_touch:
      case OperationKind::batch:
        break;
    }
    return kStoredBytes;
  }

  RecordShape shape_;
  std::size_t value_bytes_;  // of every value: fields have constant lengths here
  std::unique_ptr<Wire> requests_;
};

}  // namespace

std::unique_ptr<Wire> make_echo_wire(const RecordShape& shape) {
  return std::make_unique<EchoWire>(shape);
}

}  // namespace mxkv::bench
