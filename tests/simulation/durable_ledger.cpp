#include "tests/simulation/durable_ledger.hpp"

#include <algorithm>
#include <utility>

#include "server/store/item/expiry.hpp"

namespace mxkv::simulation {

namespace {

using index::change;
using server::Item;
using server::ItemRecord;

constexpr std::uint32_t kCounting = ~std::uint32_t{Item::kWon};

DurableItem seen(const Item& item) {
  const Item::View view{item};
  DurableItem durable{.value = {},
                      .flags = view.flags(),
                      .expiry = view.expiry(),
                      .marks = item.marks() & kCounting,
                      .order = item.order()};
  if (!view.large()) {
    durable.value = view.value();
    return durable;
  }
  for (const server::Chunk* chunk : item.list()->pieces()) {
    durable.value.append(chunk->data(), chunk->bytes);
  }
  return durable;
}

bool is_live(const DurableItem& item, const server::FlushState& flushes, std::uint64_t now_us) {
  return !server::is_expired(item.expiry, now_us) && item.order > flushes.at(now_us);
}

std::string text_of(const DurableItem& item) {
  return item.value.substr(0, 20) + " (order " + std::to_string(item.order) + ", expiry " +
         std::to_string(item.expiry) + ", flags " + std::to_string(item.flags) + ", marks " +
         std::to_string(item.marks) + ")";
}

}  // namespace

DurableItems DurableState::live(std::uint64_t now_us) const {
  DurableItems live;
  for (const auto& [key, item] : items) {
    if (is_live(item, flushes, now_us)) {
      live.emplace(key, item);
    }
  }
  return live;
}

DurableItems items_of(server::Store& store, std::uint64_t now_us) {
  using Node = server::ItemNode;
  const auto node_at = [](std::uint64_t word) {
    return static_cast<const Node*>(runtime::TaggedPointer{word}.object());
  };
  const server::FlushState flushes{store.flush_points().next.load(std::memory_order_relaxed),
                                   store.flush_points().before.load(std::memory_order_relaxed)};
  const Node* node = node_at(store.tree().root().word());
  while (!node->leaf()) {
    node = node_at(node->value(false, {}));
  }
  DurableItems items;
  for (;; node = node_at(node->right())) {
    index::Entries entries;
    node->copy_entries(node->meta(), false, entries);
    for (unsigned i = 0; i < entries.count; ++i) {
      const Item& item = *ItemRecord::item(entries.values[i]);
      if (DurableItem durable = seen(item); is_live(durable, flushes, now_us)) {
        items.emplace(item.key(), std::move(durable));
      }
    }
    if (node->meta().high_infinite()) {
      return items;
    }
  }
}

std::string difference(const DurableItems& found, const DurableItems& expected) {
  for (const auto& [key, item] : expected) {
    const auto at = found.find(key);
    if (at == found.end()) {
      return key + " is not there, which was " + text_of(item);
    }
    if (at->second != item) {
      return key + " is " + text_of(at->second) + ", and was " + text_of(item);
    }
  }
  for (const auto& [key, item] : found) {
    if (!expected.contains(key)) {
      return key + " is there, which was not: " + text_of(item);
    }
  }
  return {};
}

std::string told_text(char what, std::string_view key, std::uint64_t order, std::string_view value) {
  return std::string{what} + " " + std::string{key} + " " + std::to_string(order) + " " + std::string{value};
}

void DurableLedger::note_told(const Passed& passed) {
  static constexpr char kNames[] = {'p', 'g', 't', 'G', 'T', 'f'};
  if (passed.change.what == change::gone && passed.change.why == index::cause::expired) {
    return;
  }
  epochs_told_[passed.label].push_back(
      {.text = told_text(kNames[static_cast<std::size_t>(passed.change.what)], passed.key,
                         passed.change.order, passed.item.value),
       .key = passed.key,
       .order = passed.change.order,
       .batch = group_label_ != 0 ? groups_ : 0});
}

/// A change with the order that its key would have minted without regard for the other keys of its batch.
index::Commit<std::string_view> DurableLedger::as_minted_alone(const index::Commit<std::string_view>& commit,
                                                               const runtime::Worker& worker) {
  index::Commit<std::string_view> changed = commit;
  const auto last = recorded_.find(commit.key);
  if (group_label_ != 0 && last != recorded_.end()) {
    changed.change.order = std::min(changed.change.order, std::max(last->second, worker.now_us()) + 1);
  }
  recorded_.insert_or_assign(std::string{commit.key}, changed.change.order);
  return changed;
}

void DurableLedger::group_begins(runtime::Worker& worker) noexcept {
  if (epochs_ != nullptr) {
    group_label_ = epochs_->current();
    ++groups_;
  }
  if (next_ != nullptr) {
    next_->group_begins(worker);
  }
}

void DurableLedger::group_ends(runtime::Worker& worker) noexcept {
  group_label_ = 0;
  if (next_ != nullptr) {
    next_->group_ends(worker);
  }
}

void DurableLedger::passed(const index::Commit<std::string_view>& commit, runtime::Worker& worker) noexcept {
  const change what = commit.change.what;
  if (epochs_ != nullptr && what != change::part && what != change::unseen) {
    Passed& passed = passed_.emplace_back();
    passed.label = group_label_ != 0 ? group_label_ : epochs_->current();
    passed.change = commit.change;
    passed.key = commit.range != nullptr ? commit.range->from : commit.key;
    passed.moment_us = commit.moment_us;
    passed.set_us = commit.set_us;
    if (commit.range != nullptr) {
      passed.to = commit.range->to;
      passed.far = commit.range->far;
      passed.skips_from = commit.range->skips_from;
      passed.change.expiry = static_cast<std::uint32_t>(commit.value);
    }
    if (what == change::put) {
      passed.item = seen(*ItemRecord::item(commit.value));
      const auto told = told_.find(passed.key);
      if (told != told_.end() && told->second >= passed.item.order) {
        wrong_.add("a cas of " + passed.key + " comes again, " + std::to_string(passed.item.order) +
                   " after " + std::to_string(told->second));
      }
    }
    note_told(passed);
  }
  if (next_ != nullptr) {
    const bool has_own_order = what == change::put || what == change::gone || what == change::touched;
    next_->passed(mints_alone_ && has_own_order ? as_minted_alone(commit, worker) : commit, worker);
  }
}

bool DurableLedger::Passed::beyond(std::string_view at) const {
  switch (far) {
    case index::far_end::none:
      return false;
    case index::far_end::inclusive:
      return at > to;
    case index::far_end::exclusive:
      return at >= to;
    case index::far_end::prefix:
      return !at.starts_with(to);
  }
  return false;
}

void DurableLedger::apply(const Passed& passed, DurableState& state) {
  const auto at = state.items.find(passed.key);
  switch (passed.change.what) {
    case change::put:
      state.items.insert_or_assign(passed.key, passed.item);
      state.orders[passed.key] = passed.change.order;
      return;
    case change::gone:
      if (at != state.items.end()) {
        state.items.erase(at);
      }
      state.orders[passed.key] = passed.change.order;
      return;
    case change::touched:
      if (at != state.items.end()) {
        at->second.expiry = passed.change.expiry;
        at->second.marks = passed.change.marks & kCounting;
      }
      state.orders[passed.key] = passed.change.order;
      return;
    case change::flushed:
      if (passed.moment_us == 0) {
        state.items.clear();
      } else {
        state.flushes.set(passed.moment_us, passed.set_us);
      }
      return;
    default:
      break;
  }
  for (auto item = state.items.lower_bound(passed.key); item != state.items.end();) {
    if (passed.beyond(item->first)) {
      return;
    }
    if ((passed.skips_from && item->first == passed.key) ||
        !is_live(item->second, state.flushes, passed.moment_us)) {
      ++item;
    } else if (passed.change.what == change::range_gone) {
      item = state.items.erase(item);
    } else {
      (item++)->second.expiry = passed.change.expiry;
    }
  }
}

DurableState DurableLedger::at(std::uint64_t epoch) const {
  DurableState state = begin_;
  for (const Passed& passed : passed_) {
    if (passed.label <= epoch) {
      apply(passed, state);
    }
  }
  return state;
}

std::string DurableLedger::story_of(std::string_view key) const {
  static constexpr const char* kNames[] = {"put",           "gone",    "touched", "range gone",
                                           "range touched", "flushed", "part",    "unseen"};
  std::string text;
  for (const Passed& passed : passed_) {
    const change what = passed.change.what;
    const bool is_range = what == change::range_gone || what == change::range_touched;
    const bool concerns = is_range ? key >= passed.key && !passed.beyond(key) : passed.key == key;
    if (concerns || what == change::flushed) {
      text += std::string{"; "} + kNames[static_cast<std::size_t>(what)] + " of epoch " +
              std::to_string(passed.label) + ", order " + std::to_string(passed.change.order);
    }
  }
  return text;
}

std::uint64_t DurableLedger::changes_after(std::uint64_t epoch) const {
  return static_cast<std::uint64_t>(std::count_if(
      passed_.begin(), passed_.end(), [epoch](const Passed& passed) { return passed.label > epoch; }));
}

}  // namespace mxkv::simulation
