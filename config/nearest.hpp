// The word that somebody who mistyped one probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mxkv::config {

/// The one of `words` that is fewest edits (a letter added, left out, replaced, or two swapped) from `word`,
/// if they are at most a third of its letters, or one; of equals the first. Empty: none is near.
/// Thread-safety: any thread.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> words);

}  // namespace mxkv::config
