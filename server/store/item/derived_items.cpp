#include "server/store/item/derived_items.hpp"

#include <charconv>

namespace mxkv::server {

namespace {

Item::Shape shape_like(const Item& old, std::uint64_t value_bytes) noexcept {
  return {.key = old.key(),
          .value_bytes = value_bytes,
          .flags = old.flags(),
          .expiry = old.expiry(),
          .expiry_field = old.has_expiry_field(),
          .marks = old.marks()};
}

/// For items that stay the same version.
void keep_cas(Item::Shape& shape, const Item& old) noexcept {
  shape.cas_field = old.has_cas_field();
  shape.cas = shape.cas_field ? old.cas() : 0;
}

/// Adds the value of `source` to a list; false: out of memory.
bool add_value(runtime::Worker& worker, ChunkList*& list, const Item& source) noexcept {
  return source.large() ? ChunkList::share(worker, list, *source.list())
                        : ChunkList::append(worker, list, source.value());
}

/// Both values in one list; null: out of memory.
ChunkList* join_lists(runtime::Worker& worker, const Item& front, const Item& back) noexcept {
  ChunkList* list = ChunkList::create(worker, 8);
  if (list != nullptr && !(add_value(worker, list, front) && add_value(worker, list, back))) {
    ChunkList::drop(worker, list);
    return nullptr;
  }
  return list;
}

/// An item of the given shape with the value of `old`; null: out of memory.
Item* with_shape(runtime::Worker& worker, const Item::Shape& shape, const Item& old) noexcept {
  Item* made = Item::create(worker, shape);
  if (made == nullptr) {
    return nullptr;
  }
  MXKV_DCHECK(made->large() == old.large(), "a copy keeps its value as the old one does");
  if (old.large()) {
    old.list()->reference();
    made->set_list(old.list());
  } else {
    std::memcpy(made->value_begin(), old.value().data(), old.value().size());
  }
  return made;
}

}  // namespace

Item* join_values(runtime::Worker& worker, const Item& old, const Item& front, const Item& back,
                  const std::uint64_t* cas) noexcept {
  Item::Shape shape = shape_like(old, front.value_bytes() + back.value_bytes());
  shape.marks &= Item::kBinary;  // the value is new: neither stale nor owed
  shape.cas_field = cas != nullptr;
  shape.cas = cas != nullptr ? *cas : 0;
  Item* joined = Item::create(worker, shape);
  if (joined == nullptr) {
    return nullptr;
  }
  if (!joined->large()) {
    const std::string_view first = front.value();
    std::memcpy(joined->value_begin(), first.data(), first.size());
    std::memcpy(joined->value_begin() + first.size(), back.value().data(), back.value().size());
    return joined;
  }
  ChunkList* list = join_lists(worker, front, back);
  if (list == nullptr) {
    Item::destroy(worker, joined);
    return nullptr;
  }
  MXKV_DCHECK(list->bytes() == shape.value_bytes, "a joined value has all of both");
  joined->set_list(list);
  return joined;
}

Item* with_value(runtime::Worker& worker, const Item& old, std::string_view value) noexcept {
  Item* changed = Item::create(worker, shape_like(old, value.size()));
  if (changed != nullptr) {
    MXKV_DCHECK(!changed->large(), "a number lies in its item");
    std::memcpy(changed->value_begin(), value.data(), value.size());
    changed->take_access(old);
  }
  return changed;
}

Item* with_expiry(runtime::Worker& worker, const Item& old, std::uint32_t expiry) noexcept {
  Item::Shape shape = shape_like(old, old.value_bytes());
  shape.expiry = expiry;
  shape.expiry_field = true;
  keep_cas(shape, old);
  return with_shape(worker, shape, old);
}

Item* with_marks(runtime::Worker& worker, const Item& old, std::uint32_t expiry, std::uint32_t marks,
                 const std::uint64_t* cas) noexcept {
  Item::Shape shape = shape_like(old, old.value_bytes());
  shape.expiry = expiry;
  shape.expiry_field = expiry != 0;
  shape.marks = marks;
  shape.cas_field = cas != nullptr;
  shape.cas = cas != nullptr ? *cas : 0;
  Item* made = with_shape(worker, shape, old);
  if (made != nullptr) {
    made->take_access(old);
  }
  return made;
}

Item* copy_of(runtime::Worker& worker, const Item& old) noexcept {
  Item::Shape shape = shape_like(old, old.value_bytes());
  keep_cas(shape, old);
  return with_shape(worker, shape, old);
}

bool read_number(const Item& item, std::uint64_t& number) noexcept {
  if (item.large()) {
    return false;
  }
  std::string_view text = item.value();
  while (!text.empty() && text.back() == ' ') {
    text.remove_suffix(1);
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

}  // namespace mxkv::server
