#include "bench/client/help_text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "bench/client/arguments.hpp"

namespace mxkv::bench {
namespace {

/// Properties that are no flags and no names of YCSB's.
constexpr std::string_view kOwnProperties =
    "  -p redis.index=true         inserts keep the sorted set that scans need\n"
    "and db_bench's value_k, iter_k, keyrange_dist_a, key_dist_a, sine_a and so on (bench/README.md)";

constexpr std::string_view kExamples =
    "Examples:\n"
    "  mxkv-ycsb load --workload a --recordcount 1000000\n"
    "  mxkv-ycsb run --workload a --recordcount 1000000 --operationcount 5000000 --threads 2 --connections "
    "32 \\\n"
    "      --depth 16\n"
    "  mxkv-ycsb run --workload b --target 20000 --maxexecutiontime 60 --operationcount 0 --json b.json\n"
    "  mxkv-ycsb run --readproportion 0.8 --updateproportion 0.1 --deleteproportion 0.1 --ttl 60\n"
    "  mxkv-ycsb run --trace cluster.csv --fill-misses --trace-speed 0\n"
    "  mxkv-ycsb plot b.json -o b.html\n";

/// Flags of memtier_benchmark and redis-benchmark, and what mxkv-ycsb has instead.
constexpr std::array<runtime::ForeignWord, 12> kForeign{{
    {"-h", "here --server HOST:PORT"},
    {"--host", "here --server HOST:PORT"},
    {"--port", "here --server HOST:PORT"},
    {"-c", "here --connections N, over all threads"},
    {"--clients", "here --connections N, over all threads"},
    {"-n", "here --operationcount N, over all threads"},
    {"--requests", "here --operationcount N, over all threads"},
    {"--ratio", "here --readproportion P and --updateproportion P"},
    {"--data-size", "here --value-bytes N"},
    {"-d", "here --value-bytes N"},
    {"--pipeline", "here --depth N"},
    {"--test-time", "here --maxexecutiontime SECONDS and --operationcount 0"},
}};

}  // namespace

std::string examples() {
  return std::string(kExamples);
}

runtime::WordHints hints() {
  runtime::WordHints hints{.foreign = kForeign, .options = {"--value-bytes", "--key-bytes"}};
  for (const PropertyFlag& flag : property_flags()) {
    hints.options.push_back("--" + std::string(flag.flag));
  }
  return hints;
}

std::string footer() {
  std::string text =
      std::string(kExamples) +
      "YCSB's -s (progress lines), -l LABEL, -threads N, -target N, -db STORE, -load and -t are understood.\n"
      "Properties by flag, in brackets their defaults; all others by -p:\n";
  for (const PropertyFlag& flag : property_flags()) {
    std::string line = "  --" + std::string(flag.flag);
    line.resize(std::max<std::size_t>(line.size() + 1, 30), ' ');
    text += line + std::string(flag.help) + '\n';
  }
  return text + "  --value-bytes N             one field of N bytes\n" +
         "  --key-bytes N               keys of exactly N bytes, 23 to 250\n" + std::string(kOwnProperties);
}

}  // namespace mxkv::bench
