// Whole connections: bytes go through a session to the real store, and the replies must be one for each
// request.
#include <algorithm>
#include <cstdint>
#include <string>

#include "tests/fuzz/inputs.hpp"
#include "tests/fuzz/owed.hpp"
#include "tests/fuzz/reply_shapes.hpp"
#include "tests/fuzz/stepped_server.hpp"

namespace mxkv::fuzz {
namespace {

// The second byte of an input, as bits: '@' for none, 'A' for two workers, and so on.
constexpr unsigned kTwoWorkers = 1;
constexpr unsigned kHotLeaves = 2;
constexpr unsigned kNarrow = 4;  ///< small limits, and a client that reads slowly
constexpr unsigned kShortOfMemory = 8;
constexpr unsigned kEvicts = 16;
constexpr unsigned kAuthenticates = 32;

constexpr std::size_t kMostBytes = std::size_t{256} << 10U;

/// A byte that no text has stands for many, so that short inputs hold long values and lines.
std::string unfolded(std::string_view input) {
  constexpr char kMany = '\xFE';
  constexpr std::size_t kHowMany = 500;
  std::string stream;
  for (const char byte : input) {
    if (byte == kMany) {
      stream.append(kHowMany, 'x');
    } else {
      stream.push_back(byte);
    }
  }
  stream.resize(std::min(stream.size(), kMostBytes));
  return stream;
}

ServerPlan plan_of(unsigned char cuts, unsigned kind) {
  const auto has = [kind](unsigned bit) { return (kind & bit) != 0; };
  return {.workers = has(kTwoWorkers) ? std::size_t{2} : std::size_t{1},
          .hot_leaves = has(kHotLeaves),
          .small_limits = has(kNarrow),
          .short_of_memory = has(kShortOfMemory),
          .evicts = has(kEvicts),
          .cuts = cuts,
          .reads_slowly = has(kNarrow)};
}

/// Takes out the parts of replies that may differ from run to run: cas values, which show in what order
/// unrelated keys were written, and the marks that reads leave at an item (that it was read, that a client
/// has won it), which overlapping reads may see or not.
std::string settled_part(std::string replies) {
  for (const std::string_view told : {"fetch=yes", "fetch=no", " h0", " h1", " W", " Z"}) {
    for (std::size_t at = replies.find(told); at != std::string::npos; at = replies.find(told, at)) {
      replies.erase(at, told.size());
    }
  }
  constexpr std::size_t kDigitsOfCas = 16;
  std::string text;
  for (std::size_t at = 0; at < replies.size();) {
    const std::size_t end = std::min(replies.find_first_not_of("0123456789", at), replies.size());
    if (end - at >= kDigitsOfCas) {
      text.push_back('#');
    } else {
      text.append(replies, at, end - at);
    }
    if (end < replies.size()) {
      text.push_back(replies[end]);
    }
    at = end + 1;
  }
  return text;
}

}  // namespace

std::string check_connection_input(std::string_view input) {
  if (input.size() < 2) {
    return {};
  }
  const unsigned kind = static_cast<unsigned char>(input[1]);
  ServerPlan plan = plan_of(static_cast<unsigned char>(input[0]), kind);
  const std::string stream = unfolded(input.substr(2));
  const config::LimitOptions limits = limits_of(plan);

  FuzzedUsers known;
  server::Credentials* credentials = nullptr;
  if ((kind & kAuthenticates) != 0) {
    credentials = &known;
  }
  const Served served = serve(stream, plan, credentials);
  if (!served.wrong.empty()) {
    return served.wrong;
  }
  const std::vector<Owed> owed = owed_for(stream, limits, credentials);
  for (const std::string& replies : served.replies) {
    std::string wrong = settle(owed, replies, credentials != nullptr);
    if (!wrong.empty()) {
      return wrong;
    }
  }
  // The free memory, the operations under way when a client begins to watch, and the cas values in packets
  // depend on the cuts.
  const auto has = [&stream](std::string_view word) { return stream.find(word) != std::string::npos; };
  if (!is_deterministic(plan) || has("cache_memlimit") || has("watch") || has("\x80")) {
    return {};
  }
  plan.cuts = ~std::uint32_t{0};
  const Served whole = serve(stream, plan, credentials);
  return settled_part(whole.replies.front()) == settled_part(served.replies.front())
             ? whole.wrong
             : "in pieces:\n" + served.replies.front() + "\nat once:\n" + whole.replies.front();
}

}  // namespace mxkv::fuzz
