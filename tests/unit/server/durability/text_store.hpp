// A whole store that gets requests as text, as over a connection, on workers that the test steps. It also
// shows all that is known of its items.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/net/session/session.hpp"
#include "server/reply/worker_replies.hpp"
#include "server/store/store.hpp"
#include "tests/unit/index/tree_drain.hpp"
#include "tests/unit/scheduler/machine.hpp"
#include "tests/unit/server/reply/fixture.hpp"

namespace mxkv::server::testing {

/// An item with all fields that clients, or the server itself, can see.
struct ItemSeen {
  std::string value;
  std::uint64_t order = 0;
  std::uint64_t cas = 0;
  std::uint32_t flags = 0;
  std::uint32_t expiry = 0;
  std::uint32_t marks = 0;
  std::uint16_t access = 0;
  friend bool operator==(const ItemSeen&, const ItemSeen&) = default;
  friend std::ostream& operator<<(std::ostream& out, const ItemSeen& item) {
    return out << "{" << item.value.substr(0, 20) << " of " << item.value.size() << ", order " << item.order
               << ", cas " << item.cas << ", flags " << item.flags << ", expiry " << item.expiry << ", marks "
               << item.marks << ", access " << item.access << "}";
  }
};
using ItemsSeen = std::map<std::string, ItemSeen>;

class TextStore final : public ConnectionOwner, private AdminSource {
 public:
  explicit TextStore(std::size_t workers = 2, std::size_t memory_bytes = std::size_t{256} << 20U,
                     bool leaves_adapt = false, std::vector<QuotaOptions> quotas = {})
      : machine(options(workers, memory_bytes)),
        store(machine.runtime, store_options(leaves_adapt, std::move(quotas))) {
    for (std::size_t i = 0; i < workers; ++i) {
      replies_.push_back(std::make_unique<WorkerReplies>(machine[i], machine.runtime.budget()));
      store.context(machine[i].id()).replies = &replies_.back()->directory;
    }
    input_ = std::make_unique<BlockPool>(machine.runtime.budget(), machine[0].account(),
                                         runtime::memory_category::buffers);
  }
  TextStore(const TextStore&) = delete;
  TextStore& operator=(const TextStore&) = delete;
  ~TextStore() {
    leave();
    store.discard_waiting(machine.runtime);
    index::testing::drain(store.tree(), machine.runtime);
    EXPECT_EQ(index::testing::live_bytes(machine.runtime).items, 0U) << "items leaked";
  }

  void resume() override { session_->resume(); }
  /// The connection closes, and the operations that it began end.
  void leave() {
    session_.reset();
    host_.reset();
    run_until_idle();
  }

  /// Sends the text whole, and returns the replies. `between` is called after each step of a worker.
  std::string ask(const std::string& text, const std::function<void()>& between = [] {}) {
    begin_session();
    std::string left = text;
    std::string answered;
    for (int quiet = 0; quiet < 3;) {
      ++host_->turn;
      bool busy = feed(left);
      for (std::size_t i = 0; i < machine.runtime.worker_count(); ++i) {
        busy = step(i) || busy;
        between();
      }
      if (session_->unsent_bytes() > 0) {
        answered += test::drain(session_->output(), 1 << 20);
        busy = true;
      }
      quiet = busy ? 0 : quiet + 1;
    }
    EXPECT_TRUE(left.empty()) << "the session takes all";
    return answered;
  }

  /// A round of a worker.
  bool step(std::size_t worker) {
    begins_round(worker);
    const bool busy = machine[worker].step();
    ends_round(worker);
    return busy;
  }
  void run_until_idle() {
    for (bool busy = true; busy;) {
      busy = false;
      for (std::size_t i = 0; i < machine.runtime.worker_count(); ++i) {
        busy = step(i) || busy;
      }
    }
  }
  std::function<void(std::size_t)> begins_round = [](std::size_t) {};
  std::function<void(std::size_t)> ends_round = [](std::size_t) {};

  /// All items that live now, by a walk over the leaves.
  [[nodiscard]] ItemsSeen items() {
    using NodeT = ItemNode;
    const auto* node = static_cast<const NodeT*>(store.tree().root().object());
    while (!node->leaf()) {
      node = index::detail::node_of<const NodeT>(node->value(false, index::Position{}));
    }
    ItemsSeen seen;
    index::Entries entries;
    const std::uint64_t now_us = machine.clock.steady_us();
    for (; node != nullptr; node = index::detail::node_of<const NodeT>(node->right())) {
      node->copy_entries(node->meta(), false, entries);
      for (unsigned i = 0; i < entries.count; ++i) {
        const Item::View item{*ItemRecord::item(entries.values[i])};
        if (!is_expired(item.expiry(), now_us) && item.item().order() > store.flush_points().at(now_us)) {
          seen.emplace(item.key(), look_at(item));
        }
      }
    }
    return seen;
  }

  runtime::testing::Machine machine;
  Store store;

 private:
  static runtime::RuntimeOptions options(std::size_t workers, std::size_t memory_bytes) {
    runtime::RuntimeOptions options = runtime::testing::unpinned(workers);
    options.memory.limit_bytes = memory_bytes;
    return options;
  }
  static StoreOptions store_options(bool leaves_adapt, std::vector<QuotaOptions> quotas) {
    StoreOptions options;
    options.quotas = std::move(quotas);
    options.tree.leaves_adapt = leaves_adapt;
    options.tree.limits = {.leaf = 6, .inner = 4};  // few items make many leaves
    return options;
  }

  static ItemSeen look_at(const Item::View& item) {
    ItemSeen seen{.value = {},
                  .order = item.item().order(),
                  .cas = item.item().cas(),
                  .flags = item.flags(),
                  .expiry = item.expiry(),
                  .marks = item.item().marks(),
                  .access = item.item().access_code()};
    if (!item.large()) {
      seen.value = item.value();
    } else {
      for (const Chunk* chunk : item.item().list()->pieces()) {
        seen.value.append(chunk->data(), chunk->bytes);
      }
    }
    return seen;
  }

  void begin_session() {
    if (session_ == nullptr) {
      run_until_idle();
      host_ = std::make_unique<SessionHost>(machine[0], store, replies_[0]->directory, *input_, limits_,
                                            "VERSION 1\r\n", static_cast<AdminSource*>(this));
      session_ = std::make_unique<Session>(*host_, *this);
    }
  }

  bool feed(std::string& left) {
    bool any = false;
    using enum pause;
    if (session_->pauses().has(Pauses{turn} | memory | order | output | in_flight)) {
      session_->resume();
      any = true;
    }
    while (!left.empty() && session_->wants_input()) {
      constexpr std::size_t kHeadroom = 64;
      const std::span<char> direct = session_->value_space();
      const std::size_t bytes = direct.empty() ? left.size() : std::min(direct.size(), left.size());
      if (!direct.empty()) {
        std::copy_n(left.begin(), bytes, direct.begin());
        session_->received_value(bytes);
      } else {
        std::vector<char> buffer(kHeadroom + bytes);
        std::copy_n(left.begin(), bytes, buffer.begin() + kHeadroom);
        session_->receive(buffer.data() + kHeadroom, bytes, kHeadroom);
      }
      left.erase(0, bytes);
      any = true;
    }
    return any;
  }
  std::string run(const protocol::Request& /*request*/, AdminCursor& /*cursor*/) override { return "OK\r\n"; }

  config::LimitOptions limits_;
  std::vector<std::unique_ptr<WorkerReplies>> replies_;
  std::unique_ptr<BlockPool> input_;
  std::unique_ptr<SessionHost> host_;
  std::unique_ptr<Session> session_;
};

}  // namespace mxkv::server::testing
