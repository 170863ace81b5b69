// Explicit instantiation of a tree's machinery: splits, unlinks, teardown, slow searches. These are templates that
// every operation refers to and that seldom run. Without this header each translation unit compiles all of them.
//
//   a header   MXKV_INSTANTIATE_TREE(extern, SomeTraits);
//   one .cpp   MXKV_INSTANTIATE_TREE(, SomeTraits);
//
// Both at namespace scope outside of `mxkv::index`. Functions that are always inlined stay so.
#pragma once

#include "index/absorb.hpp"
#include "index/insert_plan.hpp"
#include "index/merge_task.hpp"
#include "index/overflow_plan.hpp"
#include "index/search.hpp"
#include "index/separator_task.hpp"
#include "index/teardown_task.hpp"
#include "index/tree.hpp"
#include "index/unlink_task.hpp"

// The keyword and the type cannot stand in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define MXKV_INSTANTIATE_TREE(keyword, Traits)                                                           \
  keyword template class ::mxkv::index::Node<Traits::Shape>;                                             \
  keyword template class ::mxkv::index::Tree<Traits>;                                                    \
  keyword template struct ::mxkv::index::Search<Traits>;                                                 \
  keyword template class ::mxkv::index::InsertPlan<Traits>;                                              \
  keyword template class ::mxkv::index::OverflowPlan<Traits>;                                            \
  keyword template class ::mxkv::index::MergePlan<Traits>;                                               \
  keyword template struct ::mxkv::index::Absorb<Traits>;                                                 \
  keyword template void ::mxkv::index::detail::tear_down<Traits>(::mxkv::runtime::Worker&, void*);       \
  keyword template void ::mxkv::index::detail::post_separator<Traits>(                                   \
      ::mxkv::index::Tree<Traits>&, std::uint64_t, ::mxkv::index::Node<Traits::Shape>&, unsigned,        \
      const ::mxkv::runtime::MxTask&, ::mxkv::runtime::Worker&);                                         \
  keyword template void ::mxkv::index::detail::start_unlink<Traits>(                                     \
      ::mxkv::index::Tree<Traits>&, ::mxkv::index::Node<Traits::Shape>&, const ::mxkv::runtime::MxTask&, \
      ::mxkv::runtime::Worker&);                                                                         \
  keyword template unsigned ::mxkv::index::spawn_merges<Traits>(                                         \
      ::mxkv::index::Tree<Traits>&, ::mxkv::index::Node<Traits::Shape>&, const ::mxkv::index::Entries&,  \
      const ::mxkv::runtime::MxTask&, ::mxkv::runtime::Worker&);                                         \
  keyword template void ::mxkv::index::spawn_separator<Traits>(                                          \
      ::mxkv::index::Tree<Traits>&, ::mxkv::index::InsertPlan<Traits>&, unsigned,                        \
      const ::mxkv::runtime::MxTask&, ::mxkv::runtime::Worker&)
// NOLINTEND(bugprone-macro-parentheses)
