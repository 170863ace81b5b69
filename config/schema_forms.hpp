// The schema's form of a value of each type: its text in both directions, and bounds. Used by the schema's
// files only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/parse.hpp"
#include "config/schema.hpp"
#include "runtime/base/nearest.hpp"

namespace mxkv::config {

constexpr std::size_t operator""_KiB(unsigned long long n) {
  return n << 10U;
}
constexpr std::size_t operator""_MiB(unsigned long long n) {
  return n << 20U;
}
constexpr std::size_t operator""_GiB(unsigned long long n) {
  return n << 30U;
}
constexpr std::size_t operator""_TiB(unsigned long long n) {
  return n << 40U;
}
constexpr std::uint32_t operator""_s(unsigned long long n) {
  return static_cast<std::uint32_t>(n * 1000);
}

inline std::string in_quotes(std::string_view text) {
  return "\"" + std::string{text} + "\"";
}

// A type of scalar: its text form in both directions.
template <class T>
struct Form {
  runtime::Result<T> (*parse)(std::string_view);
  std::string (*format)(T);
};

inline runtime::Result<std::uint32_t> parse_count(std::string_view text) {
  const runtime::Result<std::uint64_t> number = parse_number(text);
  if (!number) {
    return number.error();
  }
  // A number too large for the type is also too large for every range below: keep it too large.
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(number.value(), std::numeric_limits<std::uint32_t>::max()));
}

inline constexpr Form<std::uint32_t> kCount{parse_count,
                                            [](std::uint32_t value) { return std::to_string(value); }};
inline constexpr Form<std::uint32_t> kDuration{parse_duration_ms, format_duration_ms};
inline constexpr Form<std::size_t> kSize{parse_size, format_size};

// A value from `least` to `most`; `zero`, if given, is the word for 0, which may lie outside.
template <class T>
struct Range {
  constexpr Range(T from, T to, std::string_view word_for_0 = {}) : least(from), most(to), zero(word_for_0) {}
  T least;
  T most;
  std::string_view zero;
};

template <class T>
void ranged(SchemaVisitor& visitor, std::string_view name, T& target, const Form<T>& form,
            const std::type_identity_t<Range<T>>& range) {
  visitor.scalar(name, ScalarField{.set = [&target, form, range](std::string_view text) -> Mistake {
                                     if (!range.zero.empty() && text == range.zero) {
                                       target = 0;
                                       return {};
                                     }
                                     const runtime::Result<T> value = form.parse(text);
                                     if (!value) {
                                       return value.error();
                                     }
                                     if (value.value() < range.least || value.value() > range.most) {
                                       std::string allowed =
                                           form.format(range.least) + " to " + form.format(range.most);
                                       if (!range.zero.empty()) {
                                         allowed.append(", or ").append(range.zero);
                                       }
                                       return runtime::Error{in_quotes(text) +
                                                             " is out of range (allowed: " + allowed + ")"};
                                     }
                                     target = value.value();
                                     return {};
                                   },
                                   .get =
                                       [&target, form, range] {
                                         return target == 0 && !range.zero.empty() ? std::string{range.zero}
                                                                                   : form.format(target);
                                       }});
}

inline constexpr std::array<std::string_view, 2> kBoolWords{"false", "true"};

// One of several words; `T` is an enumeration whose values are the words' positions.
template <class T>
void choice(SchemaVisitor& visitor, std::string_view name, T& target,
            std::span<const std::string_view> words) {
  visitor.scalar(
      name,
      ScalarField{.set = [&target, words](std::string_view text) -> Mistake {
                    std::string allowed;
                    for (std::size_t i = 0; i < words.size(); ++i) {
                      if (text == words[i]) {
                        target = static_cast<T>(i);
                        return {};
                      }
                      allowed.append(i == 0 ? "" : ", ").append(words[i]);
                    }
                    const std::string meant = runtime::meant_word(text, words);
                    return runtime::Error{in_quotes(text) + " is unknown" +
                                          (meant.empty() ? "" : ", did you mean " + meant + "?") +
                                          " (allowed: " + allowed + ")"};
                  },
                  .get = [&target, words] { return std::string{words[static_cast<std::size_t>(target)]}; }});
}

inline void cpu_list(SchemaVisitor& visitor, std::string_view name, std::vector<runtime::PuId>& target) {
  visitor.scalar(name, ScalarField{.set = [&target](std::string_view text) -> Mistake {
                                     runtime::Result<std::vector<runtime::PuId>> cpus = parse_cpu_list(text);
                                     if (!cpus) {
                                       return cpus.error();
                                     }
                                     target = std::move(cpus).value();
                                     return {};
                                   },
                                   .get = [&target] { return format_cpu_list(target); }});
}

inline constexpr std::uint32_t kMostWorkers = 1024;
inline constexpr std::uint32_t kMostNodes = 1024;
inline constexpr std::uint32_t kMostDistance = 64;
inline constexpr std::uint32_t kMostWindow = 256;
inline constexpr std::size_t kLeastMemory = 16_MiB;
inline constexpr std::size_t kMostMemory = 64_TiB;
inline constexpr std::array<std::string_view, 4> kPrefetchWords{"off", "distance", "at_spawn", "auto"};

// A size, or a percentage of the available memory; "auto" is neither.
inline void memory_amount(SchemaVisitor& visitor, std::string_view name, std::size_t& bytes,
                          std::uint32_t& percent) {
  visitor.scalar(
      name, ScalarField{.set = [&bytes, &percent](std::string_view text) -> Mistake {
                          const runtime::Result<MemoryAmount> amount = parse_memory(text);
                          if (!amount) {
                            return amount.error();
                          }
                          const auto [size, part] = amount.value();
                          if (part == 0 && text != "auto" && (size < kLeastMemory || size > kMostMemory)) {
                            return runtime::Error{
                                in_quotes(text) + " is out of range (allowed: " + format_size(kLeastMemory) +
                                " to " + format_size(kMostMemory) + ", 1% to 100%, or auto)"};
                          }
                          bytes = size;
                          percent = part;
                          return {};
                        },
                        .get = [&bytes, &percent] { return format_memory({bytes, percent}); }});
}

// A file's name; `none` is the word for the empty one.
inline void file_name(SchemaVisitor& visitor, std::string_view name, std::string& target,
                      std::string_view none) {
  visitor.scalar(name,
                 ScalarField{.set = [&target, none](std::string_view text) -> Mistake {
                               if (text.empty()) {
                                 return runtime::Error{"is empty (allowed: a file's name, or " +
                                                       std::string{none} + ")"};
                               }
                               target = text == none ? "" : text;
                               return {};
                             },
                             .get = [&target, none] { return target.empty() ? std::string{none} : target; }});
}

template <class T, class Format>
std::vector<std::string> format_items(const std::vector<T>& items, Format format) {
  std::vector<std::string> texts;
  texts.reserve(items.size());
  for (const T& item : items) {
    texts.push_back(format(item));
  }
  return texts;
}

// The section of switches for research. Its keys formerly stood beside it.
inline void show_experimental(SchemaVisitor& visitor, const std::function<void(SchemaVisitor&)>& body) {
  visitor.section("experimental", body);
  visitor.moved("experimental", body);
}

// Keys of placement: schema_placement.cpp.
void show_placement(SchemaVisitor& visitor, PlacementOptions& target);
void show_topologies(SchemaVisitor& visitor, std::vector<TopologySection>& target);

// Keys of a cluster's node: schema_cluster.cpp.
void show_cluster(SchemaVisitor& visitor, ClusterOptions& options);

}  // namespace mxkv::config
