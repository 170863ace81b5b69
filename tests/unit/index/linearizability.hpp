// Whether the history of one key can be explained by operations that each took effect at one moment between
// their invocation and their response.
//
// "Just in time" search: responses are taken in their order. An operation gets its moment only when a
// response forces it, or, if it changes nothing, as soon as the state fits. A configuration is a state of the
// key and the set of open operations that already took effect; if no configuration is left, there is no
// explanation. With written numbers that differ, few configurations are alive at once.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/index/tree_tasks.hpp"

namespace mxkv::index::testing {

/// One operation on the key. Every operation reports the number that it found.
struct HistoryEntry {
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  verb how = verb::find;
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;
  bool found = false;
  std::uint64_t number = 0;
  std::uint64_t invoked = 0;
  std::uint64_t responded = kNever;  ///< never: cut off; it may have taken effect, its result is unknown
};

class KeyHistory {
 public:
  void add(const HistoryEntry& entry) { entries_.push_back(entry); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  /// Empty: the history of a key that was absent at first is linearizable. Else the operation without
  /// explanation.
  [[nodiscard]] std::optional<std::string> contradiction() const {
    Search search{entries_};
    for (const Event& event : in_order()) {
      if (event.response) {
        if (!search.respond(event.entry)) {
          return describe(entries_[event.entry]);
        }
      } else {
        search.invoke(event.entry);
      }
    }
    return std::nullopt;
  }

 private:
  using State = std::optional<std::uint64_t>;

  struct Event {
    std::uint64_t at;
    std::size_t entry;
    bool response;
  };
  struct Configuration {
    State state;
    std::set<std::size_t> applied;  ///< open operations that took effect
    friend auto operator<=>(const Configuration&, const Configuration&) = default;
  };

  class Search {
   public:
    explicit Search(const std::vector<HistoryEntry>& entries) : entries_(entries) {
      alive_.insert(Configuration{});
    }

    void invoke(std::size_t entry) {
      open_.push_back(entry);
      std::set<Configuration> next;
      for (const Configuration& configuration : alive_) {
        next.insert(with_reads(configuration));
      }
      alive_ = std::move(next);
    }

    bool respond(std::size_t entry) {
      std::set<Configuration> next;
      std::set<Configuration> visited = alive_;
      std::vector<Configuration> work(alive_.begin(), alive_.end());
      while (!work.empty()) {
        Configuration configuration = std::move(work.back());
        work.pop_back();
        if (configuration.applied.erase(entry) != 0) {
          next.insert(std::move(configuration));
          continue;
        }
        for (const std::size_t candidate : open_) {
          if (configuration.applied.contains(candidate) || !fits(configuration.state, candidate)) {
            continue;
          }
          Configuration changed = configuration;
          changed.applied.insert(candidate);
          changed.state = after(configuration.state, entries_[candidate]);
          changed = with_reads(std::move(changed));
          if (visited.insert(changed).second) {
            work.push_back(std::move(changed));
          }
        }
      }
      std::erase(open_, entry);
      alive_ = std::move(next);
      return !alive_.empty();
    }

   private:
    /// Its result says nothing about the state it met.
    [[nodiscard]] static bool unknown(const HistoryEntry& op) {
      return op.responded == HistoryEntry::kNever || op.how == verb::clear;
    }
    [[nodiscard]] bool fits(const State& state, std::size_t entry) const {
      const HistoryEntry& op = entries_[entry];
      if (unknown(op)) {
        return true;
      }
      return op.found ? state == op.number : !state.has_value();
    }
    [[nodiscard]] static State after(const State& state, const HistoryEntry& op) {
      switch (op.how) {
        case verb::find:
        case verb::touch:
          return state;
        case verb::upsert:
          return op.operand;
        case verb::remove:
        case verb::clear:
          return std::nullopt;
        case verb::compare_swap:
          return state == op.expected ? State{op.operand} : state;
        case verb::add:
          return state.value_or(0) + op.operand;
      }
      return state;
    }
    /// Open operations that leave the state alone and fit it may as well take effect now.
    [[nodiscard]] Configuration with_reads(Configuration configuration) const {
      for (const std::size_t entry : open_) {
        if (fits(configuration.state, entry) &&
            after(configuration.state, entries_[entry]) == configuration.state && !unknown(entries_[entry])) {
          configuration.applied.insert(entry);
        }
      }
      return configuration;
    }

    const std::vector<HistoryEntry>& entries_;
    std::vector<std::size_t> open_;
    std::set<Configuration> alive_;
  };

  [[nodiscard]] std::vector<Event> in_order() const {
    std::vector<Event> events;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      events.push_back({entries_[i].invoked, i, false});
      if (entries_[i].responded != HistoryEntry::kNever) {
        events.push_back({entries_[i].responded, i, true});
      }
    }
    // At one moment, invocations come first: operations that meet there overlap.
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return a.at != b.at ? a.at < b.at : a.response < b.response;
    });
    return events;
  }

  [[nodiscard]] static std::string describe(const HistoryEntry& op) {
    return "operation " + std::to_string(static_cast<int>(op.how)) + " with " + std::to_string(op.operand) +
           " during [" + std::to_string(op.invoked) + ", " + std::to_string(op.responded) + "] found " +
           (op.found ? std::to_string(op.number) : std::string{"nothing"});
  }

  std::vector<HistoryEntry> entries_;
};

}  // namespace mxkv::index::testing
