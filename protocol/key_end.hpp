// Finds the end of a key, for input that usually goes on for at least 32 bytes.
#pragma once

#include <bit>
#include <cstdint>

#include "protocol/words.hpp"

namespace mxkv::protocol {

/// As find_not_key(), but compares 32 bytes before the first branch.
[[nodiscard, gnu::always_inline]] inline const char* find_key_end(const char* text,
                                                                  const char* end) noexcept {
#ifdef __SSE2__
  if (end - text >= 32) [[likely]] {
    const auto low = static_cast<std::uint32_t>(_mm_movemask_epi8(marks_not_key(text)));
    const auto high = static_cast<std::uint32_t>(_mm_movemask_epi8(marks_not_key(text + 16)));
    const std::uint32_t marks = low | high << 16U;
    if (marks != 0) [[likely]] {
      return text + std::countr_zero(marks);
    }
    text += 32;
  }
#endif
  return find_not_key(text, end);
}

}  // namespace mxkv::protocol
