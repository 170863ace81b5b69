// The tree of items: its types, and where its machinery is compiled. item_tree.cpp instantiates it, once for all.
#pragma once

#include "index/instantiate.hpp"
#include "server/store/item/item.hpp"

namespace mxkv::server {

using ItemTraits = index::ByteTraits<ItemRecord>;
using ItemTree = index::Tree<ItemTraits>;
using ItemNode = ItemTree::NodeT;

}  // namespace mxkv::server

MXKV_INSTANTIATE_TREE(extern, mxkv::server::ItemTraits);
