// Random commands that change a store.
#pragma once

#include <string>

#include "runtime/base/random.hpp"

namespace mxkv::server::testing {

inline std::string some_value(runtime::Random& random) {
  const std::size_t bytes = random.below(12) == 0 ? 8000 + random.below(60'000) : random.below(300);
  return std::to_string(bytes) + "\r\n" + std::string(bytes, static_cast<char>('a' + random.below(26))) +
         "\r\n";
}

/// Keys have a letter and two digits.
inline std::string some_change(runtime::Random& random, const char* letters = "abc") {
  const auto some_key = [&] {
    return std::string{letters[random.below(3)]} + std::to_string(10 + random.below(30));
  };
  const std::string key = some_key();
  const std::string exptime = std::to_string(random.below(3) == 0 ? 1000 + random.below(20) : 0);
  switch (random.below(18)) {
    case 0:
    case 1:
      return "delete " + key + "\r\n";
    case 2:
      return "touch " + key + " " + exptime + "\r\n";
    case 3:
      return "gat " + exptime + " " + key + "\r\n";
    case 4:
      return "append " + key + " 0 0 3\r\nxyz\r\n";
    case 5:
      return "md " + key + " I T" + exptime + "\r\n";
    case 6:
      return "ms " + key + " 2 E" + std::to_string(1 + random.below(1000)) + " F3\r\nab\r\n";
    case 7:
      return "mx " + key.substr(0, 2) + " p\r\n";
    case 8:
      return "mx " + key.substr(0, 2) + " p X\r\n";
    case 9:
      return "mt " + key.substr(0, 2) + " p T" + exptime + "\r\n";
    case 10:
      return "mb 2\r\nms " + key + " 1\r\n1\r\nms " + some_key() + " 1\r\n2\r\n";
    case 11:
      return "incr " + key + " 1\r\n";
    case 12:
      return "ms " + key + " 1 I T" + exptime + " Q5\r\n7\r\n";
    case 13:
      // A key in base64: one of these letters, the first one, and a colon.
      return std::string{letters[0] == 'a' ? "ms YTo=" : "ms eDo="} + " 1 b\r\n7\r\n";
    default:
      return "set " + key + " " + std::to_string(random.below(9)) + " " + exptime + " " + some_value(random);
  }
}

}  // namespace mxkv::server::testing
