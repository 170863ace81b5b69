// 64-bit keys with 64-bit values: our tree, its rows, its peers, and both ceilings.
#include "bench/index/known_peers.hpp"
#include "bench/index/over_our_tree.hpp"
#include "bench/index/random_lines.hpp"

namespace mxkv::bench {

std::string measure_integers(const Plan& plan, const Print& print) {
  std::string faults;
  for (const unsigned workers : plan.workers) {
    auto ours = std::make_unique<OurTree<IntegerKind>>(workers);
    auto in_rows = std::make_unique<TreeInRows>(*ours);
    auto by_hand = std::make_unique<HandWalkedTree>(*ours);
    Containers containers;
    containers.push_back(std::move(ours));
    containers.push_back(std::move(in_rows));
    containers.push_back(std::move(by_hand));
    containers.push_back(std::make_unique<RandomLines>(plan.line_bytes));
    if (plan.peers) {
      add_peers<PeerIntegers>(containers);
    }
    faults += run_session(plan, plan.keys, workers, containers, print);
  }
  return faults;
}

}  // namespace mxkv::bench
