// mxkv-cli: one command by its arguments, or a shell.
#include "protocol/clients/cli/program.hpp"

int main(int count, char** arguments) {
  return mxkv::cli::run_program(count, arguments);
}
