// The word that was probably meant by a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mxkv::runtime {

/// The word of `words` with the fewest edits (a letter added, left out, replaced, or two swapped) from
/// `word`, if these are at most a third of its letters, or one; among equals the first. Else the only word that
/// begins with `word`. Empty: none is near.
/// Thread-safety: any thread.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> words);

/// The same for one of the words that an option allows, in any case. Other files say yes and on for true.
/// Thread-safety: any thread.
[[nodiscard]] std::string meant_word(std::string_view text, std::span<const std::string_view> words);

}  // namespace mxkv::runtime
