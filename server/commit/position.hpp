// Positions in the log of changes, as clients keep them, and the lineage by which a server knows its own.
//
//   <tag>.<epoch>          behind that epoch                      9c41e07a55d2b813.1042
//   <tag>.<epoch>.<key>    the same, of a copy that has come as far as that key (base64)
//
// A *tag* is 64 random bits, drawn at each start. A power cut may take epochs that clients have read (sync 1s, never), and
// the next process numbers others the same; so does a copy of the directory. The tag tells them apart. The *lineage*
// lists the tags, each with the first epoch that its process numbered:
//
//   tag      a     b      c
//   epochs   1..9  10..   7..      c began behind epoch 6: a's epochs up to 6 are in our past, b's own are gone
//
// A tag stands for the whole history that led to its process. So a process gives each epoch with its own tag, also one
// that an earlier process wrote.
//
// Thread-safety: any thread, each with its own objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mxkv::server {

struct Position {
  std::uint64_t tag = 0;
  std::uint64_t epoch = 0;
  std::string key{};  ///< of a copy under way: its last key; empty: no copy

  friend bool operator==(const Position&, const Position&) = default;
};

[[nodiscard]] std::string position_text(const Position& position);
/// Nothing: no server writes such a text. Each position has one text.
[[nodiscard]] std::optional<Position> read_position(std::string_view text);

/// Whether the changes behind a position can be read.
enum class position_state : std::uint8_t {
  ok,
  old,   ///< in our past, but some of the changes behind it are gone
  lost,  ///< of a history that never became durable here, or of another server
};

/// The epochs that a server can tell of now.
struct ToldEpochs {
  std::uint64_t oldest = 0;  ///< all changes behind this epoch are there
  std::uint64_t last = 0;    ///< the greatest epoch that a position of the newest tag may name
};

class Lineage {
 public:
  struct Entry {
    std::uint64_t tag = 0;
    std::uint64_t first = 0;  ///< the first epoch that this process numbered

    friend bool operator==(const Entry&, const Entry&) = default;
  };
  static constexpr std::size_t kMost = 64;  ///< entries; older ones go

  /// A process begins to number epochs from `first` on. Tags of which no epoch remains are forgotten.
  void begin(std::uint64_t tag, std::uint64_t first);
  /// Oldest first. Neither tags nor epochs go back.
  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
  /// The tag of new positions; 0: there is none.
  [[nodiscard]] std::uint64_t tag() const noexcept { return entries_.empty() ? 0 : entries_.back().tag; }
  [[nodiscard]] bool knows(std::uint64_t tag) const noexcept;
  [[nodiscard]] position_state judge(std::uint64_t tag, std::uint64_t epoch,
                                     const ToldEpochs& told) const noexcept;

  friend bool operator==(const Lineage&, const Lineage&) = default;

 private:
  std::vector<Entry> entries_;
};

/// "9c41e07a55d2b813", and the tag in such a text; nothing: it is none. No tag is 0.
[[nodiscard]] std::string tag_text(std::uint64_t tag);
[[nodiscard]] std::optional<std::uint64_t> read_tag(std::string_view text) noexcept;
/// Draws a tag that the lineage does not know.
[[nodiscard]] std::uint64_t draw_tag(const Lineage& lineage);

}  // namespace mxkv::server
