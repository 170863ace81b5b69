#include "protocol/clients/cli/shell/history_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace mxkv::cli {

std::string history_path() {
  std::filesystem::path folder;
  if (const char* const state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    folder = state;
  } else if (const char* const home = std::getenv("HOME"); home != nullptr && *home == '/') {
    folder = std::filesystem::path(home) / ".local" / "state";
  } else {
    return {};
  }
  folder /= "mxkv";
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  const std::string file = folder / "history";
  // 0600, because the history holds values that the user typed.
  const int descriptor = failed ? -1 : ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) {
    return {};
  }
  const bool closed = ::fchmod(descriptor, 0600) == 0;
  ::close(descriptor);
  return closed ? file : "";
}

}  // namespace mxkv::cli
