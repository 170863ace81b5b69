// Answers that classic and meta commands have in common.
#pragma once

#include <string_view>

#include "bench/client/text.hpp"
#include "bench/client/wire.hpp"

namespace mxkv::bench {

/// A line that is none of the expected replies: an error of the server, or nonsense.
inline Step read_refusal(std::string_view input) noexcept {
  const auto line = first_line(input);
  if (!line) {
    return {};
  }
  const bool refused =
      *line == "ERROR" || line->starts_with("SERVER_ERROR") || line->starts_with("CLIENT_ERROR");
  return {input.find('\n') + 1, refused || *line == "NOT_STORED" ? Outcome::error : Outcome::out_of_step};
}

}  // namespace mxkv::bench
