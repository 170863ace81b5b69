#include "server/store/core/item_tree.hpp"

MXKV_INSTANTIATE_TREE(, mxkv::server::ItemTraits);
