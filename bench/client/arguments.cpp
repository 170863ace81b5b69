#include "bench/client/arguments.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace mxkv::bench {
namespace {

constexpr std::array kFlags{
    PropertyFlag{"recordcount", "recordcount", "records in the store [1000]"},
    PropertyFlag{"operationcount", "operationcount",
                 "number of operations; 0: only the time limits the run [1000]"},
    PropertyFlag{"maxexecutiontime", "maxexecutiontime", "seconds; 0: no limit [0]"},
    PropertyFlag{"threads", "threadcount", "client threads; property threadcount [1]"},
    PropertyFlag{"target", "target", "operations per second over all threads; 0: as many as possible [0]"},
    PropertyFlag{"insertstart", "insertstart", "first record that this client inserts [0]"},
    PropertyFlag{"insertcount", "insertcount", "number of records that this client inserts [all]"},
    PropertyFlag{"insertorder", "insertorder", "hashed or ordered keys [hashed]"},
    PropertyFlag{"zeropadding", "zeropadding", "least number of digits in a key [1]"},
    PropertyFlag{"fieldcount", "fieldcount", "fields per record [10]"},
    PropertyFlag{"fieldlength", "fieldlength", "bytes per field [100]"},
    PropertyFlag{"fieldlengthdistribution", "fieldlengthdistribution",
                 "constant, uniform, zipfian, histogram, pareto or weighted [constant]"},
    PropertyFlag{"fieldlengthweights", "fieldlengthweights",
                 "of weighted lengths: BYTES:WEIGHT, and further ones after commas"},
    PropertyFlag{"ttl", "ttl", "seconds that each written record lives; 0: forever [0]"},
    PropertyFlag{"readproportion", "readproportion", "share of reads [0.95]"},
    PropertyFlag{"updateproportion", "updateproportion", "share of updates [0.05]"},
    PropertyFlag{"insertproportion", "insertproportion", "share of inserts [0]"},
    PropertyFlag{"scanproportion", "scanproportion", "share of scans [0]"},
    PropertyFlag{"deleteproportion", "deleteproportion", "share of deletes [0]"},
    PropertyFlag{"multireadproportion", "multireadproportion", "share of multi-reads [0]"},
    PropertyFlag{"multireadkeys", "multireadkeys", "records per multi-read [100]"},
    PropertyFlag{"lockedscanproportion", "lockedscanproportion", "share of locked scans [0]"},
    PropertyFlag{"lockedtouchproportion", "lockedtouchproportion", "share of locked touches [0]"},
    PropertyFlag{"lockedtouchseconds", "lockedtouchseconds",
                 "time to live that locked touches set; 0: none [86400]"},
    PropertyFlag{"lockedprefixbytes", "lockedprefixbytes",
                 "bytes of their prefix [as many as about 100 keys share]"},
    PropertyFlag{"batchproportion", "batchproportion", "share of batches [0]"},
    PropertyFlag{"batchlength", "batchlength", "records per batch [4]"},
    PropertyFlag{"readmodifywriteproportion", "readmodifywriteproportion", "share of read-modify-writes [0]"},
    PropertyFlag{"requestdistribution", "requestdistribution",
                 "uniform, zipfian, latest, sequential, exponential, hotspot or keyranges [uniform]"},
    PropertyFlag{"hotspotdatafraction", "hotspotdatafraction", "share of the records that are hot [0.2]"},
    PropertyFlag{"hotspotopnfraction", "hotspotopnfraction", "share of the requests for hot records [0.8]"},
    PropertyFlag{"minscanlength", "minscanlength", "minimum number of records per scan [1]"},
    PropertyFlag{"maxscanlength", "maxscanlength", "maximum number of records per scan [1000]"},
    PropertyFlag{"scanlengthdistribution", "scanlengthdistribution", "uniform, zipfian or pareto [uniform]"},
    PropertyFlag{"status-interval", "status.interval", "seconds between progress lines; 0: none [10]"},
};

/// YCSB's long options with one dash; its other options are single letters.
constexpr std::array<std::string_view, 3> kOneDash{"-threads", "-target", "-db"};
constexpr std::size_t kKeyPrefixBytes = 4;  // "user"

class Translator {
 public:
  explicit Translator(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  runtime::Result<std::vector<std::string>> translate() {
    for (; at_ < arguments_.size(); ++at_) {
      if (const std::string problem = one(arguments_[at_]); !problem.empty()) {
        return runtime::Error{problem};
      }
    }
    if (command_.empty() && trace_) {
      command_ = "run";
    }
    if (!command_.empty()) {
      out_.insert(out_.begin(), command_);
    }
    return out_;
  }

 private:
  void property(std::string_view name, std::string_view value) {
    out_.emplace_back("-p");
    out_.push_back(std::string(name) + "=" + std::string(value));
  }

  /// The value of a flag: behind its '=', or the next argument.
  std::optional<std::string> value_of(const std::string& argument) {
    const std::size_t equals = argument.find('=');
    if (equals != std::string::npos) {
      return argument.substr(equals + 1);
    }
    return at_ + 1 < arguments_.size() ? std::optional(arguments_[++at_]) : std::nullopt;
  }

  /// Handles the argument at at_. Returns an error text, or an empty one.
  std::string one(const std::string& argument) {
    if (argument == "-load" || argument == "-t") {
      command_ = argument == "-load" ? "load" : "run";
    } else if (argument == "-s") {
      property("status", "true");
    } else if (argument == "-p" || argument == "-P") {
      out_.push_back(argument);
      if (at_ + 1 < arguments_.size()) {
        out_.push_back(arguments_[++at_]);
      }
    } else if (!argument.starts_with('-') && (argument == "load" || argument == "run") && command_.empty()) {
      command_ = argument;
    } else if (is_store(argument)) {
      property("db", argument);
    } else {
      return flag(argument);
    }
    return {};
  }

  /// bin/ycsb has the store's name behind the command.
  [[nodiscard]] bool is_store(const std::string& argument) const {
    return at_ == 1 && !command_.empty() && !argument.starts_with('-');
  }

  std::string flag(const std::string& argument) {
    const std::string name = argument.substr(0, argument.find('='));
    const bool one_dash = std::find(kOneDash.begin(), kOneDash.end(), name) != kOneDash.end();
    const std::string bare =
        name.starts_with("--") ? name.substr(2) : (one_dash ? name.substr(1) : std::string());
    const auto known = std::find_if(kFlags.begin(), kFlags.end(),
                                    [&bare](const PropertyFlag& flag) { return flag.flag == bare; });
    const bool special = name == "-l" || bare == "db" || bare == "value-bytes" || bare == "key-bytes";
    if (bare == "trace") {
      trace_ = true;
      out_.push_back(argument);
      if (name == argument && at_ + 1 < arguments_.size()) {
        out_.push_back(arguments_[++at_]);  // a file's name, even if it is "run"
      }
      return {};
    }
    if (known == kFlags.end() && !special) {
      out_.push_back(argument);
      return {};
    }
    const auto value = value_of(argument);
    if (!value) {
      return name + ": a value must follow";
    }
    if (known != kFlags.end()) {
      property(known->property, *value);
      if (known->property == "status.interval") {
        property("status", "true");
      }
    } else if (bare == "value-bytes") {
      property("fieldcount", "1");
      property("fieldlength", *value);
    } else if (bare == "key-bytes") {
      return key_bytes(*value);
    } else {
      property(bare == "db" ? "db" : "label", *value);
    }
    return {};
  }

  std::string key_bytes(const std::string& value) {
    constexpr std::size_t kLeast = kKeyPrefixBytes + 19;  // a hash has 19 digits at most
    constexpr std::size_t kMost = 250;
    const bool number = !value.empty() && value.size() < 4 &&
                        std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
    const std::size_t bytes = number ? std::stoul(value) : 0;
    if (bytes < kLeast || bytes > kMost) {
      return "--key-bytes: '" + value + "' is not within 23 to 250";
    }
    property("zeropadding", std::to_string(bytes - kKeyPrefixBytes));
    return {};
  }

  const std::vector<std::string>& arguments_;
  std::size_t at_ = 0;
  std::string command_;
  bool trace_ = false;  // a trace without a command is run
  std::vector<std::string> out_;
};

}  // namespace

std::span<const PropertyFlag> property_flags() noexcept {
  return kFlags;
}

runtime::Result<std::vector<std::string>> translate_arguments(const std::vector<std::string>& arguments) {
  const bool other_command =
      !arguments.empty() && !arguments[0].starts_with('-') && arguments[0] != "load" && arguments[0] != "run";
  return other_command ? arguments : Translator(arguments).translate();
}

}  // namespace mxkv::bench
