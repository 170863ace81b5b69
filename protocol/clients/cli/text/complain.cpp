#include "protocol/clients/cli/text/complain.hpp"

#include <cstdio>
#include <string>

#include "runtime/base/readable.hpp"

namespace mxkv::cli {

void complain(std::string_view line) {
  std::fflush(stdout);
  std::fputs((runtime::readable(line) + '\n').c_str(), stderr);
}

}  // namespace mxkv::cli
