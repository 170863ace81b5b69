// The moment, by this node's clock, up to which it knows all changes of a shard, from the words of the
// shard's owner. For expired items of a followed shard: an item that seems expired may have been touched by a
// change that is not read yet.
//
//   this node says a word at S ──> board ──> the owner reads it, and says a word at W:
//     "I read the board up to .., serve shard 3, know its log up to P, and my changes from before W - D are in the logs"
//
// W is after S, however long either word was on its way: the board has one order, and no node reads a word
// before it is said. So a node that has read the shard's log up to P knows all changes from before S - D. No
// two clocks are compared; only the duration D is of another node's clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "server/cluster/presence.hpp"

namespace mxkv::server {

/// Thread-safety: one thread.
class WordsRead {
 public:
  /// A word of this node was read at that position of the board.
  void add(std::uint64_t position, std::uint64_t said_ns) {
    words_.push_back({position, said_ns});
    if (words_.size() > kMostWords) {
      words_.pop_front();
    }
  }

  /// The moment, by this node's clock, from before which this node knows all changes of the shards that
  /// `other` lists, once it has read their logs that far; 0: none.
  [[nodiscard]] std::uint64_t known_ns(const Presence& other) const noexcept {
    std::uint64_t said_ns = 0;
    for (const Word& word : words_) {
      said_ns = word.position < other.read ? std::max(said_ns, word.said_ns) : said_ns;
    }
    const std::uint64_t behind_ns = other.behind_ns + other.behind_ns / kClockShare;
    return other.behind_ns == Presence::kNotTold || said_ns <= behind_ns ? 0 : said_ns - behind_ns;
  }

 private:
  /// For a node that says a word each second: no node answers older words any more.
  static constexpr std::size_t kMostWords = 32;
  /// One clock runs 5 % fast, the other 5 % slow: together less than an eighth.
  static constexpr std::uint64_t kClockShare = 8;

  struct Word {
    std::uint64_t position;
    std::uint64_t said_ns;
  };
  std::deque<Word> words_;
};

}  // namespace mxkv::server
