// The peers that this machine has, as containers of a kind of records.
#pragma once

#if MXKV_HAVE_ABSL
#include <absl/container/btree_map.h>
#endif
#if MXKV_HAVE_TBB
#include <tbb/concurrent_map.h>
#endif

#include "bench/index/peers.hpp"
#include "bench/index/session.hpp"

namespace mxkv::bench {

template <class Kind>
void add_peers([[maybe_unused]] Containers& containers) {
  using Key = typename Kind::Key;
  using Value = typename Kind::Value;
  using Less = typename Kind::Less;
  using Allocator [[maybe_unused]] = CountingAllocator<std::pair<const Key, Value>>;
#if MXKV_HAVE_ABSL
  using Btree = absl::btree_map<Key, Value, Less, Allocator>;
  containers.push_back(std::make_unique<Peer<Btree, Kind, false>>("absl::btree_map"));
#endif
#if MXKV_HAVE_TBB
  using SkipList = tbb::concurrent_map<Key, Value, Less, Allocator>;
  containers.push_back(std::make_unique<Peer<SkipList, Kind, true>>("tbb::concurrent_map"));
#endif
}

}  // namespace mxkv::bench
