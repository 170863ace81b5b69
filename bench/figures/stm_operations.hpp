// Operations on a module in STMBench7's manner [To 4.1]: short traversals, queries and updates, structure
// modifications, under its names (ST, OP, SM) and in its default proportions, 40 : 45 : 10. Its long
// traversals are off: each would touch the whole module, and no lock matters beside it.
//
// An operation follows its links before it holds anything, to know what to hold. If a link has changed when
// the operation runs, the operation fails, as STMBench7's do if they find nothing under the number they drew.
#pragma once

#include <cstdint>

#include "bench/figures/stm_module.hpp"

namespace mxkv::bench {

enum class stm_kind : std::uint8_t {
  st1,
  st2,
  st3,
  st4,
  st5,
  st9,  // short traversals that read
  st6,
  st7,
  st8,
  st10,  // that write
  op1,
  op2,
  op3,
  op4,
  op5,
  op6,
  op7,
  op8,  // operations that read
  op9,
  op10,
  op11,
  op12,
  op13,
  op14,
  op15,  // that write
  sm1,
  sm2,
  sm3,
  sm4,
  sm5,
  sm6,
  sm7,
  sm8  // structure modifications
};

struct StmOperation {
  LeafInterval leaves;
  bool writes;
  stm_kind kind;
  std::uint32_t assembly;  ///< base or complex, by the kind
  std::uint32_t part;
  std::uint64_t seed;  ///< for its other random choices
};

/// The Work of hierarchy_runs.hpp.
class StmWork {
 public:
  using Operation = StmOperation;

  StmWork(const StmSizes& sizes, std::uint64_t read_percent) : module_(sizes), read_percent_(read_percent) {}

  [[nodiscard]] std::uint32_t leaves() const noexcept { return module_.leaves(); }
  [[nodiscard]] StmOperation operation(std::uint64_t number) const noexcept;
  void run(const StmOperation& operation, Tally& tally);
  /// Whether the module is valid after `all` operations.
  [[nodiscard]] bool right(const Tally& all) const {
    return all.disturbed == 0 && all.written == module_.witnessed() && module_.consistent();
  }

 private:
  [[nodiscard]] stm_kind draw_kind(runtime::Random& random) const noexcept;

  StmModule module_;
  std::uint64_t read_percent_;
};

}  // namespace mxkv::bench
