// The common properties of usual items with equal lengths (plain_run.hpp). A page keeps the form of its last
// usual item, because the next items are usually as long.
#pragma once

#include <cstdint>

#include "server/store/item/item.hpp"

namespace mxkv::server {

struct PlainForm {
  char tail[8] = {};              ///< of the VALUE line, behind the key
  std::uint32_t of = 0;           ///< Item::View::form(); no usual item has 0
  std::uint16_t value_bytes = 0;  ///< below 1000
  std::uint8_t key_bytes = 0;
  std::uint8_t before_value = 0;  ///< bytes of the VALUE line behind its verb

  /// False: `item` is not usual, and the form is as before.
  [[nodiscard]] bool take(Item::View item) noexcept;
};

}  // namespace mxkv::server
