// What is told of the version to clients.
#pragma once

#include <string_view>

namespace mxkv::server {

// First the memcached whose protocol this is, since clients look there for what they may send (and libmemcached
// takes a major number of 0 for no answer at all), then our own. In one word, and the same in `stats`: some
// clients compare the two, and split the line at spaces.
#define MXKV_SPOKEN_VERSION "1.6.45-mxkv." MXKV_VERSION
inline constexpr std::string_view kSpokenVersion = MXKV_SPOKEN_VERSION;
inline constexpr std::string_view kVersionLine = "VERSION " MXKV_SPOKEN_VERSION "\r\n";
#undef MXKV_SPOKEN_VERSION

}  // namespace mxkv::server
