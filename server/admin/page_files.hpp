// The status page's files, which are part of the program. page/ holds the originals, and embed.cmake makes a
// source file of them.
#pragma once

#include <string_view>

namespace mxkv::server {

extern const std::string_view kPageHtml;
extern const std::string_view kPageCss;
extern const std::string_view kPageScript;

}  // namespace mxkv::server
