// The page of all figures: what was measured here, drawn, with the papers' own numbers beside it.
#pragma once

#include <string>
#include <vector>

namespace mxkv::bench {

/// `papers` is the text of paper.json: what each figure is, what the papers' texts say, and from which of our
/// points the same number follows; or an object {"title", "heading", "reference", "figures"}, where such a
/// list is `figures` and `reference` heads the column of what is compared with. A figure's "line" names the
/// series that is drawn as a line across the bars. `lines` are the points, a JSON object each. Throws
/// std::exception, saying which line, where one of them is not as figure.hpp describes. Well-formed XML too.
/// Thread-safety: any thread.
std::string figures_page(const std::string& papers, const std::vector<std::string>& lines);

}  // namespace mxkv::bench
