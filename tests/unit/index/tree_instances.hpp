// The trees of the usual environments, compiled in tree_instances.cpp once for all tests of the index.
#pragma once

#include "index/instantiate.hpp"
#include "tests/unit/index/tree_tasks.hpp"

namespace mxkv::index::testing {

using Integers = IntegerEnv<>;
using SmallIntegers = IntegerEnv<NodeShape<3, 3, 3, false>>;
using TinyIntegers = IntegerEnv<NodeShape<2, 2, 2, false>>;
using Bytes = ByteEnv<>;
using SmallBytes = ByteEnv<NodeShape<3, 3, 3, true>>;
using TinyBytes = ByteEnv<NodeShape<2, 2, 2, true>>;
using FlatBytes = ByteEnv<NodeShape<3, 2, 3, true>>;

}  // namespace mxkv::index::testing

#define MXKV_TREE_UNDER_TEST(keyword, Env)                                               \
  MXKV_INSTANTIATE_TREE(keyword, mxkv::index::testing::Env::Traits);                     \
  MXKV_TASK_CLASS(keyword, mxkv::index::testing::FindTask<mxkv::index::testing::Env>);   \
  MXKV_TASK_CLASS(keyword, mxkv::index::testing::ChangeTask<mxkv::index::testing::Env>); \
  MXKV_TASK_CLASS(keyword, mxkv::index::testing::EmptyTask<mxkv::index::testing::Env>);  \
  MXKV_TASK_CLASS(keyword, mxkv::index::testing::RangeTask<mxkv::index::testing::Env>)

MXKV_TREE_UNDER_TEST(extern, Integers);
MXKV_TREE_UNDER_TEST(extern, SmallIntegers);
MXKV_TREE_UNDER_TEST(extern, TinyIntegers);
MXKV_TREE_UNDER_TEST(extern, Bytes);
MXKV_TREE_UNDER_TEST(extern, SmallBytes);
MXKV_TREE_UNDER_TEST(extern, TinyBytes);
MXKV_TREE_UNDER_TEST(extern, FlatBytes);
