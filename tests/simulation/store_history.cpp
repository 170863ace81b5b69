#include "tests/simulation/store_history.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "tests/simulation/store_effects.hpp"

namespace mxkv::simulation {

namespace {

/// Open operations are bits of a word: there are few at a time.
class Search {
 public:
  Search(const std::vector<Operation>& operations, const KeyStates& begin, bool evicts, std::size_t most)
      : operations_(operations), evicts_(evicts), most_(most) {
    alive_.insert(Configuration{begin, 0});
  }

  void invoke(std::size_t entry) {
    std::size_t bit = 0;
    while (bit < open_.size() && open_[bit] != kFree) {
      ++bit;
    }
    if (bit == kMostOpen) {
      too_many_ = true;
      return;
    }
    if (bit == open_.size()) {
      open_.push_back(kFree);
      before_.push_back(0);
    }
    open_[bit] = entry;
    before_[bit] = 0;
    for (std::size_t n = 0; n < open_.size(); ++n) {
      if (open_[n] != kFree && must_follow(operations_[entry], operations_[open_[n]])) {
        before_[bit] |= std::uint64_t{1} << n;
      }
    }
    Configurations next;
    for (const Configuration& configuration : alive_) {
      next.insert(with_reads(configuration));
    }
    alive_ = std::move(next);
  }

  /// False: nothing explains it, and the search is unchanged. Operations that share no keys with it, directly
  /// or through others, are left for later: they make no difference to it.
  bool respond(std::size_t entry) {
    const auto at = static_cast<std::size_t>(std::find(open_.begin(), open_.end(), entry) - open_.begin());
    const std::uint64_t bit = std::uint64_t{1} << at;
    Configurations next;
    Configurations visited = alive_;
    std::vector<Configuration> work(alive_.begin(), alive_.end());
    std::vector<KeyStates> after;
    const std::uint64_t candidates = related_to(entry);
    while (!work.empty() && visited.size() < most_) {
      const Configuration configuration = work.back();
      work.pop_back();
      if ((configuration.applied & bit) != 0) {
        next.insert({configuration.states, configuration.applied & ~bit});
        continue;
      }
      for (std::size_t n = 0; n < open_.size(); ++n) {
        const std::uint64_t candidate = std::uint64_t{1} << n;
        if ((candidates & ~configuration.applied & candidate) == 0 ||
            (before_[n] & ~configuration.applied) != 0) {
          continue;
        }
        const Operation& op = operations_[open_[n]];
        const std::uint32_t unmet = is_optional(op) ? keys_of(op) : 0;
        if (configuration.unmet != 0 && is_blind(op) && (configuration.unmet & ~keys_of(op)) == 0) {
          continue;  // it explains no more than without operations that nothing has met
        }
        after.clear();
        collect_effects(configuration.states, op, evicts_, after);
        if (op.partial) {
          after.push_back(configuration.states);  // it left them out
        }
        for (const KeyStates& states : after) {
          if (unmet != 0 && states == configuration.states) {
            continue;
          }
          const Configuration changed = with_reads({states, configuration.applied | candidate, unmet});
          if (visited.insert(changed).second) {
            work.push_back(changed);
          }
        }
      }
    }
    too_many_ = !work.empty();
    open_[at] = kFree;
    for (std::uint64_t& before : before_) {
      before &= ~bit;
    }
    if (next.empty()) {
      return false;
    }
    alive_ = std::move(next);
    return true;
  }
  /// Of the last invoke() or respond(): its result does not count.
  [[nodiscard]] bool too_many() const noexcept { return too_many_; }
  [[nodiscard]] std::string states() const {
    std::string text;
    for (const Configuration& configuration : alive_) {
      text += " [";
      for (const KeyState& key : configuration.states) {
        text += key.there ? std::to_string(key.number) + ":" + std::to_string(key.cas % 100'000'000) : "-";
        text += key.expiry == 0 ? " " : "t" + std::to_string(key.expiry % 100'000) + " ";
      }
      text += "]";
    }
    return text;
  }

 private:
  static constexpr std::size_t kFree = ~std::size_t{0};
  static constexpr std::size_t kMostOpen = 64;
  [[nodiscard]] static bool is_idle(const Operation& op) {
    const bool was_told_no = op.what == operation::line && op.lines.front().reply != told::done;
    return op.did_nothing() || op.end == ending::failed ||
           (op.end == ending::done && (only_reads(op) || was_told_no));
  }

  /// May as well never take effect: no client got an answer, and nothing has to follow it.
  [[nodiscard]] static bool is_optional(const Operation& op) {
    return op.responded == Operation::kNever && op.session == 0;
  }
  /// Has the same result in every state.
  [[nodiscard]] static bool is_blind(const Operation& op) {
    if (op.what != operation::line || op.lines.size() != 1) {
      return false;
    }
    const CommandLine& line = op.lines.front();
    return (line.what == act::set && !line.compare) ||
           (line.what == act::remove && !line.compare && line.reply == told::unknown);
  }

  struct Configuration {
    KeyStates states;
    std::uint64_t applied = 0;  ///< open operations that took effect
    std::uint32_t unmet =
        0;  ///< keys, as bits, of the last of them, if it need not have and nothing has met it
    friend bool operator==(const Configuration&, const Configuration&) = default;
  };
  struct Hash {
    std::size_t operator()(const Configuration& configuration) const noexcept {
      std::uint64_t hash = configuration.applied ^ std::uint64_t{configuration.unmet} << 32U;
      for (const KeyState& key : configuration.states) {
        for (const std::uint64_t word : {key.number, key.cas, std::uint64_t{key.expiry} * 2 + key.there}) {
          hash = (hash ^ word) * 0x9E37'79B9'7F4A'7C15U;
          hash ^= hash >> 29U;
        }
      }
      return hash;
    }
  };
  using Configurations = std::unordered_set<Configuration, Hash>;

  /// The operations that any of these, as bits, must follow.
  [[nodiscard]] std::uint64_t before_of(std::uint64_t these) const {
    std::uint64_t before = 0;
    for (std::size_t n = 0; n < open_.size(); ++n) {
      before |= (these >> n & 1U) != 0 ? before_[n] : 0;
    }
    return before;
  }
  /// Open operations, as bits, that share keys with this one, or with another one that does.
  [[nodiscard]] std::uint64_t related_to(std::size_t entry) const {
    const auto self = std::find(open_.begin(), open_.end(), entry) - open_.begin();
    std::uint64_t related = std::uint64_t{1} << self;
    std::uint32_t keys = keys_of(operations_[entry]);
    for (bool grows = true; grows;) {
      grows = false;
      for (std::size_t n = 0; n < open_.size(); ++n) {
        const std::uint64_t bit = std::uint64_t{1} << n;
        if (open_[n] != kFree && (related & bit) == 0 &&
            ((keys_of(operations_[open_[n]]) & keys) != 0 || (before_of(related) & bit) != 0)) {
          related |= bit;
          keys |= keys_of(operations_[open_[n]]);
          grows = true;
        }
      }
    }
    return related;
  }
  /// Open operations that never change anything and are explained may as well take effect now.
  [[nodiscard]] Configuration with_reads(Configuration configuration) const {
    std::vector<KeyStates> after;
    for (std::size_t n = 0; n < open_.size(); ++n) {
      const std::uint64_t candidate = std::uint64_t{1} << n;
      if (open_[n] == kFree || (configuration.applied & candidate) != 0 ||
          (before_[n] & ~configuration.applied) != 0 || !is_idle(operations_[open_[n]])) {
        continue;
      }
      after.clear();
      collect_effects(configuration.states, operations_[open_[n]], evicts_, after);
      if (after.size() == 1 && after.front() == configuration.states) {
        configuration.applied |= candidate;
        configuration.unmet = 0;
      }
    }
    return configuration;
  }

  const std::vector<Operation>& operations_;
  bool evicts_;
  std::size_t most_;
  std::vector<std::size_t> open_;      ///< by bit; at most 64
  std::vector<std::uint64_t> before_;  ///< by bit: open ones that it must follow
  Configurations alive_;
  bool too_many_ = false;
};

}  // namespace

std::optional<std::string> StoreHistory::search(const std::vector<Operation>& operations) const {
  struct Event {
    std::uint64_t at;
    bool response;
    std::size_t entry;
  };
  std::vector<Event> events;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    events.push_back({operations[i].invoked, false, i});
    if (operations[i].responded != Operation::kNever) {
      events.push_back({operations[i].responded, true, i});
    }
  }
  // At one moment, invocations come first: operations that meet there overlap.
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.at != b.at ? a.at < b.at : a.response < b.response;
  });
  Search search{operations, begin_, evicts_, most_};
  for (const Event& event : events) {
    if (!event.response) {
      search.invoke(event.entry);
      if (search.too_many()) {
        ++given_up_;
        return std::nullopt;
      }
      continue;
    }
    const bool explained = search.respond(event.entry);
    if (search.too_many()) {
      ++given_up_;
      return std::nullopt;
    }
    if (!explained) {
      std::string text = describe(operations[event.entry]) + ", from" + search.states();
      for (const Operation& op : operations) {
        if (op.invoked < event.at) {
          text += "\n    " + describe(op);
        }
      }
      return text;
    }
  }
  return std::nullopt;
}

std::optional<std::string> StoreHistory::contradiction() const {
  std::vector<Operation> of_all;
  for (const Operation& op : operations_) {
    if (op.locked) {
      of_all.push_back(op);
      continue;
    }
    for (std::size_t key = 0; !only_reads(op) && key < kMostHistoryKeys; ++key) {
      if (auto part = projected(op, key)) {
        of_all.push_back(std::move(*part));
      }
    }
  }
  if (auto wrong = search(of_all)) {
    return wrong;
  }
  for (std::size_t key = 0; key < kMostHistoryKeys; ++key) {
    std::vector<Operation> of_key;
    for (const Operation& op : operations_) {
      if (auto part = projected(op, key)) {
        of_key.push_back(std::move(*part));
      }
    }
    if (const auto wrong = search(of_key)) {
      return "key " + std::to_string(key) + " alone: " + *wrong;
    }
  }
  return std::nullopt;
}

}  // namespace mxkv::simulation
