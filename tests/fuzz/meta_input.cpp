// Meta flags: flags that were read, written in one fixed form, are read as the same.
// Base64: reading and writing are each other's inverse.
#include <cstring>
#include <memory>
#include <optional>

#include "protocol/parser.hpp"
#include "protocol/reply.hpp"
#include "tests/fuzz/inputs.hpp"
#include "tests/unit/protocol/transcript.hpp"

namespace mxkv::fuzz {

using namespace protocol;

namespace {

/// The result of one line: the request in words, or empty if it is refused.
struct Reading {
  std::optional<std::string> words;
  std::string again;  ///< key and flags in the fixed form
};

std::string with_number(char letter, const MetaFlags& flags) {
  const std::int64_t number = letter == 'T'   ? flags.exptime
                              : letter == 'N' ? flags.vivify_exptime
                                              : flags.recache;
  return letter + std::to_string(number);
}

std::string rewritten(const Request& request) {
  const MetaFlags& flags = request.meta;
  std::string key(request.key);
  if (flags.binary_key) {
    std::string text(4 * ((key.size() + 2) / 3), ' ');
    write_base64(text.data(), key);
    key = text;
  }
  std::string out;
  const auto add = [&out](bool given, const std::string& text) {
    if (given) {
      out.append(" ").append(text);
    }
  };
  add(flags.binary_key, "b");
  for (const char letter : flags.wants()) {
    const bool number = letter == 'T' || letter == 'N' || letter == 'R';
    add(true,
        number ? with_number(letter, flags) : letter + std::string(letter == 'O' ? flags.opaque() : ""));
  }
  add(flags.mode != 0, flags.mode == ' ' ? "M" : std::string("M") + flags.mode);
  add(flags.quiet, "q");
  add(flags.value, "v");
  add(flags.no_bump, "u");
  add(flags.invalidate, "I");
  add(flags.remove_value, "x");
  add(flags.has_compare, "C" + std::to_string(flags.compare));
  add(flags.cas != 0, "E" + std::to_string(flags.cas));
  add(flags.delta != 1, "D" + std::to_string(flags.delta));
  add(flags.initial != 0, "J" + std::to_string(flags.initial));
  add(request.flags != 0, "F" + std::to_string(request.flags));
  return key + " " + (request.op == verb::meta_set ? std::to_string(request.value_bytes) : "") + out;
}

Reading read(const std::string& line) {
  // At the end of a block of its own, so that a sanitizer sees a step too far.
  const auto block = std::make_unique<char[]>(line.size());
  std::memcpy(block.get(), line.data(), line.size());
  const auto request = std::make_unique<Request>();
  LineState state;
  const Parsed parsed = Parser({}).parse(block.get(), line.size(), state, *request);
  if (parsed.what != outcome::request || !is_meta(request->op) || request->op == verb::meta_noop) {
    return {};
  }
  return {describe(*request), rewritten(*request)};
}

}  // namespace

std::string check_meta_input(std::string_view input) {
  const std::string line = std::string(input.substr(0, input.find('\n'))) + "\r\n";
  for (const std::string_view verb : {"mg ", "ms ", "md ", "ma ", "me "}) {
    const Reading first = read(std::string(verb) + line);
    if (!first.words) {
      continue;
    }
    const Reading second = read(std::string(verb) + first.again + "\r\n");
    if (second.words != first.words) {
      return *first.words + "\nis written as " + first.again + "\nand read as " +
             second.words.value_or("nothing");
    }
  }
  return {};
}

std::string check_base64_input(std::string_view input) {
  const auto text = std::make_unique<char[]>(4 * ((input.size() + 2) / 3));
  const char* const end = write_base64(text.get(), input);
  const auto encoded = static_cast<std::size_t>(end - text.get());
  const auto bytes = std::make_unique<char[]>(encoded / 4 * 3);
  std::size_t count = 0;
  if (!read_base64({text.get(), encoded}, bytes.get(), count) ||
      input != std::string_view(bytes.get(), count)) {
    return "written and read it is something else";
  }
  const auto decoded = std::make_unique<char[]>(input.size() / 4 * 3);
  if (!read_base64(input, decoded.get(), count)) {
    return {};
  }
  std::string again(4 * ((count + 2) / 3), ' ');
  write_base64(again.data(), {decoded.get(), count});
  return again == input ? std::string() : "read as bytes that are written as " + again;
}

}  // namespace mxkv::fuzz
