#include "protocol/clients/cli/commands/json_text.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "protocol/clients/cli/wire/request_text.hpp"
#include "protocol/numbers.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::cli {

Json json_bytes(std::string_view bytes) {
  if (runtime::is_utf8(bytes)) {
    return std::string(bytes);
  }
  Json coded = Json::object();
  coded["b64"] = to_base64(bytes);
  return coded;
}

Json json_word(std::string_view word) {
  std::uint64_t whole = 0;
  std::int64_t negative = 0;
  // A number in a form that JSON does not have, such as 007, is a name.
  const bool leading = word.size() > 1 && word.starts_with('0');
  if (!leading && protocol::read_u64(word, whole)) {
    return whole;
  }
  if (!leading && word != "-0" && protocol::read_i64(word, negative)) {
    return negative;
  }
  return json_bytes(word);
}

Json object_of_words(std::string_view line) {
  Json document = Json::object();
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos) {
      document[std::string(word.substr(0, equals))] = json_word(word.substr(equals + 1));
    }
  }
  return document;
}

void print_json(Session& session, const Json& document) {
  constexpr auto kReplace = Json::error_handler_t::replace;
  const std::string text = document.dump(-1, ' ', false, kReplace);
  // JSON's own escapes for all that is not ASCII, because print_line() would write escapes that JSON does not have.
  session.print_line(runtime::is_readable(text) ? text : document.dump(-1, ' ', true, kReplace));
}

}  // namespace mxkv::cli
