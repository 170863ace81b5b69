// Items outside of any tree, on a worker that runs nothing.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "server/store/item/item.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::server::test {

class ItemTest : public ::testing::Test {
 protected:
  /// Frees its item at the end.
  class Owned {
   public:
    Owned(runtime::Worker& worker, Item* item) noexcept : worker_(&worker), item_(item) {}
    Owned(Owned&& other) noexcept : worker_(other.worker_), item_(std::exchange(other.item_, nullptr)) {}
    Owned& operator=(Owned&&) = delete;
    ~Owned() {
      if (item_ != nullptr) {
        Item::destroy(*worker_, item_);
      }
    }
    Item* operator->() const noexcept { return item_; }
    Item& operator*() const noexcept { return *item_; }

   private:
    runtime::Worker* worker_;
    Item* item_;
  };

  Owned own(Item* item) { return {worker(), item}; }
  Owned make(const Item::Shape& shape, std::string_view value) {
    Item::Shape full = shape;
    full.value_bytes = value.size();
    Item* const item = Item::create(worker(), full);
    value.copy(item->value_begin(), value.size());
    return own(item);
  }
  runtime::Worker& worker() { return machine_[0]; }

 private:
  runtime::testing::Machine machine_{1};
};

}  // namespace mxkv::server::test
