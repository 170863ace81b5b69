#include "server/store/item_tree.hpp"

MXKV_INSTANTIATE_TREE(, mxkv::server::ItemTraits);
