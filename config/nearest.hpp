// The word that was probably meant by a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mxkv::config {

/// The word of `words` with the fewest edits (a letter added, left out, replaced, or two swapped) from
/// `word`, if these are at most a third of its letters, or one; among equals the first. Empty: none is near.
/// Thread-safety: any thread.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> words);

}  // namespace mxkv::config
