#include "tests/simulation/feed_judge.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace mxkv::simulation {

void FeedJudge::begin(server::WatchForm form, std::uint64_t behind) {
  form_ = std::move(form);
  marked_ = behind;
  since_.clear();
  of_batch_ = 0;
}

void FeedJudge::lines(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find("\r\n");
    if (end == std::string_view::npos) {
      complaints_.add("a frame ends within a line");
      return;
    }
    line(text.substr(0, end));
    text.remove_prefix(end + 2);
  }
}

void FeedJudge::line(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(' ', from), text.size());
    words.emplace_back(text.substr(from, to - from));
    from = to + 1;
  }
  if (words[0] == "WB") {
    complaints_.unless(of_batch_ == 0, "a batch begins within another");
    ++batch_;
    of_batch_ = std::stoul(words.at(1));
    return;
  }
  FeedEvent event;
  const bool of_range = words[0] == "WX" || words[0] == "WY";
  server::RecordBounds bounds{.has_no_end = true};
  bounds.to_is_open = true;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view rest = std::string_view{words[i]}.substr(1);
    switch (words[i][0]) {
      case 'k':
        event.key = rest;
        break;
      case 'c':
        event.cas = std::stoull(std::string{rest});
        break;
      case 'H':
        bounds.to = rest;
        bounds.has_no_end = false;
        break;
      case 'o':
        bounds.from_is_open = true;
        break;
      case 'i':
        bounds.to_is_open = false;
        break;
      case 'R':
        event.kind = rest == "e" ? server::told::kEvicted : server::told::kDeleted;
        break;
      default:
        break;
    }
  }
  if (words[0] == "WP") {
    event.kind = server::told::kPut;
  } else if (words[0] == "WT" || words[0] == "WY") {
    event.kind = server::told::kTouched;
  }
  complaints_.unless(event.kind != 0, ("a watch is told nonsense: " + std::string{text}).c_str());
  if (of_range) {
    const std::string low = std::exchange(event.key, {});
    bounds.from = low;
    event.span = server::span_of(bounds);
    ++ranges_;
  }
  if (of_batch_ != 0) {
    event.batch = batch_;
    --of_batch_;
  }
  since_.push_back(std::move(event));
  ++told_;
}

void FeedJudge::mark(std::uint64_t epoch) {
  complaints_.unless(of_batch_ == 0, "a mark stands within a batch");
  complaints_.unless(epoch >= marked_, "marks go back");
  std::vector<FeedEvent> wanted;
  for (const FeedEvent& event : ledger_.events()) {
    const bool concerns = event.key.empty() ? event.span.meets(form_.span) : form_.span.has(event.key);
    if (event.label > marked_ && event.label <= epoch && (event.kind & form_.kinds) != 0 && concerns) {
      wanted.push_back(event);
    }
  }
  std::ranges::stable_sort(wanted, {},
                           [](const FeedEvent& event) { return std::pair{event.label, event.order}; });
  compare(std::move(wanted));
  marked_ = epoch;
  since_.clear();
}

// The history of a key as text: its own events and the events of ranges that hold it, in order.
std::string FeedJudge::history_of(const std::string& key, const std::vector<FeedEvent>& events) {
  std::string text;
  for (const FeedEvent& event : events) {
    if (event.key.empty() ? event.span.has(key) : event.key == key) {
      text += event.key.empty() ? " range" : " key";
      text +=
          std::to_string(event.kind) + "/" + std::to_string(event.kind == server::told::kPut ? event.cas : 0);
    }
  }
  return text;
}

std::vector<std::string> FeedJudge::batches_of(const std::vector<FeedEvent>& events) {
  std::map<std::uint32_t, std::set<std::string>> batches;
  for (const FeedEvent& event : events) {
    if (event.batch != 0) {
      batches[event.batch].insert(event.key + " " + std::to_string(event.kind));
    }
  }
  std::vector<std::string> texts;
  for (const auto& [number, lines] : batches) {
    if (lines.size() > 1) {  // one line needs no mark
      std::string& text = texts.emplace_back();
      for (const std::string& line : lines) {
        text += line + ", ";
      }
    }
  }
  std::ranges::sort(texts);
  return texts;
}

void FeedJudge::compare(std::vector<FeedEvent> wanted) {
  std::set<std::string> keys;
  for (const std::vector<FeedEvent>* const events : {&wanted, &since_}) {
    for (const FeedEvent& event : *events) {
      keys.insert(event.key.empty() ? std::max(event.span.low, form_.span.low) : event.key);
    }
  }
  for (const std::string& key : keys) {
    const std::string has = history_of(key, since_);
    if (const std::string wants = history_of(key, wanted); has != wants) {
      complaints_.add("a watch was told of " + key + ":" + has + ", and there was:" + wants);
    }
  }
  const std::vector<std::string> batches = batches_of(wanted);
  complaints_.unless(batches == batches_of(since_), "a batch was not told as one");
  whole_batches_ += batches.size();
}

}  // namespace mxkv::simulation
