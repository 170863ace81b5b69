// Whole connections of the binary protocol: bytes go through a session to the real store. The replies must be
// the ones that the requests are owed: one answer each, with the request's opcode and opaque; none for a
// quiet request that went well.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocol/binary.hpp"
#include "tests/fuzz/inputs.hpp"
#include "tests/fuzz/stepped_server.hpp"
#include "tests/unit/protocol/binary_packet.hpp"

namespace mxkv::fuzz {
namespace binary {
namespace {

using protocol::binary_status;
using protocol::BinaryForm;
using protocol::opcode;
using protocol::outcome;

// The second byte of an input, as bits: '@' for none, 'A' for two workers, and so on.
constexpr unsigned kTwoWorkers = 1;
constexpr unsigned kRaw = 2;     ///< the rest is sent unchanged; else it describes requests
constexpr unsigned kNarrow = 4;  ///< small limits, and a client that reads slowly
constexpr unsigned kShortOfMemory = 8;
constexpr unsigned kAuthenticates = 32;

// The second byte of a request's description.
constexpr unsigned kLongValue = 1;
constexpr unsigned kLiesOfBody = 2;
constexpr unsigned kLiesOfKey = 4;
constexpr unsigned kCompares = 8;
constexpr unsigned kOtherExtras = 16;

constexpr std::size_t kMostBytes = std::size_t{256} << 10U;

void put(std::string& out, std::uint64_t value, unsigned bytes) {
  for (unsigned n = bytes; n > 0; --n) {
    out += static_cast<char>(value >> (8 * (n - 1)));
  }
}

/// Takes numbers and words off the description; gives zeros and empty words behind its end.
class Description {
 public:
  explicit Description(std::string_view text) noexcept : text_(text) {}
  [[nodiscard]] bool done() const noexcept { return text_.empty(); }
  unsigned byte() noexcept {
    const unsigned value = done() ? 0 : static_cast<unsigned char>(text_.front());
    text_.remove_prefix(done() ? 0 : 1);
    return value;
  }
  std::string_view bytes(std::size_t most) noexcept {
    const std::string_view taken = text_.substr(0, most);
    text_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view text_;
};

/// As many bytes of extras as the command usually has.
std::string extras_of(unsigned code, Description& from) {
  const std::size_t bytes = protocol::usual_extras(static_cast<opcode>(code));
  std::string extras(bytes, '\0');
  if (bytes > 0) {
    extras.back() = static_cast<char>(from.byte());
    extras[bytes / 2 - 1] = static_cast<char>(from.byte());
  }
  return extras;
}

/// Opcode, shape, then each part: a key of a letter or two, a value with its length before it.
std::string requests_of(std::string_view text) {
  std::string stream;
  Description from{text};
  for (std::uint32_t opaque = 0; !from.done() && stream.size() < kMostBytes; ++opaque) {
    const unsigned code = from.byte() % 0x28;
    const unsigned shape = from.byte();
    const auto has = [shape](unsigned bit) { return (shape & bit) != 0; };
    const auto is = [code](opcode one) { return code == static_cast<unsigned>(one); };
    std::string extras = extras_of(code, from);
    if (has(kOtherExtras)) {
      extras.resize(from.byte() % 24);
    }
    const bool keyless = is(opcode::quit) || is(opcode::quitq) || is(opcode::flush) || is(opcode::flushq) ||
                         is(opcode::noop) || is(opcode::version) || is(opcode::verbosity) ||
                         is(opcode::sasl_mechanisms);
    const bool login = is(opcode::sasl_auth) || is(opcode::sasl_step);
    const std::string_view key = keyless ? "" : login ? "PLAIN" : from.bytes(1 + (shape >> 7U));
    std::string value;
    if (login || (key.size() == 1 && extras.size() == 8) || is(opcode::append) || is(opcode::prepend) ||
        is(opcode::appendq) || is(opcode::prependq)) {
      value = from.bytes(from.byte() % 32);
      value.resize(value.size() + (has(kLongValue) ? from.byte() * std::size_t{100} : 0), '7');
    }
    stream += '\x80';
    put(stream, code, 1);
    put(stream, key.size() + (has(kLiesOfKey) ? from.byte() : 0), 2);
    put(stream, extras.size(), 1);
    put(stream, 0, 3);
    put(stream,
        extras.size() + key.size() + value.size() +
            (has(kLiesOfBody) ? from.byte() << (from.byte() % 25) : 0),
        4);
    put(stream, opaque, 4);
    put(stream, has(kCompares) ? from.byte() : 0, 8);
    stream.append(extras).append(key).append(value);
  }
  stream.resize(std::min(stream.size(), kMostBytes));
  return stream;
}

/// The answer that one request is owed.
struct Owed {
  BinaryForm form;
  bool may_be_silent = false;
  bool fails = false;  ///< with `status`
  binary_status status{};
};

std::vector<Owed> owed_for(std::string_view rest, const config::LimitOptions& limits, bool guarded) {
  std::vector<Owed> owed;
  const auto request = std::make_unique<protocol::Request>();
  for (bool inside = !guarded;;) {
    const protocol::BinaryParsed parsed =
        protocol::parse_binary(rest.data(), rest.size(), {.value_bytes = limits.value_bytes}, *request);
    if (parsed.what == outcome::need_more || parsed.what == outcome::close) {
      return owed;
    }
    const BinaryForm form = request->meta.binary;
    rest.remove_prefix(parsed.consumed);
    if (!inside && !protocol::precedes_login(form.code)) {
      owed.push_back({.form = form, .fails = true, .status = binary_status::auth_error});
      return owed;
    }
    if (parsed.what == outcome::error) {
      owed.push_back({.form = form, .fails = true, .status = parsed.error});
      if (parsed.closes || rest.size() < parsed.swallow) {
        return owed;
      }
      rest.remove_prefix(parsed.swallow);
      continue;
    }
    const bool login = form.code == opcode::sasl_auth || form.code == opcode::sasl_step;
    const std::uint64_t value = login || protocol::takes_value(request->op) ? request->value_bytes : 0;
    const std::string_view message = rest.substr(0, value);
    if (rest.size() < value) {
      // There may be no memory for it, which the server says when it has come; a login that is too long is
      // refused at once.
      owed.push_back({.form = form, .may_be_silent = true});
      return owed;
    }
    rest.remove_prefix(value);
    owed.push_back({.form = form, .may_be_silent = form.quiet()});
    if (login && guarded) {
      inside = form.code == opcode::sasl_auth && request->key == "PLAIN" &&
               message == std::string_view{"\0user\0pass", 10};
    }
    if (request->op == protocol::verb::quit) {
      return owed;
    }
  }
}

struct Answer {
  BinaryForm form;
  std::uint16_t status = 0;
  bool empty = false;
  std::size_t bytes = 0;
};

/// False: no answer begins so, or it is cut.
bool read_answer(std::string_view text, Answer& answer) {
  const auto number = [text](std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = at; i < at + bytes; ++i) {
      value = value << 8U | static_cast<unsigned char>(text[i]);
    }
    return value;
  };
  if (text.size() < protocol::kBinaryHeaderBytes || text.front() != '\x81') {
    return false;
  }
  const std::uint64_t body = number(8, 4);
  answer.form.code = static_cast<opcode>(text[1]);
  text.copy(answer.form.opaque.data(), 4, 12);
  answer.status = static_cast<std::uint16_t>(number(6, 2));
  answer.empty = body == 0;
  answer.bytes = protocol::kBinaryHeaderBytes + body;
  return text[5] == 0 && number(2, 2) + number(4, 1) <= body && answer.bytes <= text.size();
}

bool tells_item(opcode code) {
  return code == opcode::getq || code == opcode::getkq || code == opcode::gatq || code == opcode::gatkq;
}

std::string settle(const std::vector<Owed>& owed, std::string_view replies) {
  std::size_t next = 0;
  for (std::size_t at = 0; at < replies.size();) {
    const std::string place = " (at byte " + std::to_string(at) + ")";
    Answer answer;
    if (!read_answer(replies.substr(at), answer)) {
      return "no whole answer" + place;
    }
    const auto is_for = [&answer](const Owed& one) {
      return one.form.code == answer.form.code && one.form.opaque == answer.form.opaque;
    };
    while (next < owed.size() && owed[next].may_be_silent && !is_for(owed[next])) {
      ++next;
    }
    if (next == owed.size() || !is_for(owed[next])) {
      // A client whose input finds no memory gets an error, and leaves.
      return at + answer.bytes == replies.size() && answer.status == 0x82
                 ? ""
                 : "nobody is owed an answer" + place;
    }
    const Owed& one = owed[next];
    if (one.fails && answer.status != static_cast<unsigned>(one.status)) {
      return "another status" + place;
    }
    const bool well = answer.status == 0;
    // A quiet read does not report a miss, and a quiet write does not report success.
    const bool silent =
        tells_item(one.form.code) ? answer.status == static_cast<unsigned>(binary_status::key_missing) : well;
    if (!one.fails && one.form.quiet() && silent) {
      return "a quiet request is answered with " + std::to_string(answer.status) + place;
    }
    at += answer.bytes;
    next += one.form.code != opcode::stat || answer.empty || !well ? 1 : 0;
  }
  while (next < owed.size() && owed[next].may_be_silent) {
    ++next;
  }
  return next == owed.size() ? "" : "answers are missing from the " + std::to_string(next) + "th on";
}

/// Cas values show in what order unrelated keys were written.
std::string without_cas(std::string replies) {
  Answer answer;
  for (std::size_t at = 0; read_answer(std::string_view{replies}.substr(at), answer); at += answer.bytes) {
    replies.replace(at + 16, 8, 8, '#');
  }
  return replies;
}

std::string check(std::string_view input) {
  if (input.size() < 2) {
    return {};
  }
  const unsigned kind = static_cast<unsigned char>(input[1]);
  const auto has = [kind](unsigned bit) { return (kind & bit) != 0; };
  ServerPlan plan{.workers = has(kTwoWorkers) ? std::size_t{2} : std::size_t{1},
                  .small_limits = has(kNarrow),
                  .short_of_memory = has(kShortOfMemory),
                  .cuts = static_cast<unsigned char>(input[0]),
                  .reads_slowly = has(kNarrow)};
  const std::string stream =
      has(kRaw) ? std::string{input.substr(2, kMostBytes)} : requests_of(input.substr(2));
  if (stream.empty() || stream.front() != '\x80') {
    return {};  // the text protocol has a fuzzer of its own
  }
  FuzzedUsers known;
  server::Credentials* credentials = nullptr;
  if (has(kAuthenticates)) {
    credentials = &known;
  }
  const Served served = serve(stream, plan, credentials);
  if (!served.wrong.empty()) {
    return served.wrong;
  }
  const std::vector<Owed> owed = owed_for(stream, limits_of(plan), credentials != nullptr);
  for (const std::string& replies : served.replies) {
    if (std::string wrong = settle(owed, replies); !wrong.empty()) {
      return wrong + " among\n" + replies;
    }
  }
  if (!is_deterministic(plan)) {
    return {};
  }
  plan.cuts = ~std::uint32_t{0};
  const Served whole = serve(stream, plan, credentials);
  return without_cas(whole.replies.front()) == without_cas(served.replies.front())
             ? whole.wrong
             : "in pieces:\n" + served.replies.front() + "\nat once:\n" + whole.replies.front();
}

}  // namespace
}  // namespace binary

std::string check_binary_input(std::string_view input) {
  return binary::check(input);
}

}  // namespace mxkv::fuzz
