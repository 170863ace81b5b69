#include "tests/simulation/durable_reader.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

namespace mxkv::simulation {

namespace {

using server::position_state;
using outcome = server::ChangeSource::outcome;

ToldChange told_change(const server::ChangeRecord& change) {
  return std::visit(
      [&change](const auto& record) -> ToldChange {
        using R = std::remove_cvref_t<decltype(record)>;
        const auto told = [&](char what, std::string_view key, std::string_view value = {}) {
          return ToldChange{.text = told_text(what, key, record.order, value),
                            .key = std::string{key},
                            .order = record.order,
                            .batch = change.batch};
        };
        if constexpr (std::is_same_v<R, server::PutRecord>) {
          return told('p', record.key, record.apart_bytes != 0 ? change.apart : record.value);
        } else if constexpr (std::is_same_v<R, server::GoneRecord>) {
          return told('g', record.key);
        } else if constexpr (std::is_same_v<R, server::TouchRecord>) {
          return told('t', record.key);
        } else if constexpr (std::is_same_v<R, server::RangeGoneRecord>) {
          return told('G', record.bounds.from);
        } else if constexpr (std::is_same_v<R, server::RangeTouchRecord>) {
          return told('T', record.bounds.from);
        } else {
          return told('f', {});
        }
      },
      change.record);
}

/// Single changes and whole batches, each with its changes sorted; `least` sorts them as a reader does.
struct Unit {
  std::uint64_t least = ~std::uint64_t{0};
  std::vector<ToldChange> changes;
};

std::vector<Unit> units_of(const std::vector<ToldChange>& changes) {
  std::vector<Unit> units;
  std::map<std::uint64_t, std::size_t> batches;
  for (const ToldChange& change : changes) {
    std::size_t at = units.size();
    if (change.batch != 0) {
      at = batches.try_emplace(change.batch, at).first->second;
    }
    if (at == units.size()) {
      units.emplace_back();
    }
    units[at].least = std::min(units[at].least, change.order);
    units[at].changes.push_back(change);
  }
  return units;
}

/// The units as text, in one order for the same units.
std::string shown(const std::vector<ToldChange>& changes) {
  std::vector<std::string> texts;
  for (Unit& unit : units_of(changes)) {
    std::ranges::sort(unit.changes, {}, &ToldChange::text);
    std::string text = unit.changes.front().batch != 0 ? "batch:" : "";
    for (const ToldChange& change : unit.changes) {
      text += " [" + change.text + "]";
    }
    texts.push_back(std::move(text));
  }
  std::ranges::sort(texts);
  std::string all;
  for (const std::string& text : texts) {
    all += text + ";";
  }
  return all;
}

}  // namespace

void DurableReader::found(std::uint64_t epoch) {
  is_past_ = is_past_ && at_.epoch <= epoch;
  earlier_.erase(earlier_.upper_bound(epoch), earlier_.end());
}

void DurableReader::end(const DurableLedger& ledger) {
  earlier_.insert(ledger.told().begin(), ledger.told().end());
}

std::uint64_t DurableReader::next_epoch(const DurableLedger& ledger) const {
  if (const auto next = earlier_.upper_bound(at_.epoch); next != earlier_.end()) {
    return next->first;
  }
  const auto next = ledger.told().upper_bound(at_.epoch);
  return next != ledger.told().end() ? next->first : 0;
}

void DurableReader::restart(server::JournalTail& tail, std::uint64_t closed) {
  at_ = {tail.tag(), closed};
  is_past_ = true;
  follows_ = true;
  complaints_.unless(tail.seek(at_) == position_state::ok, "a reader cannot begin with what comes");
}

/// Asks this process to continue behind a position of an earlier one.
void DurableReader::resume(server::JournalTail& tail, std::uint64_t closed) {
  const bool compares = mistake_ != durable_mistake::tag_is_not_compared;
  switch (tail.seek({compares ? at_.tag : tail.tag(), at_.epoch})) {
    case position_state::ok:
      complaints_.unless(is_past_, "a position of a history that was lost is taken");
      follows_ = true;
      ++report_.resumed;
      return;
    case position_state::old:
      complaints_.unless(is_past_, "a position of a history that was lost is called old");
      gone(tail, closed);
      return;
    case position_state::lost:
      complaints_.unless(!is_past_, "a position in the past is called lost");
      ++report_.lost;
      if (one_in(random_, 8)) {  // else it asks again
        restart(tail, closed);
      }
      return;
  }
}

void DurableReader::gone(server::JournalTail& tail, std::uint64_t closed) {
  ++report_.old;
  if (mistake_ != durable_mistake::hole_is_passed_over) {
    restart(tail, closed);
    return;
  }
  follows_ = true;
  static_cast<void>(tail.seek(tail.oldest()));
}

void DurableReader::step(server::JournalTail& tail, std::uint64_t closed, const DurableLedger& ledger) {
  if (!one_in(random_, 20)) {
    return;
  }
  if (at_.tag == 0) {
    restart(tail, closed);
  } else if (!follows_) {
    resume(tail, closed);
  }
  server::ChangeEpoch epoch;
  for (std::uint64_t left = random_.below(one_in(random_, 4) ? 100 : 4); follows_ && left > 0; --left) {
    const std::uint64_t through = tail.through();
    switch (tail.next(epoch)) {
      case outcome::none: {
        const std::uint64_t next = next_epoch(ledger);
        complaints_.unless(next == 0 || next > through, "a durable epoch is not told");
        return;
      }
      case outcome::old:
        gone(tail, closed);
        return;
      case outcome::epoch:
        judge(epoch, tail.tag(), ledger);
    }
  }
}

void DurableReader::judge(const server::ChangeEpoch& epoch, std::uint64_t tag, const DurableLedger& ledger) {
  std::vector<ToldChange> told;
  for (const server::ChangeRecord& change : epoch.records) {
    told.push_back(told_change(change));
  }
  judge_order(told);
  const std::uint64_t expected = next_epoch(ledger);
  if (epoch.number != expected) {
    complaints_.add("an epoch is left out, or told twice: " + std::to_string(epoch.number) + " after " +
                    std::to_string(at_.epoch) + ", and " + std::to_string(expected) + " is the next");
  }
  const bool is_earlier = earlier_.contains(epoch.number);
  const ChangesByEpoch& truth = is_earlier ? earlier_ : ledger.told();
  if (const auto changes = truth.find(epoch.number); changes != truth.end()) {
    const std::string is = shown(told);
    const std::string was = shown(changes->second);
    // Keys that mint alone have other orders than the ledger's: there only the order of the changes is judged.
    if (is != was && mistake_ != durable_mistake::keys_mint_alone) {
      complaints_.add("epoch " + std::to_string(epoch.number) + " is told as " + is + " but was " + was);
    }
  }
  at_ = {tag, epoch.number};
  ++report_.told;
  report_.told_later += is_earlier ? 1 : 0;
  report_.told_batches +=
      std::ranges::any_of(told, [](const ToldChange& change) { return change.batch != 0; });
}

/// Sorted by order, a batch by its least, the changes of a key are in their order.
void DurableReader::judge_order(const std::vector<ToldChange>& told) {
  std::vector<Unit> units = units_of(told);
  std::ranges::stable_sort(units, {}, &Unit::least);
  std::map<std::string, std::uint64_t> last;
  for (const Unit& unit : units) {
    for (const ToldChange& change : unit.changes) {
      std::uint64_t& before = last[change.key];
      complaints_.unless(change.order > before, "a key's changes are told out of order");
      before = change.order;
    }
  }
}

}  // namespace mxkv::simulation
