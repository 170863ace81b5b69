// figures-page: draws points of JSON lines into one HTML page. Exit codes: 0 done, 1 bad input, 2 usage.
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>

#include "bench/figures/page.hpp"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "Usage: figures-page PAPER.json POINTS.jsonl... >PAGE.html\n");
    return 2;
  }
  try {
    std::vector<std::string> lines;
    std::string papers;
    for (int i = 1; i < argc; ++i) {
      std::ifstream file(argv[i]);
      if (!file) {
        std::fprintf(stderr, "figures-page: cannot read %s\n", argv[i]);
        return 1;
      }
      if (i == 1) {
        papers.assign(std::istreambuf_iterator<char>(file), {});
        continue;
      }
      for (std::string line; std::getline(file, line);) {
        lines.push_back(line);
      }
    }
    std::fputs(mxkv::bench::figures_page(papers, lines).c_str(), stdout);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "figures-page: %s\n", error.what());
    return 1;
  }
}
