// index-page: draws index_bench's output into one HTML page. Exit codes: 0 done, 1 bad input, 2 usage.
#include <cstdio>
#include <exception>
#include <fstream>

#include "bench/index/points.hpp"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("Usage: index-page POINTS.jsonl... >PAGE.html\n", stderr);
    return 2;
  }
  mxkv::bench::IndexResults results;
  for (int i = 1; i < argc; ++i) {
    try {
      std::ifstream file(argv[i]);
      if (!file) {
        throw std::runtime_error("cannot be read");
      }
      mxkv::bench::read_points(file, results);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "index-page: %s: %s\n", argv[i], error.what());
      return 1;
    }
  }
  std::fputs(mxkv::bench::index_page(results).c_str(), stdout);
  return 0;
}
