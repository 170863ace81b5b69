// get, gets, mg with v alone, and the gets of the binary protocol: looks one key up and writes its value to the
// client.
#pragma once

#include <span>

#include "protocol/get_lines.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/core/visibility.hpp"
#include "server/store/item/value_reply.hpp"
#include "server/store/point/binary_reply.hpp"
#include "server/store/point/meta_get_task.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

class GetTask final : public index::LookupTask<GetTask, ItemTraits> {
  using Base = index::LookupTask<GetTask, ItemTraits>;

 public:
  static constexpr const char* kName = "get";

  static constexpr std::uint8_t kWithCas = 4;
  static constexpr std::uint8_t kBinary = 8;

  /// `form`: protocol::asked and kWithCas; or kBinary, and then answer_as() follows.
  GetTask(const runtime::TaskClass* task_class, ItemTree& tree, std::string_view key, std::uint8_t form,
          const ReplyAddress& address) noexcept
      : Base(task_class, tree),
        address_(address),
        form_(form),
        key_bytes_(static_cast<std::uint8_t>(key.size())) {
    TrailingKey::store(this, key);
  }

  /// Starts a task for each key; `first` as in SessionStore::get().
  static void start(runtime::Worker& worker, ItemTree& tree, std::span<const protocol::AskedKey> keys,
                    bool with_cas, ReplyAddress first);
  using Base::start;

  /// Sets the form of a binary reply. Needs sizeof(BinaryForm) bytes behind the key.
  void answer_as(protocol::BinaryForm form) noexcept { std::memcpy(binary_form_place(), &form, sizeof form); }

  [[nodiscard]] std::string_view key() const noexcept { return TrailingKey::load(this, key_bytes_); }

  runtime::step on_found(std::uint64_t value, runtime::Worker& worker) {
    Item& item = *ItemRecord::item(value);
    return form_ <= kLast && Item::View{item}.plain() &&
                   show_usual<true, false>(Item::PlainView{item}, worker)
               ? runtime::step::done
               : show_rarer(value, worker);
  }

  runtime::step on_missing(runtime::Worker& worker) {
    return missed(saw(nullptr, *this, worker.local<WorkerContext>()), worker);
  }

 private:
  static constexpr auto kLast = static_cast<std::uint8_t>(protocol::asked::last);
  static constexpr auto kMeta = static_cast<std::uint8_t>(protocol::asked::meta);
  static_assert(static_cast<int>(protocol::asked::before_others) == 0 && kLast == 1 && kMeta == 2);

  [[nodiscard]] ReplyForm form() const noexcept {
    return {.with_cas = (form_ & kWithCas) != 0,
            .end_line = (form_ & (kLast | kMeta)) != 0,
            .meta = (form_ & kMeta) != 0};
  }

  [[nodiscard]] bool is_binary() const noexcept { return (form_ & kBinary) != 0; }
  [[nodiscard]] char* binary_form_place() noexcept { return reinterpret_cast<char*>(this + 1) + key_bytes_; }
  [[nodiscard]] protocol::BinaryForm binary_form() noexcept {
    protocol::BinaryForm form;
    std::memcpy(&form, binary_form_place(), sizeof form);
    return form;
  }

  /// Call this once a request, where it ends.
  void count_meta(WorkerContext& context) const noexcept {
    if (form_ == kMeta) {
      context.counters.count(counter::cmd_meta);
    }
  }

  /// Answers the usual read in one straight line, since nearly all reads are usual; without a call where the
  /// reply is the next to leave. False: the read is unusual, and nothing was done.
  template <bool kNext, bool kOfMeta>
  [[nodiscard, gnu::always_inline]] bool show_usual(const Item::PlainView& item, runtime::Worker& worker) {
    auto& context = worker.local<WorkerContext>();
    const std::size_t bytes = item.value().size();
    if (bytes > kMostMiddling || !Liveness{worker}(item) || context.watch->wants(watched::kFetchers) ||
        (kOfMeta && item.to_be_renewed())) [[unlikely]] {
      return false;
    }
    ConnectionTable& replies = *context.replies;
    const Seen seen = saw(item, *this, context);
    char* out = kNext ? replies.reserve_next(address_, seen, kAroundValue + bytes)
                      : replies.reserve_early(address_, seen, kAroundValue + bytes);
    if (out == nullptr) [[unlikely]] {
      return false;
    }
    context.counters.count(counter::get_hits);
    item.note_access(worker.now_us());
    if constexpr (kOfMeta) {
      MXKV_PATH(meta_get_usual);
      context.counters.count(counter::cmd_meta);
      out = write_plain_meta_value(out, item);
    } else {
      MXKV_PATH(get_usual);
      out = write_plain_value(out, item, form_ == kLast);
    }
    if constexpr (kNext) {
      replies.answer_next(address_, out);
    } else {
      MXKV_PATH(get_early);
      replies.answer_early(address_, out);
    }
    return true;
  }

  [[gnu::noinline]] runtime::step show_rarer(std::uint64_t value, runtime::Worker& worker) {
    Item& item = *ItemRecord::item(value);
    const bool plain = Item::View{item}.plain();
    if (plain && form_ == kMeta && show_usual<true, true>(Item::PlainView{item}, worker)) {
      return runtime::step::done;
    }
    return plain && form_ < kWithCas && show_early(item, worker) ? runtime::step::done : show(value, worker);
  }

  [[nodiscard, gnu::noinline]] bool show_early(Item& item, runtime::Worker& worker) {
    const Item::PlainView view{item};
    return form_ == kMeta ? show_usual<false, true>(view, worker) : show_usual<false, false>(view, worker);
  }

  [[gnu::noinline]] runtime::step show(std::uint64_t value, runtime::Worker& worker) {
    auto& context = worker.local<WorkerContext>();
    Item& found = *ItemRecord::item(value);
    const Item::View item{found};
    if (const Liveness live{worker}; !live(item)) {
      context.counters.count(live.is_flushed(item) ? counter::get_flushed : counter::get_expired);
      const Seen seen = saw(&found, *this, context);
      start_expiry(worker, value);
      return missed(seen, worker);
    }
    if (form().meta && found.to_be_renewed()) {
      return hand_on(worker);
    }
    if (context.replies->waits_for_room(address_)) {
      worker.repin(*this);
      static_cast<void>(restart(false));
      return runtime::step::later;
    }
    context.counters.count(counter::get_hits);
    count_meta(context);
    found.note_access(worker.now_us());
    if (context.watch->wants(watched::kFetchers)) {
      context.watch->fetched(worker, item.key(), true, item.value_bytes(), descriptor_of(address_));
    }
    if (ReplyQueue* const queue = context.replies->find(address_, saw(&found, *this, context))) {
      if (is_binary()) {
        write_binary_value(*queue, address_.ticket, binary_form(), found, worker);
      } else if (form().meta) {
        MXKV_PATH(meta_get_rarer);
        write_meta_value(*queue, address_.ticket, found, worker);
      } else {
        write_value(*queue, address_.ticket, item.key(), item, form(), worker);
      }
      queue->close(address_.ticket);
    }
    return ended(worker);
  }

  /// Hands the request to a MetaGetTask, which can let its client renew the item.
  runtime::step hand_on(runtime::Worker& worker) {
    MXKV_PATH(meta_get_handed_on);
    count_meta(worker.local<WorkerContext>());
    worker
        .create_sized<MetaGetTask>(sizeof(MetaGetTask) + key_bytes_, tree(), protocol::usual_meta_get(key()),
                                   address_)
        ->start(worker);
    return runtime::step::done;
  }

  runtime::step missed(Seen seen, runtime::Worker& worker) {
    auto& context = worker.local<WorkerContext>();
    context.counters.count(counter::get_misses);
    count_meta(context);
    if (context.watch->wants(watched::kFetchers)) [[unlikely]] {
      context.watch->fetched(worker, key(), false, 0, descriptor_of(address_));
    }
    if (ReplyQueue* queue = context.replies->find(address_, seen)) {
      if (is_binary()) {
        write_binary_miss(*queue, address_.ticket, binary_form(), key());
      } else {
        write_miss(*queue, address_.ticket, form());
      }
      queue->close(address_.ticket);
    }
    return ended(worker);
  }

  runtime::step ended(runtime::Worker& worker) {
    worker.local<WorkerContext>().replies->finished(address_);
    return runtime::step::done;
  }

  ReplyAddress address_;
  std::uint8_t form_;  ///< protocol::asked, and kWithCas
  std::uint8_t key_bytes_;
};

}  // namespace mxkv::server

MXKV_TASK_CLASS(extern, mxkv::server::GetTask);
