#include "bench/workload/fields.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "bench/workload/java_text.hpp"
#include "bench/workload/number.hpp"
#include "bench/workload/uniform.hpp"
#include "bench/workload/values.hpp"

namespace mxkv::bench {
namespace {

constexpr std::uint64_t kFieldStep = 0xD1B54A32D192ED03ULL;
constexpr std::uint64_t kVersionStep = 0x9E3779B97F4A7C15ULL;

/// The seed for the contents of one field, in place of the key's hash.
constexpr std::uint64_t seed_of_field(std::uint64_t key_hash, std::uint32_t field) noexcept {
  return key_hash + (field + 1) * kFieldStep;
}

}  // namespace

runtime::Result<WeightedSizes> parse_length_histogram(std::string_view text, const std::string& file) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  std::uint64_t block_bytes = 0;
  std::vector<std::uint64_t> counts;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    const std::size_t tab = line.find('\t');
    const std::string_view name = line.substr(0, tab);
    // A text that is no number counts as too large a number.
    const std::uint64_t value =
        (tab == std::string_view::npos ? std::nullopt : parse_number(line.substr(tab + 1)))
            .value_or(kMost + 1);
    const bool head = number == 1;
    const bool named = head ? name == "BlockSize" : parse_number(name) == number - 2;
    if (!named || value > kMost || (head && value == 0)) {
      return runtime::Error{file + ":" + std::to_string(number) + ": not " +
                            (head ? "BlockSize, a tab, and a number"
                                  : "bucket " + std::to_string(number - 2) + ", a tab, and a count")};
    }
    if (head) {
      block_bytes = value;
    } else {
      counts.push_back(value);
    }
  }
  const std::uint64_t sum = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (sum == 0) {
    return runtime::Error{file + ": has no counts"};
  }
  // YCSB takes a bucket's bound itself too, and gives the last bucket the length of the one before it.
  WeightedSizes sizes;
  std::uint64_t passed = 0;
  for (std::size_t bucket = 0; bucket + 1 < counts.size(); ++bucket) {
    passed += counts[bucket];
    sizes.add((bucket + 1) * block_bytes, std::min(passed + 1, sum));
  }
  sizes.add((counts.size() - 1) * block_bytes, sum);
  return sizes;
}

std::size_t FieldSpec::least_field_bytes() const noexcept {
  switch (lengths) {
    case FieldLengths::constant:
      return bytes;
    case FieldLengths::uniform:
    case FieldLengths::zipfian:
    case FieldLengths::pareto:
      return min_bytes;
    case FieldLengths::histogram:
    case FieldLengths::weighted:
      return weights.least_bytes();
  }
  return bytes;
}

std::size_t FieldSpec::most_field_bytes() const noexcept {
  return lengths == FieldLengths::histogram || lengths == FieldLengths::weighted ? weights.most_bytes()
                                                                                 : bytes;
}

std::size_t FieldLengthSource::next(runtime::Random& random) noexcept {
  switch (spec_->lengths) {
    case FieldLengths::constant:
      break;
    case FieldLengths::uniform:
      return spec_->min_bytes + next_below(random, spec_->bytes - spec_->min_bytes + 1);
    case FieldLengths::zipfian:
      return spec_->min_bytes + zipfian_.next(random);
    case FieldLengths::pareto:
      return folded_length(spec_->pareto.quantile(next_unit(random)), spec_->min_bytes, spec_->bytes);
    case FieldLengths::histogram:
    case FieldLengths::weighted:
      return spec_->weights.bytes_of(next_below(random, spec_->weights.draws()));
  }
  return spec_->bytes;
}

FieldFormat::FieldFormat(FieldSpec spec, KeyFormat keys)
    : spec_(std::move(spec)), keys_(keys), zipfian_(FieldLengthSource::zipfian_of(spec_)) {}

std::optional<std::size_t> FieldFormat::constant_record_bytes() const noexcept {
  return spec_.lengths == FieldLengths::constant ? std::optional(most_record_bytes()) : std::nullopt;
}

std::vector<std::size_t> FieldFormat::field_bytes(std::uint64_t key_hash, std::uint64_t version) const {
  std::vector<std::size_t> bytes(spec_.count);
  runtime::Random random(key_hash ^ (version * kVersionStep));
  FieldLengthSource lengths(spec_, zipfian_);
  for (std::size_t& field : bytes) {
    field = lengths.next(random);
  }
  return bytes;
}

std::size_t FieldFormat::record_bytes(std::uint64_t key_hash, std::uint64_t version) const {
  if (spec_.lengths == FieldLengths::constant) {
    return most_record_bytes();
  }
  std::size_t sum = 0;
  for (const std::size_t field : field_bytes(key_hash, version)) {
    sum += field;
  }
  return sum;
}

void FieldFormat::write_record(std::uint64_t key_hash, std::uint64_t version, char* out,
                               std::size_t bytes) const {
  if (!spec_.integrity) {
    write_value(key_hash, version, out, bytes);
    return;
  }
  for (std::uint32_t field = 0; field < spec_.count; ++field) {
    write_integrity(key_hash, field, out + field * spec_.bytes, spec_.bytes);
  }
}

bool FieldFormat::record_matches(std::uint64_t key_hash, std::string_view data) const {
  if (!spec_.integrity) {
    return data.size() >= spec_.count * spec_.least_field_bytes() && data.size() <= most_record_bytes() &&
           value_matches(key_hash, data, data.size());
  }
  if (data.size() != most_record_bytes()) {
    return false;
  }
  for (std::uint32_t field = 0; field < spec_.count; ++field) {
    if (!field_matches(key_hash, field, data.substr(field * spec_.bytes, spec_.bytes))) {
      return false;
    }
  }
  return true;
}

void FieldFormat::write_field(std::uint64_t key_hash, std::uint64_t version, std::uint32_t field, char* out,
                              std::size_t bytes) const {
  if (spec_.integrity) {
    write_integrity(key_hash, field, out, bytes);
  } else {
    write_value(seed_of_field(key_hash, field), version, out, bytes);
  }
}

bool FieldFormat::field_matches(std::uint64_t key_hash, std::uint32_t field, std::string_view data) const {
  if (data.size() < spec_.least_field_bytes() || data.size() > spec_.most_field_bytes()) {
    return false;
  }
  if (!spec_.integrity) {
    return value_matches(seed_of_field(key_hash, field), data, data.size());
  }
  std::string expected(data.size(), '\0');
  write_integrity(key_hash, field, expected.data(), expected.size());
  return expected == data;
}

/// "<key>:<field name>", then again and again ":" and the hash of the text so far, cut to the length.
void FieldFormat::write_integrity(std::uint64_t key_hash, std::uint32_t field, char* out,
                                  std::size_t bytes) const {
  std::size_t filled = 0;
  std::int32_t hash = 0;
  const auto append = [&](std::string_view text) {
    hash = java_hash(text, hash);
    const std::size_t part = std::min(text.size(), bytes - filled);
    std::memcpy(out + filled, text.data(), part);
    filled += part;
  };
  std::array<char, KeyFormat::kMaxBytes> key;
  append({key.data(), keys_.write(key_hash, key.data())});
  append(":field" + std::to_string(field));
  while (filled < bytes) {
    append(":");
    append(std::to_string(hash));
  }
}

}  // namespace mxkv::bench
