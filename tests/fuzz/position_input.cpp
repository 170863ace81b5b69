// Positions: a text is the text of the position that is read from it, or it is refused; and any lineage judges it.
#include "server/commit/position.hpp"
#include "tests/fuzz/inputs.hpp"

namespace mxkv::fuzz {

using namespace server;

std::string check_position_input(std::string_view input) {
  const std::optional<Position> position = read_position(input);
  if (!position) {
    return {};
  }
  if (const std::string written = position_text(*position); written != input) {
    return "read as a position that is written as " + written;
  }
  // The position's own tag, behind an older and before a newer process.
  for (const std::uint64_t first : {std::uint64_t{1}, std::uint64_t{1000}}) {
    Lineage lineage;
    lineage.begin(position->tag ^ 1U ? position->tag ^ 1U : 2, 1);
    lineage.begin(position->tag, first);
    lineage.begin(position->tag ^ 2U ? position->tag ^ 2U : 4, 2000);
    const position_state state =
        lineage.judge(position->tag, position->epoch, {.oldest = 1500, .last = 3000});
    const std::uint64_t epoch = position->epoch;
    const position_state expected = epoch > 1999   ? position_state::lost
                                    : epoch < 1500 ? position_state::old
                                                   : position_state::ok;
    if (state != expected) {
      return "a position is judged as of another process";
    }
  }
  return {};
}

}  // namespace mxkv::fuzz
