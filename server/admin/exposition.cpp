#include "server/admin/exposition.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

#include "runtime/base/assert.hpp"
#include "server/admin/http_accept.hpp"

namespace mxkv::server {

namespace {

constexpr std::string_view kOpenMetrics = "application/openmetrics-text";
constexpr std::string_view kText = "text/plain";

std::string_view name_of(Exposition::type what) noexcept {
  switch (what) {
    case Exposition::type::counter:
      return "counter";
    case Exposition::type::gauge:
      return "gauge";
    case Exposition::type::histogram:
      return "histogram";
    case Exposition::type::info:
      return "info";
  }
  return "unknown";
}

std::string text_of(double value) {
  if (!std::isfinite(value)) {
    return std::isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
  }
  std::array<char, 32> room{};
  const auto end = std::to_chars(room.data(), room.data() + room.size(), value).ptr;
  return {room.data(), end};
}

void add_escaped(std::string& text, std::string_view part, bool quotes) {
  for (const char c : part) {
    if (c == '\n') {
      text += "\\n";
    } else {
      if (c == '\\' || (quotes && c == '"')) {
        text += '\\';
      }
      text += c;
    }
  }
}

}  // namespace

std::string_view Exposition::content_type(form how) noexcept {
  return how == form::openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                  : "text/plain; version=0.0.4; charset=utf-8";
}

// OpenMetrics is only for clients that name it: a client with a general range may show the text to a person.
// A client that accepts neither form gets Prometheus' own, as RFC 9110 allows, because an error would tell it
// less.
Exposition::form Exposition::asked_for(std::string_view accept) noexcept {
  const AcceptWeight open = weight_of(accept, kOpenMetrics);
  return open.named && open.thousandths != 0 && open.thousandths >= weight_of(accept, kText).thousandths
             ? form::openmetrics
             : form::prometheus;
}

void Exposition::family(type what, std::string_view name, std::string_view help) {
  type_ = what;
  name_ = name;
  const bool open = form_ == form::openmetrics;
  // Prometheus' own form has no type info, and names a family like its samples.
  const std::string_view suffix = open                    ? ""
                                  : what == type::counter ? "_total"
                                  : what == type::info    ? "_info"
                                                          : "";
  const std::string_view kind = !open && what == type::info ? "gauge" : name_of(what);
  const std::string full = name_ + std::string{suffix};
  text_.append("# HELP ").append(full).append(" ");
  add_escaped(text_, help, open);
  text_.append("\n# TYPE ").append(full).append(" ").append(kind).append("\n");
  for (const std::string_view unit : {"seconds", "bytes"}) {
    if (open && name.ends_with(unit) && name.size() > unit.size()) {
      text_.append("# UNIT ").append(full).append(" ").append(unit).append("\n");
    }
  }
}

void Exposition::sample(std::string_view suffix, Labels labels, Label more, std::string_view value) {
  text_.append(name_).append(suffix);
  char before = '{';
  const auto add_label = [&](const Label& label) {
    text_ += std::exchange(before, ',');
    text_.append(label.first).append("=\"");
    add_escaped(text_, label.second, true);
    text_ += '"';
  };
  for (const Label& label : labels) {
    add_label(label);
  }
  if (!more.first.empty()) {
    add_label(more);
  }
  if (before == ',') {
    text_ += '}';
  }
  text_.append(" ").append(value).append("\n");
}

void Exposition::add(Labels labels, std::uint64_t value) {
  sample(type_ == type::counter ? "_total"
         : type_ == type::info  ? "_info"
                                : "",
         labels, {}, std::to_string(value));
}

void Exposition::add_real(Labels labels, double value) {
  sample(type_ == type::counter ? "_total" : "", labels, {}, text_of(value));
}

void Exposition::add_histogram(Labels labels, std::span<const double> bounds,
                               std::span<const std::uint64_t> counts, std::uint64_t count, double sum) {
  MXKV_ASSERT(bounds.size() == counts.size() && type_ == type::histogram, "each bound has a count");
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    sample("_bucket", labels, {"le", text_of(bounds[i])}, std::to_string(counts[i]));
  }
  sample("_bucket", labels, {"le", "+Inf"}, std::to_string(count));
  sample("_sum", labels, {}, text_of(sum));
  sample("_count", labels, {}, std::to_string(count));
}

std::string Exposition::finish() && {
  if (form_ == form::openmetrics) {
    text_ += "# EOF\n";
  }
  return std::move(text_);
}

}  // namespace mxkv::server
