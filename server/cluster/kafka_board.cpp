#include "server/cluster/kafka_board.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "server/cluster/kafka_handles.hpp"

namespace mxkv::server {
namespace {

/// The properties that keep the board's messages in order. With one request at a time the library's own
/// retries keep it too; a duplicate repeats the same value.
std::map<std::string, std::string> board_rules(const KafkaOptions& options) {
  return {{"acks", "all"},
          {"linger.ms", "0"},
          {"max.in.flight.requests.per.connection", "1"},
          {"message.timeout.ms", std::to_string(options.append_timeout_ms)}};
}
std::map<std::string, std::string> board_reading() {
  return {{"auto.offset.reset", "earliest"},
          {"allow.auto.create.topics", "false"},
          {"enable.auto.commit", "false"},
          {"enable.partition.eof", "true"},
          {"check.crcs", "true"},
          {"fetch.wait.max.ms", "100"},
          {"fetch.error.backoff.ms", "100"}};
}

}  // namespace

struct KafkaBoard::Parts : kafka::Caller {
  Parts(const KafkaOptions& options, std::string name, BoardSink& to)
      : Caller(options.lines), topic(std::move(name)), sink(to) {
    if (bell < 0) {
      throw std::system_error(errno, std::generic_category(), "cluster: eventfd");
    }
    const std::map<std::string, std::string> rules = board_rules(options);
    const std::map<std::string, std::string> reading = board_reading();
    for (const auto& [property, value] : options.properties) {
      if (rules.contains(property) || reading.contains(property)) {
        throw std::runtime_error("cluster.properties: " + property +
                                 " must not be set: the map relies on its value");
      }
    }
    kafka::Conf writes = configuration(options, rules);
    rd_kafka_conf_set_dr_msg_cb(writes.get(), &Parts::delivered);
    producer = kafka::start(RD_KAFKA_PRODUCER, std::move(writes));
    kafka::ring_for(*kafka::Queue{rd_kafka_queue_get_main(producer.get())}, bell);
    consumer = kafka::start(RD_KAFKA_CONSUMER, configuration(options, reading));
    queue.reset(rd_kafka_queue_new(consumer.get()));
    kafka::ring_for(*queue, bell);
    reader.reset(rd_kafka_topic_new(consumer.get(), topic.c_str(), nullptr));
    if (reader == nullptr ||
        rd_kafka_consume_start_queue(reader.get(), 0, RD_KAFKA_OFFSET_BEGINNING, queue.get()) != 0) {
      throw std::runtime_error("cluster: " + topic + ": " + rd_kafka_err2str(rd_kafka_last_error()));
    }
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() {
    answers = false;
    kafka::end_of_writes(*producer);
    rd_kafka_consume_stop(reader.get(), 0);
    reader.reset();  // before its client, and so is the queue
    queue.reset();
    ::close(bell);
  }

  [[nodiscard]] kafka::Conf configuration(const KafkaOptions& options,
                                          const std::map<std::string, std::string>& rules) {
    kafka::Conf conf = kafka::configuration(options, this);
    rd_kafka_conf_set_error_cb(conf.get(), [](rd_kafka_t*, int, const char* reason, void* opaque) {
      of(opaque).last_error = reason;
    });
    for (const auto& [name, value] : rules) {
      kafka::set_property(*conf, name, value);
    }
    return conf;
  }

  [[nodiscard]] static Parts& of(void* opaque) {
    return *static_cast<Parts*>(static_cast<kafka::Caller*>(opaque));
  }
  /// poll() calls this, on our thread.
  static void delivered(rd_kafka_t* /*client*/, const rd_kafka_message_t* message, void* opaque) {
    const std::unique_ptr<Board::Done> done{static_cast<Board::Done*>(message->_private)};
    MXKV_ASSERT(done != nullptr, "each value has an answer, once");
    Parts& parts = of(opaque);
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      parts.last_error = rd_kafka_err2str(message->err);
    }
    if (parts.answers && *done) {
      (*done)(message->err == RD_KAFKA_RESP_ERR_NO_ERROR);
    }
  }

  /// No value: a message that takes the key down.
  void write(const std::string& key, std::optional<std::string> value, Board::Done done) {
    Board::Done* const kept = std::make_unique<Board::Done>(std::move(done)).release();
    std::array<rd_kafka_vu_t, 6> what{};
    what[0].vtype = RD_KAFKA_VTYPE_TOPIC;
    what[0].u.cstr = topic.c_str();
    what[1].vtype = RD_KAFKA_VTYPE_PARTITION;
    what[1].u.i32 = 0;
    what[2].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    what[2].u.i = RD_KAFKA_MSG_F_COPY;
    what[3].vtype = RD_KAFKA_VTYPE_KEY;
    what[3].u.mem = {
        .ptr = const_cast<char*>(key.data()),  // NOLINT(cppcoreguidelines-pro-type-const-cast): copied
        .size = key.size()};
    what[4].vtype = RD_KAFKA_VTYPE_VALUE;
    what[4].u.mem = {.ptr = value ? value->data() : nullptr, .size = value ? value->size() : 0};
    what[5].vtype = RD_KAFKA_VTYPE_OPAQUE;
    what[5].u.ptr = kept;  // delivered() owns it from now on
    const kafka::Error error{rd_kafka_produceva(producer.get(), what.data(), what.size())};
    if (error != nullptr) {
      const std::unique_ptr<Board::Done> back{kept};
      last_error = rd_kafka_error_string(error.get());
      refused.push_back(std::move(*back));
      static_cast<void>(::eventfd_write(bell, 1));
    }
  }

  void take(const rd_kafka_message_t& message) {
    if (message.err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      if (!std::exchange(at_end, true)) {
        sink.caught_up();
      }
    } else if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      last_error = rd_kafka_message_errstr(&message);
    } else if (message.key != nullptr) {
      const std::string_view key{static_cast<const char*>(message.key), message.key_len};
      const auto position = static_cast<std::uint64_t>(message.offset);
      if (message.payload == nullptr) {
        sink.put_up(position, key, std::nullopt);
      } else {
        sink.put_up(position, key, std::string_view{static_cast<const char*>(message.payload), message.len});
      }
    }
  }

  std::string topic;
  BoardSink& sink;
  std::string last_error;
  int bell = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  bool answers = true;
  bool at_end = false;
  kafka::Client producer;
  kafka::Client consumer;
  kafka::Queue queue;
  kafka::Topic reader;
  std::vector<Board::Done> refused;  ///< poll() calls these
};

KafkaBoard::KafkaBoard(const KafkaOptions& options, std::string topic, BoardSink& sink)
    : parts_(std::make_unique<Parts>(options, std::move(topic), sink)) {}

KafkaBoard::~KafkaBoard() = default;

void KafkaBoard::put(const std::string& key, std::string value, Done done) {
  parts_->write(key, std::move(value), std::move(done));
}

void KafkaBoard::remove(const std::string& key, Done done) {
  parts_->write(key, std::nullopt, std::move(done));
}

void KafkaBoard::poll(int wait_ms) {
  constexpr std::size_t kAtOnce = 256;
  pollfd waits{.fd = parts_->bell, .events = POLLIN, .revents = 0};
  if (::poll(&waits, 1, wait_ms) > 0) {
    eventfd_t rung = 0;
    static_cast<void>(::eventfd_read(parts_->bell, &rung));
  }
  for (const Done& done : std::exchange(parts_->refused, {})) {
    if (done) {
      done(false);
    }
  }
  rd_kafka_poll(parts_->producer.get(), 0);
  for (std::size_t i = 0;; ++i) {
    if (i == kAtOnce) {
      wake();  // the library rings only for an empty queue: the next poll() takes the rest
      break;
    }
    const kafka::Message message{rd_kafka_consume_queue(parts_->queue.get(), 0)};
    if (message == nullptr) {
      break;
    }
    parts_->take(*message);
  }
  rd_kafka_poll(parts_->consumer.get(), 0);
}

void KafkaBoard::wake() noexcept {
  static_cast<void>(::eventfd_write(parts_->bell, 1));
}

std::string KafkaBoard::last_error() const {
  return parts_->last_error;
}

}  // namespace mxkv::server
