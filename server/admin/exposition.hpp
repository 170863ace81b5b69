// Writes metrics in the text forms that Prometheus reads: its own, version 0.0.4, and OpenMetrics 1.0.
//
// They differ in a few places: a counter's family has no _total in OpenMetrics, which tells units and ends with a mark.
// Whoever calls says everything once, and by the family's name without the suffixes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace mxkv::server {

/// Thread-safety: that of a plain value.
class Exposition {
 public:
  enum class form : std::uint8_t { prometheus, openmetrics };
  enum class type : std::uint8_t { counter, gauge, histogram, info };
  using Label = std::pair<std::string_view, std::string_view>;
  using Labels = std::initializer_list<Label>;

  explicit Exposition(form how) noexcept : form_(how) {}

  /// What this form is called in a header.
  [[nodiscard]] static std::string_view content_type(form how) noexcept;
  /// The form that a client asks for by its header Accept.
  [[nodiscard]] static form asked_for(std::string_view accept) noexcept;

  /// Samples that follow are of this family. Its unit is the end of its name: _seconds or _bytes.
  void family(type what, std::string_view name, std::string_view help);
  void add(std::uint64_t value) { add(Labels{}, value); }
  void add(Labels labels, std::uint64_t value);
  void add_real(double value) { add_real(Labels{}, value); }
  void add_real(Labels labels, double value);
  /// `counts[i]`: values up to and with `bounds[i]`, of which all that are less are a part; `count`: of all values.
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
