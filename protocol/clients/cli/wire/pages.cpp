#include "protocol/clients/cli/wire/pages.hpp"

#include <algorithm>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/numbers.hpp"

namespace mxkv::cli {
namespace {

std::uint64_t number_of(std::string_view text) noexcept {
  std::uint64_t value = 0;
  return protocol::read_u64(text, value) ? value : 0;
}

/// Reads all flags in one pass, because there may be millions of items.
void fill(Record& record, const MetaReply& reply) {
  record.flags = 0;
  record.seconds = -1;
  record.unique = 0;
  record.bytes = reply.value.size();
  record.value.assign(reply.value);
  bool coded = false;
  std::string_view key;
  std::string_view words = reply.rest;
  while (!words.empty()) {
    if (words.front() == ' ') {
      words.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(words.find(' '), words.size());
    const std::string_view token = words.substr(1, end - 1);
    switch (words.front()) {
      case 'k':
        key = token;
        break;
      case 'b':
        coded = true;
        break;
      case 'f':
        record.flags = static_cast<std::uint32_t>(number_of(token));
        break;
      case 't':
        record.seconds = token.starts_with('-') ? -1 : static_cast<std::int64_t>(number_of(token));
        break;
      case 'c':
        record.unique = number_of(token);
        break;
      case 's':
        record.bytes = number_of(token);
        break;
      default:
        break;
    }
    words.remove_prefix(end);
  }
  if (coded) {
    reply.key_into(record.key);
  } else {
    record.key.assign(key);
  }
}

}  // namespace

Pages::Pages(Connection& connection, const Range& range, const Wanted& wanted, const PageOptions& options)
    : connection_(connection),
      line_(range_line(protocol::verb::meta_range, range)),
      options_(options),
      left_(options.limit) {
  line_ += wanted.value ? " v" : "";
  line_ += wanted.flags ? " f" : "";
  line_ += wanted.seconds ? " t" : "";
  line_ += wanted.unique ? " c" : "";
  line_ += wanted.bytes ? " s" : "";
}

void Pages::ask() {
  std::string request = line_ + " A" + std::to_string(std::min(left_, options_.page_items));
  if (!cursor_.empty()) {
    request += " G" + cursor_;
  }
  request += "\r\n";
  connection_.send(request);
  asked_ = true;
}

void Pages::read_page() {
  count_ = at_ = 0;
  for (;;) {
    const MetaReply reply = connection_.reply();
    if (reply.code == "VA" || reply.code == "HD") {
      if (count_ == records_.size()) {
        records_.emplace_back();
      }
      fill(records_[count_], reply);
      ++count_;
      continue;
    }
    expect_no_error(reply);
    if (reply.code != "EN") {
      throw Failure(Outcome::unreachable,
                    "the reply to mr cannot be read: " + std::string(reply.line.substr(0, 80)));
    }
    cursor_ = reply.flag('G').value_or("");
    break;
  }
  asked_ = false;
  left_ -= std::min<std::uint64_t>(left_, count_);
  more_ = !cursor_.empty() && left_ > 0;
}

const Record* Pages::next() {
  while (at_ == count_) {
    if (!more_ || left_ == 0) {
      return nullptr;
    }
    if (!asked_) {
      ask();
    }
    read_page();
    if (more_ && options_.ahead) {
      ask();
    }
  }
  const Record* const record = &records_[at_];
  ++at_;
  return record;
}

}  // namespace mxkv::cli
