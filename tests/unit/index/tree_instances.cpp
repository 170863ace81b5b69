#include "tests/unit/index/tree_instances.hpp"

MXKV_TREE_UNDER_TEST(, Integers);
MXKV_TREE_UNDER_TEST(, SmallIntegers);
MXKV_TREE_UNDER_TEST(, TinyIntegers);
MXKV_TREE_UNDER_TEST(, Bytes);
MXKV_TREE_UNDER_TEST(, SmallBytes);
MXKV_TREE_UNDER_TEST(, TinyBytes);
MXKV_TREE_UNDER_TEST(, FlatBytes);
