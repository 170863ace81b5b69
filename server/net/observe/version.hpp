// The version as clients see it.
#pragma once

#include <string_view>

namespace mxkv::server {

// First the version of memcached whose protocol this is, because clients look there for the commands that
// they may send (and libmemcached takes a major number of 0 for no answer at all), then our own. It is one
// word, and the same in `stats`, because some clients compare the two, and split the line at spaces.
#define MXKV_SPOKEN_VERSION "1.6.45-mxkv." MXKV_VERSION
inline constexpr std::string_view kSpokenVersion = MXKV_SPOKEN_VERSION;
inline constexpr std::string_view kVersionLine = "VERSION " MXKV_SPOKEN_VERSION "\r\n";
#undef MXKV_SPOKEN_VERSION

}  // namespace mxkv::server
