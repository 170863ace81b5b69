// The form of JSON lines:
//
//   {"mxkv":"export","version":1,"range":".."}
//   {"key":"a","value":"..","flags":1,"expires":1790000000,"cas":17}      flags, expires and cas where they are not 0
//   {"end":true,"items":1,"xxh3":"0123456789abcdef"}                      of all bytes before this line
//
// Bytes that are no UTF-8 are {"b64": ".."}. Lines of another program, without the first one, need no last one either,
// and may leave out all but key and value; then nobody sees where lines are missing.
#pragma once

#include <memory>

#include "protocol/clients/cli/transfer/dump.hpp"

namespace mxkv::cli {

[[nodiscard]] std::unique_ptr<DumpWriter> begin_json_lines(OutputFile& file, const std::string& range_text);
/// `before` holds what stands in the file already.
[[nodiscard]] std::unique_ptr<DumpWriter> resume_json_lines(OutputFile& file, InputFile& before);
[[nodiscard]] std::unique_ptr<DumpReader> open_json_lines(InputFile& file);

}  // namespace mxkv::cli
