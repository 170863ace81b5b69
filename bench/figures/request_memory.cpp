// The value allocator against malloc under the requests of figure-las [LAS figs. 9-11].
#include <string>

#include "bench/figures/figure.hpp"
#include "bench/figures/requests.hpp"

namespace {

using namespace mxkv;  // NOLINT(google-build-using-namespace): a program, not a header
using bench::block_source;
using bench::RequestRun;

}  // namespace

int main(int argc, char** argv) {
  RequestRun::Options requests;
  bench::Figure figure{"request-memory",
                       "Blocks of requests from the value allocator and from malloc [LAS figs. 9-11]"};
  std::uint64_t at_once = requests.at_once;
  figure.number("requests", requests.requests, "requests a measurement");
  figure.number("at-once", at_once, "requests at a time", 1, 1024);
  if (const auto code = figure.parse(argc, argv)) {
    return *code;
  }
  requests.at_once = at_once;
  std::vector<bench::Variant> variants;
  for (const std::size_t block_bytes :
       {std::size_t{8} << 10U, std::size_t{64} << 10U, std::size_t{512} << 10U}) {
    for (const bench::RequestShape& shape : bench::request_shapes()) {
      for (const block_source source : {block_source::malloc, block_source::value_heap}) {
        RequestRun::Options options = requests;
        options.shape = shape;
        options.block_bytes = block_bytes;
        options.source = source;
        variants.push_back({source == block_source::malloc ? "malloc" : "value allocator",
                            std::string{shape.name} + ", " + std::to_string(block_bytes >> 10U) + " KiB",
                            [options] { return bench::request_ms(runtime::task_order::las, options); }});
      }
    }
  }
  figure.measure(variants, "ms a request");
  return 0;
}
