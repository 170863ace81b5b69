// A command with its value as text, for forwarding instead of storing here.
#pragma once

#include <string>

#include "protocol/request_writer.hpp"
#include "server/store/item/item_builder.hpp"

namespace mxkv::server {

/// Appends the line of a storing request; the item's value must follow.
inline void write_storing_line(std::string& out, const protocol::PointRequest& request, const Item& item) {
  protocol::write_point_line(
      out, request, {.flags = item.flags(), .exptime = request.exptime, .bytes = item.value_bytes()});
}

/// Appends a value and its CR LF, and frees the item's memory.
inline void write_value(std::string& out, Item* item, runtime::Worker& worker) {
  if (item->large()) {
    for (const Chunk* const chunk : item->list()->pieces()) {
      out.append(chunk->data(), chunk->bytes);
    }
  } else {
    out += Item::View{*item}.value();
  }
  out += protocol::kCrLf;
  Item::destroy(worker, item);
}

/// Appends a request for one key. `value`: the value of a storing request; the function takes it and frees
/// its memory.
inline void write_request(std::string& out, const protocol::PointRequest& request, ItemBuilder* value,
                          runtime::Worker& worker) {
  if (value == nullptr) {
    protocol::write_point_line(out, request);
    return;
  }
  Item* const item = value->take();
  write_storing_line(out, request, *item);
  write_value(out, item, worker);
}

}  // namespace mxkv::server
