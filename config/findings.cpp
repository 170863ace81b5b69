#include "config/findings.hpp"

#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace mxkv::config {

namespace {

/// A file may hold any bytes, and its keys and values are printed on terminals: replaces control characters,
/// which a terminal would obey, by their numbers.
std::string without_controls(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code = static_cast<unsigned char>(text[i]);
    const bool c1 = code == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (code < 0x20 || code == 0x7F || c1) {
      const auto told = c1 ? static_cast<unsigned char>(text[++i]) : code;  // by its number
      out.append("\\x").push_back(kDigits[told / 16]);
      out.push_back(kDigits[told % 16]);
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace

std::string to_string(const Finding& finding) {
  const std::string where = to_string(finding.origin);
  std::string text = where;
  // A place such as "--set limits.pipeline" already contains the path, and a flag stands for its key.
  const bool flag = where.starts_with("--") && where.find(' ') == std::string::npos;
  const bool told = flag || where.ends_with(" " + finding.path);
  if (!finding.path.empty() && !told) {
    text.append(text.empty() ? "" : ": ").append(finding.path);
  }
  return without_controls(text.append(text.empty() ? "" : ": ").append(finding.what));
}

void sort_by_place(Findings& findings) {
  // Equal places keep their order. (The library's stable sorts use a function that clang calls deprecated.)
  std::multimap<std::tuple<bool, std::uint32_t, std::uint32_t>, Finding> sorted;
  for (Finding& finding : findings) {
    const std::tuple place{finding.origin.line == 0, finding.origin.line, finding.origin.column};
    sorted.emplace(place, std::move(finding));
  }
  findings.clear();
  for (auto& [place, finding] : sorted) {
    findings.push_back(std::move(finding));
  }
}

runtime::Error to_error(Findings findings) {
  MXKV_ASSERT(!findings.empty(), "an error has a reason");
  sort_by_place(findings);
  std::string text;
  for (std::size_t i = 0; i < findings.size() && i < kMostFindingsShown; ++i) {
    text.append(i == 0 ? "" : "\n").append(to_string(findings[i]));
  }
  if (findings.size() > kMostFindingsShown) {
    text.append("\nand ").append(std::to_string(findings.size() - kMostFindingsShown)).append(" more");
  }
  return runtime::Error{std::move(text)};
}

}  // namespace mxkv::config
