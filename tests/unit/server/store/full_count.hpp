// Compares the counts of a store and of its quotas with a count of all items in its tree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/store/store.hpp"

namespace mxkv::server::testing {

/// The first count that is wrong, as text; empty: all are right. Says nothing while a leaf is latched or a cleared tree is
/// taken apart, whose items still count. Only between the steps of all workers.
inline std::string wrong_count(Store& store) {
  struct Sum {
    std::uint64_t items = 0;
    std::uint64_t bytes = 0;
  };
  const Quotas* const quotas = store.quotas();
  const std::size_t size = quotas == nullptr ? 0 : quotas->size();
  Sum all;
  std::vector<Sum> sums(size);
  const auto* node = static_cast<const ItemNode*>(store.tree().root().object());
  while (!node->leaf()) {
    node = index::detail::node_of<const ItemNode>(node->value(false, index::Position{}));
  }
  index::Entries entries;
  for (; node != nullptr; node = index::detail::node_of<const ItemNode>(node->right())) {
    if ((node->version().load() & 1U) != 0) {
      return {};
    }
    node->copy_entries(node->meta(), false, entries);
    for (unsigned i = 0; i < entries.count; ++i) {
      const Item& item = *ItemRecord::item(entries.values[i]);
      ++all.items;
      all.bytes += item.memory_bytes();
      const std::size_t quota = size == 0 ? QuotaPrefixes::kNone : quotas->prefixes().find(item.key());
      if (quota != QuotaPrefixes::kNone) {
        ++sums[quota].items;
        sums[quota].bytes += item.memory_bytes();
      }
    }
  }
  const auto differ = [](const std::string& what, std::uint64_t counted, std::uint64_t there) {
    return counted == there
               ? std::string{}
               : what + " are counted as " + std::to_string(counted) + ", and are " + std::to_string(there);
  };
  if (store.tears_down()) {
    return {};
  }
  std::string wrong =
      differ("items", store.total(counter::items_added) - store.total(counter::items_removed), all.items);
  if (wrong.empty()) {
    wrong =
        differ("bytes", store.total(counter::bytes_added) - store.total(counter::bytes_removed), all.bytes);
  }
  for (std::size_t i = 0; i < size && wrong.empty(); ++i) {
    const std::string prefix{quotas->prefixes().at(i)};
    wrong = differ("items of " + prefix, quotas->total(i, quota_count::items), sums[i].items);
    if (wrong.empty()) {
      wrong = differ("bytes of " + prefix, quotas->total(i, quota_count::bytes), sums[i].bytes);
    }
  }
  return wrong;
}

}  // namespace mxkv::server::testing
