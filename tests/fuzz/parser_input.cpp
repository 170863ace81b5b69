// The parser, differentially: a stream at once against the same stream in pieces of changing sizes.
#include <cstdint>
#include <vector>

#include "tests/fuzz/inputs.hpp"
#include "tests/unit/protocol/transcript.hpp"

namespace mxkv::fuzz {

using namespace protocol;

namespace {

/// Low limits, so that short inputs reach them.
constexpr ParserLimits kLimits{.value_bytes = 300, .line_bytes = 512, .get_line_bytes = 1024};

std::string first_difference(const std::vector<std::string>& whole, const std::vector<std::string>& pieces) {
  for (std::size_t i = 0; i < whole.size() || i < pieces.size(); ++i) {
    const std::string left = i < whole.size() ? whole[i] : "nothing";
    const std::string right = i < pieces.size() ? pieces[i] : "nothing";
    if (left != right) {
      std::string difference = "at once: ";
      return difference.append(left).append("\nin pieces: ").append(right);
    }
  }
  return {};
}

}  // namespace

std::string check_parser_input(std::string_view input) {
  if (input.empty()) {
    return {};
  }
  // A small linear congruence; 0 gives single bytes.
  std::uint32_t state = static_cast<unsigned char>(input.front());
  const bool single = state == 0;
  const auto cut = [&state, single](std::size_t) {
    state = state * 1664525U + 1013904223U;
    return single ? std::size_t{1} : (state >> 27U) + 1;
  };
  const std::string_view stream = input.substr(1);
  return first_difference(transcript(stream, kLimits, [](std::size_t left) { return left; }),
                          transcript(stream, kLimits, cut));
}

}  // namespace mxkv::fuzz
