#include "runtime/base/nearest.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace mxkv::runtime {
namespace {

// Optimal string alignment: Levenshtein's distance with swaps of neighbours.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U);
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
      }
    }
  }
  return table[a.size()][b.size()];
}

constexpr std::size_t kLongestWord = 64;  // a longer key is no typing mistake
constexpr std::size_t kShortestBeginning = 3;

/// The only word that begins with `word`, such as warning for warn; empty: none, or several.
std::string completed(std::string_view word, std::span<const std::string> words) {
  const auto begins = [word](const std::string& candidate) { return candidate.starts_with(word); };
  const auto found = std::ranges::find_if(words, begins);
  const bool is_only = found != words.end() && std::ranges::count_if(words, begins) == 1;
  return is_only && word.size() >= kShortestBeginning ? *found : std::string{};
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> words) {
  std::string best;
  std::size_t least = std::max<std::size_t>(word.size() / 3, 1) + 1;
  for (const std::string& candidate : words) {
    const std::size_t distance = word.size() > kLongestWord ? least : edits(word, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best.empty() ? completed(word, words) : best;
}

std::string meant_word(std::string_view text, std::span<const std::string_view> words) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kSame{
      {{"yes", "true"}, {"on", "true"}, {"1", "true"}, {"no", "false"}, {"off", "false"}, {"0", "false"}}};
  std::string word{text};
  std::ranges::transform(word, word.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const std::vector<std::string> allowed(words.begin(), words.end());
  if (const auto* const same =
          std::ranges::find(kSame, word, &std::pair<std::string_view, std::string_view>::first);
      same != kSame.end() && std::ranges::find(words, same->second) != words.end()) {
    return std::string{same->second};
  }
  const bool is_number = !word.empty() && word[0] >= '0' && word[0] <= '9';  // a near number is another one
  return is_number ? std::string{} : nearest(word, allowed);
}

}  // namespace mxkv::runtime
