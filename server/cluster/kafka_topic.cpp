#include "server/cluster/kafka_topic.hpp"

#include <array>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "server/cluster/kafka_handles.hpp"

namespace mxkv::server {
namespace {

using Metadata = kafka::Handle<const rd_kafka_metadata_t, &rd_kafka_metadata_destroy>;
using NewTopic = kafka::Handle<rd_kafka_NewTopic_t, &rd_kafka_NewTopic_destroy>;
using ConfigResource = kafka::Handle<rd_kafka_ConfigResource_t, &rd_kafka_ConfigResource_destroy>;

constexpr std::chrono::milliseconds kBetweenLooks{200};

struct Rule {
  const char* name;
  std::string value;
  const char* why;
  bool or_more = false;
};

/// Whether a setting satisfies its rule.
bool keeps(const Rule& rule, const std::string& value) {
  const auto digits = [](const std::string& text) {
    return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
  };
  return value == rule.value ||
         (rule.or_more && digits(value) && digits(rule.value) && std::stoi(value) > std::stoi(rule.value));
}

/// The settings that a topic must have, and why.
std::vector<Rule> rules_of(const TopicPlan& plan) {
  if (plan.board) {
    return {
        {"cleanup.policy", "compact", "the map must be kept, however old it is"},
        {"unclean.leader.election.enable", "false",
         "a lagging replica could become leader and lose acknowledged changes of the map"},
        {"min.insync.replicas", std::to_string(plan.least_in_sync),
         "acknowledged messages must be on that many brokers", true},
    };
  }
  return {
      {"cleanup.policy", "delete", "compaction removes messages from the middle of the log"},
      {"retention.ms", "-1", "the log holds the data"},
      {"retention.bytes", "-1", "the log holds the data"},
      {"unclean.leader.election.enable", "false",
       "a lagging replica could become leader and lose acknowledged writes"},
      {"min.insync.replicas", std::to_string(plan.least_in_sync),
       "acknowledged messages must be on that many brokers", true},
      {"max.message.bytes", "1000000", "mxkvd writes messages of that size", true},
  };
}

kafka::Client admin_client(const KafkaOptions& options) {
  return kafka::start(RD_KAFKA_PRODUCER, kafka::configuration(options));
}

/// The answer to an administrative request. Null: none; `error` says why.
template <class Send>
kafka::Event answer_of(rd_kafka_t& client, rd_kafka_admin_op_t what, int patience_ms, std::string& error,
                       const Send& send) {
  const kafka::Queue queue{rd_kafka_queue_new(&client)};
  const kafka::Handle<rd_kafka_AdminOptions_t, &rd_kafka_AdminOptions_destroy> options{
      rd_kafka_AdminOptions_new(&client, what)};
  std::array<char, kafka::kErrorBytes> text{};
  rd_kafka_AdminOptions_set_request_timeout(options.get(), patience_ms, text.data(), text.size());
  send(options.get(), queue.get());
  kafka::Event event{rd_kafka_queue_poll(queue.get(), patience_ms + 1000)};
  if (event == nullptr) {
    error = "the brokers do not answer";
  } else if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    error = rd_kafka_event_error_string(event.get());
    event.reset();
  }
  return event;
}

/// Checks partitions and replicas.
TopicVerdict check_shape(rd_kafka_t& client, const TopicPlan& plan, int patience_ms) {
  const kafka::Topic topic{rd_kafka_topic_new(&client, plan.name.c_str(), nullptr)};
  const rd_kafka_metadata_t* found = nullptr;
  const rd_kafka_resp_err_t error = rd_kafka_metadata(&client, 0, topic.get(), &found, patience_ms);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return {.answered = false, .dangers = {rd_kafka_err2str(error)}};
  }
  const Metadata metadata{found};
  if (metadata->topic_cnt != 1 || metadata->topics[0].err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return {
        .answered = true,
        .dangers = {metadata->topic_cnt == 1 ? rd_kafka_err2str(metadata->topics[0].err) : "there is none"}};
  }
  const rd_kafka_metadata_topic_t& shape = metadata->topics[0];
  std::vector<std::string> dangers;
  if (shape.partition_cnt != plan.partitions) {
    dangers.push_back("has " + std::to_string(shape.partition_cnt) + " partitions, and must have " +
                      std::to_string(plan.partitions));
  }
  for (int i = 0; i < shape.partition_cnt; ++i) {
    if (shape.partitions[i].replica_cnt < plan.replicas) {
      dangers.push_back("partition " + std::to_string(shape.partitions[i].id) + " has " +
                        std::to_string(shape.partitions[i].replica_cnt) + " replicas, and must have " +
                        std::to_string(plan.replicas));
    }
  }
  return {.answered = true, .dangers = std::move(dangers)};
}

/// Settings that improve the topic. For a board: each node writes a message a second, and a starting node
/// reads all that is not compacted yet. For a log: brokers delete whole segments, and never the one being
/// written.
std::vector<std::pair<const char*, const char*>> wishes_of(const TopicPlan& plan) {
  if (!plan.board) {
    return {{"segment.bytes", "67108864"}, {"segment.ms", "3600000"}};
  }
  return {{"segment.bytes", "1048576"}, {"min.cleanable.dirty.ratio", "0.1"}};
}

/// One attempt. Returns the brokers' answer about the topic; if there is none, `error` says why.
rd_kafka_resp_err_t ask_to_create(rd_kafka_t& client, const TopicPlan& plan, int patience_ms,
                                  std::string& error) {
  std::array<char, kafka::kErrorBytes> text{};
  const NewTopic topic{
      rd_kafka_NewTopic_new(plan.name.c_str(), plan.partitions, plan.replicas, text.data(), text.size())};
  if (topic == nullptr) {
    error = text.data();
    return RD_KAFKA_RESP_ERR__INVALID_ARG;
  }
  for (const Rule& rule : rules_of(plan)) {
    rd_kafka_NewTopic_set_config(topic.get(), rule.name, rule.value.c_str());
  }
  for (const auto& [name, value] : wishes_of(plan)) {
    rd_kafka_NewTopic_set_config(topic.get(), name, value);
  }
  rd_kafka_NewTopic_t* one = topic.get();
  const kafka::Event event = answer_of(client, RD_KAFKA_ADMIN_OP_CREATETOPICS, patience_ms, error,
                                       [&](const rd_kafka_AdminOptions_t* how, rd_kafka_queue_t* queue) {
                                         rd_kafka_CreateTopics(&client, &one, 1, how, queue);
                                       });
  std::size_t count = 0;
  const rd_kafka_topic_result_t* const* const results =
      event == nullptr
          ? nullptr
          : rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count);
  if (count != 1) {
    return RD_KAFKA_RESP_ERR__FAIL;
  }
  const rd_kafka_resp_err_t code = rd_kafka_topic_result_error(results[0]);
  const char* const why = rd_kafka_topic_result_error_string(results[0]);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    error = why == nullptr ? rd_kafka_err2str(code) : why;
  }
  return code;
}

std::map<std::string, std::string> settings_of(const rd_kafka_event_t& event, std::string& error) {
  const rd_kafka_DescribeConfigs_result_t* const result =
      rd_kafka_event_DescribeConfigs_result(const_cast<rd_kafka_event_t*>(
          &event));  // NOLINT(cppcoreguidelines-pro-type-const-cast): only looked at
  std::size_t resources = 0;
  const rd_kafka_ConfigResource_t* const* const all =
      rd_kafka_DescribeConfigs_result_resources(result, &resources);
  std::map<std::string, std::string> settings;
  for (std::size_t i = 0; i < resources; ++i) {
    if (rd_kafka_ConfigResource_error(all[i]) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      error = rd_kafka_ConfigResource_error_string(all[i]);
    }
    std::size_t count = 0;
    const rd_kafka_ConfigEntry_t* const* const entries = rd_kafka_ConfigResource_configs(all[i], &count);
    for (std::size_t entry = 0; entry < count; ++entry) {
      const char* const value = rd_kafka_ConfigEntry_value(entries[entry]);
      settings[rd_kafka_ConfigEntry_name(entries[entry])] = value == nullptr ? "" : value;
    }
  }
  return settings;
}

/// Checks the topic's settings, which may have been changed since it was created.
TopicVerdict check_settings(rd_kafka_t& client, const TopicPlan& plan, int patience_ms) {
  const ConfigResource resource{rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, plan.name.c_str())};
  rd_kafka_ConfigResource_t* one = resource.get();
  std::string error;
  const kafka::Event event = answer_of(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, patience_ms, error,
                                       [&](const rd_kafka_AdminOptions_t* how, rd_kafka_queue_t* queue) {
                                         rd_kafka_DescribeConfigs(&client, &one, 1, how, queue);
                                       });
  const std::map<std::string, std::string> settings =
      event == nullptr ? std::map<std::string, std::string>{} : settings_of(*event, error);
  if (!error.empty()) {
    return {.answered = false, .dangers = {error}};
  }
  std::vector<std::string> dangers;
  for (const Rule& rule : rules_of(plan)) {
    const auto at = settings.find(rule.name);
    if (at == settings.end() || !keeps(rule, at->second)) {
      dangers.push_back(std::string{rule.name} + " is " + (at == settings.end() ? "unknown" : at->second) +
                        ", and must be " + rule.value + (rule.or_more ? " or more: " : ": ") + rule.why);
    }
  }
  return {.answered = true, .dangers = std::move(dangers)};
}

}  // namespace

std::string create_topic(const KafkaOptions& options, const TopicPlan& plan, int patience_ms) {
  const kafka::Client client = admin_client(options);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{patience_ms};
  for (bool made = false;;) {
    std::string error;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (!made) {
      code = ask_to_create(*client, plan, patience_ms, error);
      made = code == RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    // All brokers know the topic only a moment later.
    if (made && check_shape(*client, plan, patience_ms).dangers.empty()) {
      return {};
    }
    // If some brokers have not started yet, there are too few replicas: try again.
    const bool passes = made || code == RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR;
    if (!passes || std::chrono::steady_clock::now() > end) {
      return "topic " + plan.name + ": " + (error.empty() ? "does not show" : error);
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

TopicVerdict look_at_topic(const KafkaOptions& options, const TopicPlan& plan, int patience_ms) {
  const kafka::Client client = admin_client(options);
  TopicVerdict verdict = check_shape(*client, plan, patience_ms);
  if (verdict.dangers.empty()) {
    verdict = check_settings(*client, plan, patience_ms);
  }
  return verdict;
}

std::vector<std::string> topic_dangers(const KafkaOptions& options, const TopicPlan& plan, int patience_ms) {
  // A broker may not know a new topic yet.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{patience_ms};
  std::vector<std::string> dangers;
  for (;;) {
    dangers = look_at_topic(options, plan, patience_ms).dangers;
    if (dangers.empty() || dangers.front() != rd_kafka_err2str(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) ||
        std::chrono::steady_clock::now() > end) {
      break;
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  for (std::string& danger : dangers) {
    danger.insert(0, "topic " + plan.name + ": ");
  }
  return dangers;
}

}  // namespace mxkv::server
