// Prints the first operations of a workload's stream, a line each, for a comparison with formulas computed
// elsewhere.
//
// ycsb_stream operations SEED COUNT NAME=VALUE..   kind, record, key, scan length, field to read, field to
// write ycsb_stream lengths SEED COUNT NAME=VALUE..      lengths of fields
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/workload/core_workload.hpp"
#include "bench/workload/operations.hpp"

namespace {

using namespace mxkv::bench;

void print_field(std::uint32_t field) {
  if (field == kAllFields) {
    std::printf(" -");
  } else {
    std::printf(" %u", field);
  }
}

void print_operations(const WorkloadSpec& spec, std::uint64_t count) {
  SharedWorkload shared(spec);
  OperationSource source(shared, 0, 1);
  const KeyFormat keys(spec.zero_padding);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto operation = source.next();
    if (!operation) {
      return;
    }
    const OperationKind kind = operation->modify ? OperationKind::read_modify_write : operation->kind;
    if (kind == OperationKind::insert && !spec.load) {
      shared.inserted().acknowledge(operation->record);
    }
    std::array<char, KeyFormat::kMaxBytes> key;
    const std::size_t bytes = keys.write(operation->key_hash, key.data());
    std::printf("%s %llu %.*s %u", std::string(report_name(kind)).c_str(),
                static_cast<unsigned long long>(operation->record), static_cast<int>(bytes), key.data(),
                operation->scan_length);
    print_field(operation->read_field);
    print_field(operation->update_field);
    std::printf("\n");
  }
}

void print_lengths(const WorkloadSpec& spec, std::uint64_t count) {
  mxkv::runtime::Random random(spec.seed);
  FieldLengthSource lengths(spec.fields);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::printf("%zu\n", lengths.next(random));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 3) {
    std::fprintf(stderr, "usage: ycsb_stream operations|lengths SEED COUNT NAME=VALUE..\n");
    return 2;
  }
  Properties properties;
  for (std::size_t i = 3; i < arguments.size(); ++i) {
    const std::size_t equals = arguments[i].find('=');
    properties.set(arguments[i].substr(0, equals), arguments[i].substr(equals + 1), "argument");
  }
  PropertyReader reader(properties);
  WorkloadSpec spec = read_core_workload(reader, false);
  for (const std::string& problem : reader.problems()) {
    std::fprintf(stderr, "%s\n", problem.c_str());
  }
  if (!reader.problems().empty()) {
    return 2;
  }
  spec.seed = std::stoull(arguments[1]);
  const std::uint64_t count = std::stoull(arguments[2]);
  if (arguments[0] == "lengths") {
    print_lengths(spec, count);
  } else {
    print_operations(spec, count);
  }
  return 0;
}
