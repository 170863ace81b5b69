#include "tests/simulation/store_ledger.hpp"

#include <algorithm>

#include "server/store/core/store_task.hpp"
#include "server/store/item/expiry.hpp"

namespace mxkv::simulation {

using index::cause;
using index::change;
using server::Item;
using server::ItemRecord;
using Commit = index::Commit<std::string_view>;

void PassedChanges::add(const PassedChanges& other) noexcept {
  for (std::size_t i = 0; i < by_kind.size(); ++i) {
    by_kind[i] += other.by_kind[i];
  }
  deleted += other.deleted;
  evicted += other.evicted;
  expired += other.expired;
  delayed_flushes += other.delayed_flushes;
  groups += other.groups;
}

StoreLedger::Entry StoreLedger::entry_of(const Item& item) {
  return {.value = item.large() ? std::string{} : std::string{item.value()},
          .bytes = item.value_bytes(),
          .flags = item.flags(),
          .expiry = item.expiry(),
          .marks = counting(item.marks()),
          .order = item.order()};
}

bool StoreLedger::live(const Entry& entry, std::uint64_t now_us) const noexcept {
  return !server::is_expired(entry.expiry, now_us) && entry.order > flush_points_.at(now_us);
}

void StoreLedger::group_begins(runtime::Worker& worker) noexcept {
  wrong_.unless(grouping_ == nullptr, "a group within another one");
  grouping_ = &worker;
  group_.clear();
}

void StoreLedger::group_ends(runtime::Worker& worker) noexcept {
  wrong_.unless(grouping_ == &worker, "a group ends on another worker than it began on");
  grouping_ = nullptr;
  ++changes_.groups;
  for_each_word([this](std::uint64_t word) {
    wrong_.unless(std::find(group_.begin(), group_.end(), word) == group_.end(),
                  "a part of a group is in the tree before the whole has passed");
  });
}

void StoreLedger::passed(const Commit& commit, runtime::Worker& worker) noexcept {
  ++changes_.by_kind[static_cast<std::size_t>(commit.change.what)];
  wrong_.unless(grouping_ == nullptr || grouping_ == &worker, "something passes amid a group");
  switch (commit.change.what) {
    case change::put:
    case change::gone:
    case change::touched:
      one_passed(commit);
      return;
    case change::range_gone:
    case change::range_touched:
      range_passed(commit);
      return;
    case change::flushed:
      flush_passed(commit);
      return;
    case change::part:
    case change::unseen:
      wrong_.unless(grouping_ == nullptr, "what tells nothing is in a group");
      return;
  }
}

void StoreLedger::one_passed(const Commit& commit) {
  const std::string key{commit.key};
  const auto order = orders_.try_emplace(key, 0).first;
  const auto at = entries_.find(key);
  const bool puts = commit.change.what == change::put;
  // A batch that makes a key and removes it passes its end alone.
  const bool was_absent = commit.old == 0 && at == entries_.end() && grouping_ != nullptr;
  const bool ends_batch = commit.change.what == change::gone && was_absent;
  if (!puts && !ends_batch &&
      (at == entries_.end() || commit.old == 0 ||
       at->second.order != ItemRecord::item(commit.old)->order())) {
    wrong_.add("a change of an item of " + key + " that is not there");
    return;
  }
  wrong_.unless(commit.change.order > order->second && commit.change.order > flush_order_,
                ("the order of " + key + " does not grow").c_str());
  order->second = commit.change.order;
  changes_.deleted += commit.change.why == cause::deleted ? 1 : 0;
  changes_.evicted += commit.change.why == cause::evicted ? 1 : 0;
  changes_.expired += commit.change.why == cause::expired ? 1 : 0;
  if (commit.change.what == change::gone) {
    if (!ends_batch) {
      entries_.erase(at);
    }
    return;
  }
  if (commit.change.what == change::touched) {
    touch(at->second, commit);
    return;
  }
  const Item& item = *ItemRecord::item(commit.value);
  wrong_.unless(item.order() == commit.change.order, "a put's order is another than its item's cas");
  entries_.insert_or_assign(key, entry_of(item));
  if (grouping_ != nullptr) {
    group_.push_back(commit.value);
  }
}

// Reads nothing of the item: a journal does not, either.
void StoreLedger::touch(Entry& entry, const Commit& commit) {
  wrong_.unless(ItemRecord::item(commit.old)->expiry() != commit.change.expiry,
                "a touch passes that has been seen already, or changes nothing");
  entry.expiry = commit.change.expiry;
  entry.marks = counting(commit.change.marks);
}

void StoreLedger::operation_passed(const Commit& commit) {
  wrong_.unless(grouping_ == nullptr, "an operation on many keys is in a group");
  wrong_.unless(commit.change.order > operation_order_, "operations on many keys share an order");
  operation_order_ = commit.change.order;
}

void StoreLedger::range_passed(const Commit& commit) {
  operation_passed(commit);
  const auto& range = *commit.range;
  for (auto at = entries_.lower_bound(range.from); at != entries_.end();) {
    const std::string& key = at->first;
    if (range.beyond(range.context, key)) {
      return;
    }
    if ((range.skips_from && key == range.from) || !live(at->second, commit.moment_us)) {
      ++at;
      continue;
    }
    wrong_.unless(commit.change.order > orders_[key], "an operation on a range follows what is later");
    orders_[key] = commit.change.order;
    if (commit.change.what == change::range_gone) {
      at = entries_.erase(at);
    } else {
      (at++)->second.expiry = static_cast<std::uint32_t>(commit.value);
    }
  }
}

void StoreLedger::flush_passed(const Commit& commit) {
  operation_passed(commit);
  if (commit.moment_us != 0) {
    flush_points_.set(commit.moment_us, commit.set_us);
    ++changes_.delayed_flushes;
    return;
  }
  flush_order_ = commit.change.order;
  for (const auto& [key, order] : orders_) {
    wrong_.unless(order < flush_order_, "a flush follows what is later");
  }
  entries_.clear();
}

// Along the leaves; no task is on its way that would change them.
void StoreLedger::for_each_word(const std::function<void(std::uint64_t)>& visit) {
  using Node = server::ItemNode;
  const auto node_at = [](std::uint64_t word) {
    return static_cast<const Node*>(runtime::TaggedPointer{word}.object());
  };
  const Node* node = node_at(store_.tree().root().word());
  while (!node->leaf()) {
    node = node_at(node->value(false, {}));
  }
  for (;; node = node_at(node->right())) {
    index::Entries entries;
    node->copy_entries(node->meta(), false, entries);
    std::for_each_n(entries.values.begin(), entries.count, visit);
    if (node->meta().high_infinite()) {
      return;
    }
  }
}

std::uint64_t StoreLedger::word_of(std::string_view key) {
  std::uint64_t found = 0;
  for_each_word([&found, key](std::uint64_t word) { found = ItemRecord::key(word) == key ? word : found; });
  return found;
}

void StoreLedger::check(std::uint64_t now_us, Complaints& complaints) {
  for (const std::string& complaint : wrong_.all()) {
    complaints.add("commit point: " + complaint);
  }
  Entries held;
  for_each_word([&](std::uint64_t word) {
    const Item& item = *ItemRecord::item(word);
    if (const Entry entry = entry_of(item); live(entry, now_us)) {
      held.emplace(item.key(), entry);
    }
  });
  std::erase_if(entries_, [this, now_us](const auto& entry) { return !live(entry.second, now_us); });
  for (const auto& [key, entry] : held) {
    const auto known = entries_.find(key);
    complaints.unless(known != entries_.end(), ("commit point: it was not told of " + key).c_str());
    complaints.unless(known == entries_.end() || known->second == entry,
                      ("commit point: it knows another " + key).c_str());
  }
  for (const auto& [key, entry] : entries_) {
    complaints.unless(held.contains(key), ("commit point: it was not told that " + key + " went").c_str());
  }
}

}  // namespace mxkv::simulation
