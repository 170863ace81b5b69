// JSON documents of the commands. A JSON string holds UTF-8; other bytes are {"b64": "..."}.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "protocol/clients/cli/session.hpp"

namespace mxkv::cli {

/// Keys stay in the order in which they were written.
using Json = nlohmann::ordered_json;

[[nodiscard]] Json json_bytes(std::string_view bytes);
/// A word in the form of a number as a number, else as a string.
[[nodiscard]] Json json_word(std::string_view word);
/// `ts=1.2 type=item_get key=k` as a document.
[[nodiscard]] Json object_of_words(std::string_view line);
/// One document, one line.
void print_json(Session& session, const Json& document);

}  // namespace mxkv::cli
