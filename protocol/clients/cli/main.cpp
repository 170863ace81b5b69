// mxkv-cli: one command by its arguments, or a shell.
#include "protocol/clients/cli/program.hpp"
#include "runtime/base/standard_streams.hpp"

int main(int count, char** arguments) {
  mxkv::runtime::open_standard_streams();
  return mxkv::cli::run_program(count, arguments);
}
