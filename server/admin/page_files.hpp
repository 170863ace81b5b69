// The page's files, which are part of the program: page/ holds them as they are edited, embed.cmake makes them a source.
#pragma once

#include <string_view>

namespace mxkv::server {

extern const std::string_view kPageHtml;
extern const std::string_view kPageCss;
extern const std::string_view kPageScript;

}  // namespace mxkv::server
