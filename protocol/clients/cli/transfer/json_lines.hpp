// The JSON lines format of exports:
//
//   {"mxkv":"export","version":1,"range":".."}
//   {"key":"a","value":"..","flags":1,"expires":1790000000,"cas":17}      without flags, expires or cas if they are 0
//   {"end":true,"items":1,"xxh3":"0123456789abcdef"}                      of all bytes before this line
//
// Bytes that are not UTF-8 are {"b64": ".."}. Lines of another program, without the first line, need no last line either,
// and may leave out all but key and value; then missing lines are not noticed.
#pragma once

#include <memory>

#include "protocol/clients/cli/transfer/dump.hpp"

namespace mxkv::cli {

[[nodiscard]] std::unique_ptr<DumpWriter> begin_json_lines(OutputFile& file, const std::string& range_text);
/// `before` holds the existing part of the file.
[[nodiscard]] std::unique_ptr<DumpWriter> resume_json_lines(OutputFile& file, InputFile& before);
[[nodiscard]] std::unique_ptr<DumpReader> open_json_lines(InputFile& file);

}  // namespace mxkv::cli
