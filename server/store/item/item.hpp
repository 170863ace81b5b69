// An item: key, value and the fields that memcached keeps with them, in one block of the item heap.
//
//   0               8                              12        16         20         28
//   +---------------+------------------------------+---------+----------+----------+-----+-------------------+
//   | access, order | lengths and state            | [flags] | [expiry] | [cas] | key | value, or pointer |
//   | u11, u53      | key u8, value u14, state u10 | u32     | atomic   | u64      |     | to ChunkList      |
//   +---------------+------------------------------+---------+----------+----------+-----+-------------------+
//
// Flags, expiry and a cas chosen by the client exist only if the state says so: most items have none. The
// pointer is 8-byte aligned. Key, value and order never change once the item is in the tree: an update swaps
// the leaf's pointer. Under the leaf's latch a touch may change the expiry, and a write may set the mark that
// a client won the item. Readers note their access at any time (server/commit/access_code.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "protocol/reply.hpp"
#include "runtime/scheduler/worker.hpp"
#include "server/commit/access_code.hpp"
#include "server/store/item/chunk_list.hpp"

namespace mxkv::server {

/// Longest value that sits in the item itself.
inline constexpr std::size_t kInlineValueBytes = 8192;
/// A value up to this is copied without a call.
inline constexpr std::size_t kMostMiddling = 512;

class Item {
 public:
  static constexpr std::size_t kMostBeforeKey = 20;  ///< without a cas chosen by a client

  /// Marks that meta commands keep with an item.
  static constexpr std::uint32_t kAllMarks = 7;
  enum mark : std::uint32_t {
    kStale = 1,   ///< X: invalidated, waiting for a new value
    kWon = 2,     ///< Z: a client won the right to make the new value
    kBinary = 4,  ///< the key was sent in base64
  };

  /// The shape of an item to be made.
  struct Shape {
    std::string_view key;
    std::uint64_t value_bytes = 0;
    std::uint32_t flags = 0;
    std::uint32_t expiry = 0;   ///< steady seconds; 0: never
    bool expiry_field = false;  ///< make room for an expiry even if it is 0
    std::uint32_t marks = 0;
    bool cas_field = false;  ///< the client chooses the cas
    std::uint64_t cas = 0;
    [[nodiscard]] bool large() const noexcept { return value_bytes > kInlineValueBytes; }
  };

  /// Makes an item without its value, which the caller fills in; null: out of memory. A large one has no list
  /// yet.
  [[nodiscard]] static Item* create(runtime::Worker& worker, const Shape& shape) noexcept;
  /// Makes an item of a key and an inline value alone; null: out of memory.
  [[nodiscard]] static Item* create_whole(runtime::Worker& worker, std::string_view key,
                                          std::string_view value) noexcept;
  /// Frees an item that is in no tree, with its reference on a large value. Any worker.
  static void destroy(runtime::Worker& worker, Item* item) noexcept;

  /// Orders the versions of a key; microseconds of the time of its commit, or a little later.
  [[nodiscard]] std::uint64_t order() const noexcept {
    return (std::uint64_t{high_.load(std::memory_order_relaxed) & kHighOrder} << 32U) | low_order_;
  }
  /// Below 2^53. Before the item is in the tree.
  void set_order(std::uint64_t order) noexcept {
    MXKV_DCHECK(order >> 32U <= kHighOrder, "an order has 53 bits");
    low_order_ = static_cast<std::uint32_t>(order);
    high_.store(
        (high_.load(std::memory_order_relaxed) & ~kHighOrder) | static_cast<std::uint32_t>(order >> 32U),
        std::memory_order_relaxed);
  }
  /// Takes the version and the last access of `other`, which has the same value. Before this item is in the
  /// tree.
  void take_version(const Item& other) noexcept {
    low_order_ = other.low_order_;
    high_.store(other.high_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  /// Takes the reads of `other`; if its value was ever read, this item counts as read just now. Before this
  /// item is in the tree.
  void take_access(const Item& other) noexcept {
    const std::uint32_t age = other.accessed() ? 1U : 0U;
    set_access_code(static_cast<std::uint16_t>(other.reads() << access_code::kAgeBits | age));
  }
  /// The reads of this item's key so far, when the item gets its order. Before this item is in the tree.
  void keep_reads(const Item& other) noexcept {
    const std::uint32_t reads = other.high_.load(std::memory_order_relaxed) & kReads;
    high_.store((high_.load(std::memory_order_relaxed) & ~kReads) | reads, std::memory_order_relaxed);
  }
  /// The key counts as read so often. Any time: a read that is noted meanwhile may be lost.
  void set_reads(std::uint32_t reads) noexcept {
    MXKV_DCHECK(reads <= access_code::kMostReads, "reads have two bits");
    high_.store((high_.load(std::memory_order_relaxed) & ~kReads) | reads * kOneRead,
                std::memory_order_relaxed);
  }
  /// The number that clients compare: the order, unless a client chose another.
  [[nodiscard]] std::uint64_t cas() const noexcept {
    if (!has_cas_field()) [[likely]] {
      return order();
    }
    std::uint64_t cas = 0;
    std::memcpy(&cas, bytes() + cas_offset(word()), sizeof cas);
    return cas;
  }
  [[nodiscard]] bool has_cas_field() const noexcept { return has(word(), kHasCas); }

  /// Notes that a client read the item. Any reader, at any time; stores only if the code changes.
  void note_access(std::uint64_t now_us) noexcept {
    note_access(now_us, high_.load(std::memory_order_relaxed), order());
  }
  /// Whether any client has read its value.
  [[nodiscard]] bool accessed() const noexcept { return access_code::accessed(access_code()); }
  /// How often clients read the key, up to three times; values before this one count.
  [[nodiscard]] std::uint32_t reads() const noexcept { return access_code::reads(access_code()); }
  /// When it was read last, or else made (steady microseconds). Late by up to 6 % of the item's age then, so it may
  /// be ahead of the clock.
  [[nodiscard]] std::uint64_t last_access_us() const noexcept {
    return last_access_us_of(order(), access_code());
  }
  /// The time since then.
  [[nodiscard]] std::uint64_t idle_us(std::uint64_t now_us) const noexcept {
    const std::uint64_t then_us = last_access_us();
    return now_us > then_us ? now_us - then_us : 0;
  }
  [[nodiscard]] std::uint16_t access_code() const noexcept {
    return static_cast<std::uint16_t>(high_.load(std::memory_order_relaxed) >> kAccessShift);
  }
  /// Sets the code of a stored item. Before the item is in the tree.
  void set_access_code(std::uint16_t code) noexcept {
    MXKV_DCHECK(code >> (32 - kAccessShift) == 0, "the code of an access has 11 bits");
    high_.store((high_.load(std::memory_order_relaxed) & kHighOrder) | std::uint32_t{code} << kAccessShift,
                std::memory_order_relaxed);
  }
  /// The last access of an item with this order and code.
  [[nodiscard]] static std::uint64_t last_access_us_of(std::uint64_t order, std::uint16_t code) noexcept {
    return order + access_code::age_us(code);
  }

  [[nodiscard]] std::uint32_t marks() const noexcept { return word() >> kMarkShift & kAllMarks; }
  [[nodiscard]] bool marked(mark which) const noexcept { return (marks() & which) != 0; }
  /// It is stale, or a client has won it: the reply of mg then has more flags than the client asked for.
  [[nodiscard]] bool to_be_renewed() const noexcept { return has(word(), kToBeRenewed); }
  /// Under the leaf's latch, or before the item is in the tree.
  void set_mark(mark which) noexcept {
    word_.store(word() | Word{which} << kMarkShift, std::memory_order_relaxed);
  }

  class PlainView;
  /// Reads the item's lengths and state once, for callers that need several parts. Refers to the item.
  class View {
   public:
    explicit View(const Item& item) noexcept : item_(&item), word_(item.word()) {}
    [[nodiscard]] const Item& item() const noexcept { return *item_; }
    [[nodiscard]] std::uint64_t order() const noexcept { return item_->order(); }
    [[nodiscard]] std::string_view key() const noexcept {
      return {item_->bytes() + key_offset(word_), key_bytes(word_)};
    }
    [[nodiscard]] std::uint32_t flags() const noexcept {
      return has(word_, kHasFlags) ? item_->load32(kOptionalOffset) : 0;
    }
    /// Steady seconds; 0: never. A touch may change it at any time. The acquire then also shows all stores
    /// before the touch's store_expiry(), above all the floor of the leaf.
    [[nodiscard]] std::uint32_t expiry() const noexcept {
      return has(word_, kHasExpiry) ? item_->expiry_word(word_).load(std::memory_order_acquire) : 0;
    }
    [[nodiscard]] bool large() const noexcept { return has(word_, kLarge); }
    /// The value of an item that is not large.
    [[nodiscard]] std::string_view value() const noexcept {
      return {item_->bytes() + value_offset(word_), inline_bytes(word_)};
    }
    [[nodiscard]] std::uint64_t value_bytes() const noexcept {
      return large() ? item_->list()->bytes() : inline_bytes(word_);
    }
    [[nodiscard]] std::uint32_t marks() const noexcept { return word_ >> kMarkShift & kAllMarks; }
    /// Equal for items of equal lengths and state; 0 only without a key.
    [[nodiscard]] std::uint32_t form() const noexcept { return word_; }
    [[nodiscard]] std::size_t key_length() const noexcept { return key_bytes(word_); }
    /// Of the value of an item that is not large.
    [[nodiscard]] std::size_t inline_length() const noexcept { return inline_bytes(word_); }
    /// It has nothing but a key and, directly behind it, a value: no field, no list.
    [[nodiscard]] bool plain() const noexcept {
      return !has(word_, kHasFlags | kHasExpiry | kLarge | kHasCas);
    }
    [[nodiscard]] std::string_view plain_key() const noexcept { return {plain_begin(), key_bytes(word_)}; }
    /// Where the key of a plain item begins.
    [[nodiscard]] const char* plain_begin() const noexcept { return item_->bytes() + kOptionalOffset; }

   private:
    friend class PlainView;
    const Item* item_;
    std::uint32_t word_;
  };
  /// The same for an item that is plain(), without looking for fields. Loads the version once, too.
  class PlainView {
   public:
    explicit PlainView(Item& item) noexcept : PlainView(item, View{item}) {}
    /// `view` is of this item.
    PlainView(Item& item, const View& view) noexcept
        : item_(&item),
          word_(view.word_),
          high_(item.high_.load(std::memory_order_relaxed)),
          order_((std::uint64_t{high_ & kHighOrder} << 32U) | item.low_order_) {
      MXKV_DCHECK(view.plain(), "a plain view is of a plain item");
    }
    [[nodiscard]] std::uint64_t order() const noexcept { return order_; }
    void note_access(std::uint64_t now_us) const noexcept { item_->note_access(now_us, high_, order_); }
    [[nodiscard]] std::string_view key() const noexcept {
      return {item_->bytes() + kOptionalOffset, key_bytes(word_)};
    }
    [[nodiscard]] static constexpr std::uint32_t expiry() noexcept { return 0; }
    [[nodiscard]] static constexpr bool has_expiry_field() noexcept { return false; }
    [[nodiscard]] bool to_be_renewed() const noexcept { return has(word_, kToBeRenewed); }
    [[nodiscard]] std::string_view value() const noexcept {
      return {item_->bytes() + kOptionalOffset + key_bytes(word_), inline_bytes(word_)};
    }

   private:
    Item* item_;
    std::uint32_t word_;
    std::uint32_t high_;
    std::uint64_t order_;
  };

  [[nodiscard]] std::string_view key() const noexcept { return View{*this}.key(); }
  [[nodiscard]] std::uint32_t flags() const noexcept { return View{*this}.flags(); }
  [[nodiscard]] bool has_expiry_field() const noexcept { return has(word(), kHasExpiry); }
  [[nodiscard]] std::uint32_t expiry() const noexcept { return View{*this}.expiry(); }
  /// Under the leaf's latch; the item must have the field.
  void store_expiry(std::uint32_t seconds) noexcept {
    MXKV_DCHECK(has_expiry_field(), "an exptime has room in its item");
    expiry_word(word()).store(seconds, std::memory_order_release);
  }

  [[nodiscard]] bool large() const noexcept { return has(word(), kLarge); }
  [[nodiscard]] std::uint64_t value_bytes() const noexcept { return View{*this}.value_bytes(); }
  [[nodiscard]] std::string_view value() const noexcept { return View{*this}.value(); }
  [[nodiscard]] char* value_begin() noexcept { return reinterpret_cast<char*>(this) + value_offset(word()); }
  /// The value of a large item; null while it is being built.
  [[nodiscard]] ChunkList* list() const noexcept {
    MXKV_DCHECK(large(), "only a large value has a list");
    ChunkList* list = nullptr;
    std::memcpy(&list, bytes() + value_offset(word()), sizeof list);
    return list;
  }
  void set_list(ChunkList* list) noexcept {
    MXKV_DCHECK(large(), "only a large value has a list");
    std::memcpy(value_begin(), &list, sizeof list);
  }

  /// Bytes of the item's own block.
  [[nodiscard]] std::size_t block_bytes() const noexcept {
    const Word word = this->word();
    if (!has(word, kHasFlags | kHasExpiry | kLarge | kHasCas)) [[likely]] {
      return kOptionalOffset + key_bytes(word) + inline_bytes(word);
    }
    return value_offset(word) + (has(word, kLarge) ? sizeof(ChunkList*) : inline_bytes(word));
  }
  /// The same, for a plain item.
  [[nodiscard]] std::size_t plain_bytes() const noexcept {
    return kOptionalOffset + key_bytes(word()) + inline_bytes(word());
  }
  /// Bytes of memory that are freed with the item.
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    if (View{*this}.plain()) [[likely]] {
      return plain_bytes();
    }
    return rarer_memory_bytes();
  }

 private:
  /// For an item with optional parts, or a large one.
  [[nodiscard]] std::size_t rarer_memory_bytes() const noexcept;

  /// Lengths and state, as loaded.
  using Word = std::uint32_t;
  static constexpr unsigned kValueShift = 8;
  static constexpr unsigned kStateShift = 22;
  static constexpr Word kHasFlags = Word{1} << kStateShift;
  static constexpr Word kHasExpiry = Word{2} << kStateShift;
  static constexpr Word kLarge = Word{4} << kStateShift;
  static constexpr Word kHasCas = Word{8} << kStateShift;
  static constexpr unsigned kMarkShift = kStateShift + 4;
  static constexpr Word kToBeRenewed = Word{kStale | kWon} << kMarkShift;
  static constexpr std::size_t kOptionalOffset = 12;
  static constexpr unsigned kAccessShift = 21;  ///< in high_, above the order's upper bits
  static constexpr std::uint32_t kHighOrder = (std::uint32_t{1} << kAccessShift) - 1;
  static constexpr std::uint32_t kOneRead = std::uint32_t{1} << (kAccessShift + access_code::kAgeBits);
  static constexpr std::uint32_t kReads = access_code::kMostReads * kOneRead;
  static_assert(std::uint64_t{kReads} + kOneRead == std::uint64_t{1} << 32U, "a fourth read wraps around");
  static_assert(kInlineValueBytes < 1U << (kStateShift - kValueShift));

  Item(const Shape& shape, Word state) noexcept;
  explicit Item(Word word) noexcept : word_(word) {}

  [[nodiscard]] const char* bytes() const noexcept { return reinterpret_cast<const char*>(this); }
  [[nodiscard]] Word word() const noexcept { return word_.load(std::memory_order_relaxed); }
  [[nodiscard]] static bool has(Word word, Word bit) noexcept { return (word & bit) != 0; }
  [[nodiscard]] static std::size_t key_bytes(Word word) noexcept { return word & 0xFFU; }
  [[nodiscard]] static std::size_t inline_bytes(Word word) noexcept {
    return (word >> kValueShift) & ((1U << (kStateShift - kValueShift)) - 1);
  }
  // Moves a field's bit to the place where it counts the field's bytes.
  [[nodiscard]] static std::size_t expiry_offset(Word word) noexcept {
    return kOptionalOffset + ((word >> (kStateShift - 2)) & 4U);
  }
  [[nodiscard]] static std::size_t cas_offset(Word word) noexcept {
    return expiry_offset(word) + ((word >> (kStateShift - 1)) & 4U);
  }
  [[nodiscard]] static std::size_t key_offset(Word word) noexcept {
    return cas_offset(word) + ((word >> kStateShift) & 8U);
  }
  [[nodiscard]] static std::size_t value_offset(Word word) noexcept {
    const std::size_t end = key_offset(word) + key_bytes(word);
    return has(word, kLarge) ? (end + 7) & ~std::size_t{7} : end;
  }
  [[nodiscard]] std::uint32_t load32(std::size_t offset) const noexcept {
    std::uint32_t loaded = 0;
    std::memcpy(&loaded, bytes() + offset, sizeof loaded);
    return loaded;
  }
  [[nodiscard]] std::atomic<std::uint32_t>& expiry_word(Word word) const noexcept {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(const_cast<char*>(bytes()) + expiry_offset(word));
  }

  // Concurrent readers may lose a read, but never the order.
  void note_access(std::uint64_t now_us, std::uint32_t high, std::uint64_t made_us) noexcept {
    const std::uint32_t counted = high + kOneRead;
    const std::uint32_t noted = ((counted < high ? high : counted) & (kHighOrder | kReads)) |
                                access_code::age_at(now_us, made_us) << kAccessShift;
    if (noted != high) {
      high_.store(noted, std::memory_order_relaxed);
    }
  }

  std::uint32_t low_order_ = 0;         ///< lower half of the order, in two words so that there is no padding
  std::atomic<std::uint32_t> high_{0};  ///< access code and upper bits of the order
  std::atomic<Word> word_;
};
static_assert(sizeof(Item) == 12);

[[gnu::always_inline]] inline Item* Item::create_whole(runtime::Worker& worker, std::string_view key,
                                                       std::string_view value) noexcept {
  MXKV_DCHECK(key.size() <= 0xFF && value.size() <= kInlineValueBytes, "lengths fit their fields");
  const std::size_t bytes = kOptionalOffset + key.size() + value.size();
  void* const memory = worker.items().allocate_ahead(bytes);
  if (memory == nullptr) [[unlikely]] {
    return nullptr;
  }
  auto* const made =
      new (memory) Item(static_cast<Word>(key.size()) | static_cast<Word>(value.size()) << kValueShift);
  char* const end = protocol::write_short_text(reinterpret_cast<char*>(memory) + kOptionalOffset, key);
  if (value.size() - 64 <= kMostMiddling - 64) [[likely]] {
    protocol::write_middling_text(end, value);
  } else {
    std::memcpy(end, value.data(), value.size());
  }
  MXKV_DCHECK(made->block_bytes() == bytes, "an item ends where its block does");
  return made;
}

}  // namespace mxkv::server
