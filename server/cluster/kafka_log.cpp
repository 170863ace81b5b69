#include "server/cluster/kafka_log.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "server/cluster/kafka_ends.hpp"
#include "server/cluster/kafka_handles.hpp"

namespace mxkv::server {
namespace {

/// The properties that shard.hpp relies on.
using Properties = std::map<std::string, std::string>;
Properties producer_rules(const KafkaOptions& options) {
  return {{"enable.idempotence", "true"},
          {"acks", "all"},
          {"linger.ms", "0"},
          {"message.timeout.ms", std::to_string(options.append_timeout_ms)}};
}
Properties consumer_rules() {
  return {
      {"auto.offset.reset", "error"},
      {"allow.auto.create.topics", "false"},
      {"enable.auto.commit", "false"},
      {"check.crcs", "true"},
      {"fetch.wait.max.ms", "100"},  // a new message ends a wait; idle brokers are asked ten times a second
      {"fetch.error.backoff.ms", "50"},
      {"isolation.level", "read_uncommitted"}};  // open transactions of other programs delay no read
}

}  // namespace

struct KafkaClient::Parts : kafka::Caller {
  explicit Parts(KafkaOptions given) : Caller(given.lines), options(std::move(given)) {
    const Properties rules = producer_rules(options);
    const Properties reading = consumer_rules();
    for (const auto& [name, value] : options.properties) {
      if (rules.contains(name) || reading.contains(name) || name == "bootstrap.servers") {
        throw std::runtime_error("cluster.properties: " + name +
                                 " must not be set: shards rely on its value");
      }
    }
    if (bell < 0) {
      throw std::system_error(errno, std::generic_category(), "cluster: eventfd");
    }
    make_producer();
    consumer = kafka::start(RD_KAFKA_CONSUMER, configuration(reading));
    queue.reset(rd_kafka_queue_new(consumer.get()));
    ring_for(*queue);
    ends = std::make_unique<KafkaEnds>(*consumer, bell);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() {
    answers = false;
    ends.reset();
    settle();
    unheard.reset();
    queue.reset();
    consumer.reset();
    writes_to.clear();
    producer.reset();
    ::close(bell);
  }

  /// Makes the library ring when something arrives in an empty queue.
  void ring_for(rd_kafka_queue_t& what) const {
    static constexpr std::uint64_t kOne = 1;
    rd_kafka_queue_io_event_enable(&what, bell, &kOne, sizeof kOne);
  }

  [[nodiscard]] kafka::Conf configuration(const Properties& rules) {
    kafka::Conf conf = kafka::configuration(options, this);
    rd_kafka_conf_set_error_cb(conf.get(), &Parts::erred);
    for (const auto& [name, value] : rules) {
      kafka::set_property(*conf, name, value);
    }
    return conf;
  }

  void make_producer() {
    kafka::Conf conf = configuration(producer_rules(options));
    rd_kafka_conf_set_dr_msg_cb(conf.get(), &Parts::delivered);
    producer = kafka::start(RD_KAFKA_PRODUCER, std::move(conf));
    ring_for(*kafka::Queue{rd_kafka_queue_get_main(producer.get())});
    unheard.reset(rd_kafka_queue_new(producer.get()));
    for (const auto& [place, log] : logs) {
      look_up(place.first);
    }
  }

  /// Finds a topic's leaders now; otherwise the first message would wait for that, up to a second.
  void look_up(const std::string& topic) {
    if (!writes_to.contains(topic)) {
      writes_to.emplace(topic, rd_kafka_topic_new(producer.get(), topic.c_str(), nullptr));
    }
  }

  [[nodiscard]] static Parts& of(void* opaque) {
    return *static_cast<Parts*>(static_cast<kafka::Caller*>(opaque));
  }
  /// poll() calls this, on our thread.
  static void delivered(rd_kafka_t* /*client*/, const rd_kafka_message_t* message, void* opaque) {
    const std::unique_ptr<OrderedLog::AppendDone> done{
        static_cast<OrderedLog::AppendDone*>(message->_private)};
    MXKV_ASSERT(done != nullptr, "each append has an answer, once");
    Appended appended;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR && message->offset >= 0) {
      appended = {append_outcome::stored, static_cast<LogPosition>(message->offset)};
    } else if (rd_kafka_message_status(message) == RD_KAFKA_MSG_STATUS_NOT_PERSISTED) {
      appended = {append_outcome::refused, 0};
    }
    if (of(opaque).answers) {
      (*done)(appended);
    }
  }

  static void erred(rd_kafka_t* /*client*/, int error, const char* reason, void* opaque) {
    Parts& parts = of(opaque);
    parts.counters.last_error = reason;
    parts.failed = parts.failed || error == RD_KAFKA_RESP_ERR__FATAL;
  }

  /// Ends all appends under way: as unknown, if they may be stored.
  void settle() {
    rd_kafka_purge(producer.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    while (rd_kafka_outq_len(producer.get()) > 0) {
      rd_kafka_poll(producer.get(), 10);
    }
  }

  void renew() {
    failed = false;
    ++counters.renewed;
    settle();
    unheard.reset();
    writes_to.clear();
    make_producer();
  }

  KafkaOptions options;
  KafkaCounters counters;
  int bell = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  bool answers = true;
  bool failed = false;  ///< the producer, for good
  bool holds_reads = false;
  kafka::Client producer;
  kafka::Client consumer;
  kafka::Queue queue;
  std::unique_ptr<KafkaEnds> ends;
  std::map<std::string, kafka::Topic> writes_to;
  kafka::Queue unheard;                         ///< answers to trims, only looked at for errors
  std::vector<OrderedLog::AppendDone> refused;  ///< poll() calls these
  std::map<std::pair<std::string, std::int32_t>, Log*> logs;
};

class KafkaClient::Log final : public OrderedLog {
 public:
  Log(Parts& parts, std::string topic, std::int32_t partition)
      : parts_(parts),
        topic_(std::move(topic)),
        partition_(partition),
        reader_(rd_kafka_topic_new(parts.consumer.get(), topic_.c_str(), nullptr)) {
    const bool alone = parts_.logs.emplace(std::pair{topic_, partition_}, this).second;
    MXKV_ASSERT(alone, "a partition is opened once");
    parts_.look_up(topic_);
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log() override {
    stop();
    const std::size_t gone = parts_.logs.erase({topic_, partition_});
    MXKV_ASSERT(gone == 1, "a log is closed once");
  }

  void append(std::string bytes, AppendDone done) override {
    AppendDone* const kept = std::make_unique<AppendDone>(std::move(done)).release();
    std::array<rd_kafka_vu_t, 5> what{};
    what[0].vtype = RD_KAFKA_VTYPE_TOPIC;
    what[0].u.cstr = topic_.c_str();
    what[1].vtype = RD_KAFKA_VTYPE_PARTITION;
    what[1].u.i32 = partition_;
    what[2].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    what[2].u.i = RD_KAFKA_MSG_F_COPY;
    what[3].vtype = RD_KAFKA_VTYPE_VALUE;
    what[3].u.mem = {.ptr = bytes.data(), .size = bytes.size()};
    what[4].vtype = RD_KAFKA_VTYPE_OPAQUE;
    what[4].u.ptr = kept;  // delivered() owns it from now on
    const kafka::Error error{rd_kafka_produceva(parts_.producer.get(), what.data(), what.size())};
    if (error != nullptr) {
      const std::unique_ptr<AppendDone> back{kept};
      parts_.counters.last_error = rd_kafka_error_string(error.get());
      parts_.refused.push_back(std::move(*back));
      static_cast<void>(::eventfd_write(parts_.bell, 1));
    }
  }

  void read(LogPosition from, LogSink& sink) override {
    stop();
    sink_ = &sink;
    next_ = from;
    if (rd_kafka_consume_start_queue(reader_.get(), partition_, static_cast<std::int64_t>(from),
                                     parts_.queue.get()) != 0) {
      parts_.counters.last_error = rd_kafka_err2str(rd_kafka_last_error());
    } else {
      started_ = true;
    }
  }

  void stop() override {
    sink_ = nullptr;
    if (std::exchange(started_, false)) {
      rd_kafka_consume_stop(reader_.get(), partition_);
    }
  }

  void end(EndDone done) override { parts_.ends->ask(topic_, partition_, std::move(done)); }

  void trim(LogPosition before) override {
    const kafka::Partitions partitions{rd_kafka_topic_partition_list_new(1)};
    rd_kafka_topic_partition_list_add(partitions.get(), topic_.c_str(), partition_)->offset =
        static_cast<std::int64_t>(before);
    rd_kafka_DeleteRecords_t* what = rd_kafka_DeleteRecords_new(partitions.get());
    // The trim is not waited for: if it fails, a later trim covers it.
    rd_kafka_DeleteRecords(parts_.producer.get(), &what, 1, nullptr, parts_.unheard.get());
    rd_kafka_DeleteRecords_destroy(what);
  }

  void take(const rd_kafka_message_t& message) {
    if (sink_ == nullptr) {
      return;
    }
    if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      const auto position = static_cast<LogPosition>(message.offset);
      if (position >= next_) {
        next_ = position + 1;
        sink_->message(position, {static_cast<const char*>(message.payload), message.len});
      }
    } else if (message.err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) {
      sink_->begins_later();
    } else {
      parts_.counters.last_error = rd_kafka_message_errstr(&message);
    }
  }

 private:
  Parts& parts_;
  std::string topic_;
  std::int32_t partition_;
  kafka::Topic reader_;
  LogSink* sink_ = nullptr;
  LogPosition next_ = 0;
  bool started_ = false;
};

KafkaClient::KafkaClient(KafkaOptions options) : parts_(std::make_unique<Parts>(std::move(options))) {}

KafkaClient::~KafkaClient() {
  MXKV_ASSERT(parts_->logs.empty(), "logs go before their client");
}

std::unique_ptr<OrderedLog> KafkaClient::open(const std::string& topic, std::int32_t partition) {
  return std::make_unique<Log>(*parts_, topic, partition);
}

void KafkaClient::poll(int wait_ms) {
  constexpr std::size_t kAtOnce = 256;
  parts_->ends->send();
  pollfd waits{.fd = parts_->bell, .events = POLLIN, .revents = 0};
  if (::poll(&waits, 1, wait_ms) > 0) {
    eventfd_t rung = 0;
    static_cast<void>(::eventfd_read(parts_->bell, &rung));
  }
  for (const OrderedLog::AppendDone& done : std::exchange(parts_->refused, {})) {
    done({append_outcome::refused, 0});
  }
  rd_kafka_poll(parts_->producer.get(), 0);
  // One by one: a single message is never of a read that has ended meanwhile, but a batch might hold some.
  for (std::size_t i = 0; i < kAtOnce && !parts_->holds_reads; ++i) {
    const kafka::Message message{rd_kafka_consume_queue(parts_->queue.get(), 0)};
    if (message == nullptr) {
      break;
    }
    const auto log = message->rkt == nullptr
                         ? parts_->logs.end()
                         : parts_->logs.find({rd_kafka_topic_name(message->rkt), message->partition});
    if (log != parts_->logs.end()) {
      log->second->take(*message);
    }
    // The library rings only for an empty queue: the next poll() takes the rest.
    if (i + 1 == kAtOnce) {
      wake();
    }
  }
  rd_kafka_poll(parts_->consumer.get(), 0);
  parts_->ends->answer();
  while (const kafka::Event event{rd_kafka_queue_poll(parts_->unheard.get(), 0)}) {
    if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      parts_->counters.last_error = rd_kafka_event_error_string(event.get());
    }
  }
  if (parts_->failed) {
    parts_->renew();
  }
}

// Messages that arrived while reads were held rang in vain, so ring again.
void KafkaClient::hold_reads(bool holds) {
  if (std::exchange(parts_->holds_reads, holds) && !holds) {
    wake();
  }
}

void KafkaClient::wake() noexcept {
  static_cast<void>(::eventfd_write(parts_->bell, 1));
}

const KafkaCounters& KafkaClient::counters() const noexcept {
  parts_->counters.end_calls = parts_->ends->calls();
  return parts_->counters;
}

}  // namespace mxkv::server
