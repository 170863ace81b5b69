#include "tests/simulation/store_effects.hpp"

#include <algorithm>

namespace mxkv::simulation {

namespace {

constexpr std::uint64_t kUsPerSecond = 1'000'000;

/// The state for which an operation may take a key's item.
struct Judge {
  std::uint64_t from_us;
  std::uint64_t until_us;
  bool evicts;

  [[nodiscard]] bool may_live(const KeyState& key) const noexcept {
    return key.there && (key.expiry == 0 || key.expiry > from_us / kUsPerSecond);
  }
  [[nodiscard]] bool may_be_expired(const KeyState& key) const noexcept {
    return key.there && key.expiry != 0 && key.expiry <= until_us / kUsPerSecond;
  }
  [[nodiscard]] bool may_be_gone(const KeyState& key) const noexcept {
    return !key.there || evicts || may_be_expired(key);
  }
  /// The key once it was found gone.
  [[nodiscard]] KeyState gone(const KeyState& key) const noexcept {
    return may_be_expired(key) ? key : KeyState{};
  }
};

/// A command's effect on a key, and its answer.
struct Outcome {
  KeyState key;
  told reply = told::done;
  std::uint64_t number = 0;
};

bool tells_number(act what) {
  return what == act::get || what == act::touch || what == act::count_up || what == act::count_down;
}

Outcome on_missing(const CommandLine& line, const KeyState& key) {
  if ((line.what == act::set && !line.compare) || line.what == act::add) {
    return {{true, line.expiry, line.operand, line.cas}};
  }
  const bool mode_tells = (line.what == act::replace && !line.compare) || line.what == act::append;
  return {line.what == act::remove ? KeyState{} : key, mode_tells ? told::not_stored : told::missing};
}

Outcome on_live(const CommandLine& line, KeyState key) {
  switch (line.what) {
    case act::get:
      break;
    case act::touch:
      key.expiry = line.expiry;
      break;
    case act::add:
      return {key, told::not_stored};
    case act::set:
    case act::replace:
      return {{true, line.expiry, line.operand, line.cas}};
    case act::remove:
      return {};
    case act::count_up:
      key.number += line.operand;
      key.cas = line.cas;
      break;
    case act::count_down:
      key.number -= std::min(line.operand, key.number);
      key.cas = line.cas;
      break;
    case act::append:  // one digit
      key.number = key.number * 10 + line.operand;
      key.cas = line.cas;
      break;
  }
  return {key, told::done, key.number};
}

/// Whether an outcome fits the client's answer.
bool fits(const CommandLine& line, const KeyState& before, const Outcome& outcome) {
  if (line.reply == told::unknown) {
    return true;
  }
  if (line.reply != outcome.reply) {
    return false;
  }
  if (outcome.reply != told::done) {
    return true;
  }
  if (line.number && tells_number(line.what) && *line.number != outcome.number) {
    return false;
  }
  const bool same_version = line.what == act::get || line.what == act::touch;
  if (line.cas == 0 || line.what == act::remove || before.cas == 0 || !before.there) {
    return true;
  }
  // A new version has a greater cas than the one before.
  return same_version ? line.cas == before.cas : line.cas > before.cas;
}

/// Calls f(outcome) for each way in which a line may end.
template <class F>
void each_outcome(const CommandLine& line, const KeyState& before, const Judge& judge, const F& f) {
  if (judge.may_be_gone(before)) {
    f(on_missing(line, judge.gone(before)));
  }
  if (!judge.may_live(before)) {
    return;
  }
  KeyState key = before;
  if (line.compare && line.what != act::add) {
    const bool known = key.cas != 0 || line.expects;
    const bool differs =
        key.cas != 0 ? key.cas != *line.compare : line.expects && *line.expects != key.number;
    if (!known || differs) {
      f(Outcome{key, told::exists});
    }
    if (known && differs) {
      return;
    }
    key.cas = *line.compare;
  }
  Outcome outcome = on_live(line, key);
  if ((line.what == act::get || line.what == act::touch) && line.cas != 0) {
    outcome.key.cas = line.cas;  // known from now on
  }
  f(outcome);
}

bool fails_batch(const CommandLine& line, told reply) {
  return reply == told::not_stored || reply == told::exists ||
         (reply == told::missing && line.what != act::get && line.what != act::touch &&
          (line.what != act::remove || line.compare));
}

/// Collects the states that an operation may leave behind.
class Effects {
 public:
  Effects(const KeyStates& before, const Operation& op, bool evicts, std::vector<KeyStates>& after)
      : before_(before), op_(op), judge_{op.from_us, op.until_us, evicts}, after_(after) {}

  void collect() {
    if (op_.did_nothing()) {
      after_.push_back(before_);
      return;
    }
    if (op_.end == ending::unknown && op_.may_fail) {
      after_.push_back(before_);
    }
    switch (op_.what) {
      case operation::line:
      case operation::batch:
        run_line(before_, 0);
        break;
      case operation::page:
        show();
        break;
      case operation::count:
        add_up(op_.first, 0, 0);
        break;
      case operation::erase:
        erase();
        break;
      case operation::touch:
        touch(before_, op_.first, 0);
        break;
    }
  }

 private:
  void run_line(const KeyStates& states, std::size_t i) {
    const bool fails_here = op_.end == ending::failed && i == op_.failed_line;
    if (i == op_.lines.size()) {
      if (op_.end != ending::failed) {
        after_.push_back(states);
      }
      return;
    }
    const CommandLine& line = op_.lines[i];
    if (line.key == CommandLine::kOtherKey) {
      if (fails_here) {
        after_.push_back(before_);
      } else {
        run_line(states, i + 1);
      }
      return;
    }
    each_outcome(line, states[line.key], judge_, [&](const Outcome& outcome) {
      const bool fails = op_.what == operation::batch && fails_batch(line, outcome.reply);
      if (!fits(line, states[line.key], outcome) || (fails_here && !fails)) {
        return;
      }
      if (fails) {
        if (fails_here || op_.end == ending::unknown) {
          after_.push_back(before_);
        }
        return;
      }
      KeyStates next = states;
      next[line.key] = outcome.key;
      run_line(next, i + 1);
    });
  }

  void show() {
    KeyStates next = before_;
    auto seen = op_.seen.begin();
    for (std::size_t key = op_.first; key < op_.last; ++key) {
      KeyState& state = next[key];
      if (seen == op_.seen.end() || seen->key != key) {
        if (!judge_.may_be_gone(state)) {
          return;
        }
        state = judge_.gone(state);
        continue;
      }
      if (!judge_.may_live(state) || state.number != seen->number ||
          (state.cas != 0 && seen->cas != 0 && state.cas != seen->cas)) {
        return;
      }
      state.cas = seen->cas != 0 ? seen->cas : state.cas;
      ++seen;
    }
    if (seen == op_.seen.end()) {
      after_.push_back(next);
    }
  }

  /// Whether some choice of the items that may be gone gives the reported numbers.
  bool add_up(std::size_t key, std::uint64_t numbers, std::uint64_t sum) {
    if (key == op_.last) {
      if (numbers == op_.numbers && sum == op_.sum) {
        after_.push_back(before_);
        return true;
      }
      return false;
    }
    const KeyState& state = before_[key];
    return (judge_.may_be_gone(state) && add_up(key + 1, numbers, sum)) ||
           (judge_.may_live(state) && add_up(key + 1, numbers + 1, sum + state.number));
  }

  [[nodiscard]] bool told_of(std::uint64_t items) const {
    return op_.end == ending::unknown || (op_.others ? items <= op_.items : items == op_.items);
  }

  void erase() {
    KeyStates next = before_;
    std::uint64_t least = 0;
    std::uint64_t most = 0;
    for (std::size_t key = op_.first; key < op_.last; ++key) {
      least += judge_.may_be_gone(next[key]) ? 0 : 1;
      most += judge_.may_live(next[key]) ? 1 : 0;
      next[key] = {};
    }
    bool any = false;
    for (std::uint64_t items = least; items <= most && !any; ++items) {
      any = told_of(items);
    }
    if (any) {
      after_.push_back(next);
    }
  }

  void touch(const KeyStates& states, std::size_t key, std::uint64_t items) {
    if (key == op_.last) {
      if (told_of(items)) {
        after_.push_back(states);
      }
      return;
    }
    const KeyState& state = states[key];
    KeyStates next = states;
    if (judge_.may_be_gone(state)) {
      next[key] = judge_.gone(state);
      touch(next, key + 1, items);
    }
    if (judge_.may_live(state)) {
      next[key] = state;
      next[key].expiry = op_.expiry;
      touch(next, key + 1, items + 1);
    }
  }

  const KeyStates& before_;
  const Operation& op_;
  Judge judge_;
  std::vector<KeyStates>& after_;
};

}  // namespace

void collect_effects(const KeyStates& before, const Operation& op, bool evicts,
                     std::vector<KeyStates>& after) {
  Effects{before, op, evicts, after}.collect();
}

}  // namespace mxkv::simulation
