// Writes metrics in the text forms that Prometheus reads: its own, version 0.0.4, and OpenMetrics 1.0.
//
// They differ in a few places: in OpenMetrics a counter's family has no _total, a family names its unit, and
// the text has an end mark. The caller writes everything once, by the family's name without suffixes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace mxkv::server {

/// Thread-safety: as a plain value.
class Exposition {
 public:
  enum class form : std::uint8_t { prometheus, openmetrics };
  enum class type : std::uint8_t { counter, gauge, histogram, info };
  using Label = std::pair<std::string_view, std::string_view>;
  using Labels = std::initializer_list<Label>;

  explicit Exposition(form how) noexcept : form_(how) {}

  /// The form's content type, for the HTTP header.
  [[nodiscard]] static std::string_view content_type(form how) noexcept;
  /// The form that a client prefers by its header Accept.
  [[nodiscard]] static form asked_for(std::string_view accept) noexcept;

  /// The following samples belong to this family. Its unit is the end of its name: _seconds or _bytes.
  void family(type what, std::string_view name, std::string_view help);
  void add(std::uint64_t value) { add(Labels{}, value); }
  void add(Labels labels, std::uint64_t value);
  void add_real(double value) { add_real(Labels{}, value); }
  void add_real(Labels labels, double value);
  /// `counts[i]`: the number of values up to and including `bounds[i]`; `count`: the number of all values.
  void add_histogram(Labels labels, std::span<const double> bounds, std::span<const std::uint64_t> counts,
                     std::uint64_t count, double sum);

  [[nodiscard]] std::string finish() &&;

 private:
  void sample(std::string_view suffix, Labels labels, Label more, std::string_view value);

  form form_;
  type type_ = type::gauge;
  std::string name_;
  std::string text_;
};

}  // namespace mxkv::server
