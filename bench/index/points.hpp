// The points of index_bench's output, and the page that draws them.
#pragma once

#include <istream>
#include <string>
#include <vector>

namespace mxkv::bench {

/// One line of the output that is a point; see README.md.
struct IndexPoint {
  std::string records;
  std::string what;
  std::string by;
  unsigned workers = 1;
  std::string container;
  unsigned in_flight = 1;
  double median = 0;
  double least = 0;
  double most = 0;
  std::string unit;
};

struct IndexResults {
  std::vector<std::string> about;  ///< how and where each part was measured, as JSON
  std::vector<IndexPoint> points;
};

/// Reads lines and adds to `results`. Throws std::runtime_error with the line's number where one is neither.
void read_points(std::istream& lines, IndexResults& results);

/// The page, which needs no other file. Well-formed XML too.
std::string index_page(const IndexResults& results);

}  // namespace mxkv::bench
