// Byte keys with values of 100 bytes out of line. Keys of 24 bytes are measured beside the peers, longer keys
// alone.
#include "bench/index/known_peers.hpp"
#include "bench/index/our_tree.hpp"

namespace mxkv::bench {

std::string measure_texts(const Plan& plan, const Print& print) {
  std::string faults;
  for (const unsigned workers : plan.workers) {
    Containers containers;
    containers.push_back(std::make_unique<OurTree<ItemKind<24>>>(workers));
    add_peers<PeerTexts>(containers);
    faults += run_session(plan, plan.keys, workers, containers, print);
  }
  return faults;
}

namespace {

template <std::size_t KeyBytes>
std::string measure_keys_of(const Plan& plan, const Print& print) {
  std::string faults;
  for (const unsigned workers : plan.workers) {
    Containers containers;
    containers.push_back(std::make_unique<OurTree<ItemKind<KeyBytes>>>(workers));
    faults += run_session(plan, std::max<std::uint64_t>(plan.keys / 5, 1), workers, containers, print);
  }
  return faults;
}

}  // namespace

std::string measure_long_keys(const Plan& plan, const Print& print) {
  return plan.records == "100-byte" ? measure_keys_of<100>(plan, print) : measure_keys_of<250>(plan, print);
}

}  // namespace mxkv::bench
