// The kind and parameters of an operation, by its number, and the interval that it has to hold.
#include <algorithm>

#include "bench/figures/stm_operations.hpp"

namespace mxkv::bench {
namespace {

using runtime::Random;

stm_kind one_of(stm_kind first, stm_kind last, Random& random) noexcept {
  const auto low = static_cast<std::uint64_t>(first);
  return static_cast<stm_kind>(low + random.below(static_cast<std::uint64_t>(last) - low + 1));
}

void widen(LeafInterval& leaves, const LeafInterval& by) noexcept {
  leaves = {std::min(leaves.first, by.first), std::max(leaves.last, by.last)};
}
void widen(LeafInterval& leaves, std::uint32_t leaf) noexcept {
  widen(leaves, LeafInterval{leaf, leaf});
}

}  // namespace

stm_kind StmWork::draw_kind(Random& random) const noexcept {
  constexpr std::uint64_t kTraversals = 40;
  constexpr std::uint64_t kOperations = 45;
  constexpr std::uint64_t kModifications = 10;
  const std::uint64_t category = random.below(kTraversals + kOperations + kModifications);
  const bool reads = random.below(100) < read_percent_;
  if (category < kTraversals) {
    return reads ? one_of(stm_kind::st1, stm_kind::st9, random)
                 : one_of(stm_kind::st6, stm_kind::st10, random);
  }
  if (category < kTraversals + kOperations) {
    return reads ? one_of(stm_kind::op1, stm_kind::op8, random)
                 : one_of(stm_kind::op9, stm_kind::op15, random);
  }
  return one_of(stm_kind::sm1, stm_kind::sm8, random);
}

StmOperation StmWork::operation(std::uint64_t number) const noexcept {
  Random random{number + 1};
  StmOperation drawn{{}, false, draw_kind(random), 0, 0, random()};
  const stm_kind kind = drawn.kind;
  drawn.writes = (kind >= stm_kind::st6 && kind <= stm_kind::st10) || kind >= stm_kind::op9;
  drawn.assembly = Assembly::kFirstBase + static_cast<std::uint32_t>(random.below(Assembly::kBases));
  drawn.part = static_cast<std::uint32_t>(random.below(leaves()));
  const LeafInterval home = module_.interval(drawn.assembly);
  const LeafInterval siblings = module_.interval(Assembly::parent(drawn.assembly));
  LeafInterval& held = drawn.leaves;
  switch (kind) {
    case stm_kind::st1:  // from the root to one part, by a base assembly
    case stm_kind::st2:
    case stm_kind::st9:
    case stm_kind::st6:
    case stm_kind::st7:
    case stm_kind::st10:
    case stm_kind::sm4:
      drawn.part = module_.assemblies[drawn.assembly].parts.at(
          static_cast<std::uint32_t>(random.below(Assembly::kParts)));
      held = home;
      if (drawn.part < leaves()) {
        widen(held, drawn.part);
      }
      break;
    case stm_kind::st3:  // from a part upwards
      held = {drawn.part, drawn.part};
      module_.parts[drawn.part].used_in.each([&](std::uint32_t base) { widen(held, module_.home(base)); });
      break;
    case stm_kind::op1:  // ten atomic parts
    case stm_kind::op9: {
      held = {drawn.part, drawn.part};
      Random parts{drawn.seed};
      for (int i = 0; i < 10; ++i) {
        widen(held, static_cast<std::uint32_t>(parts.below(leaves())));
      }
      break;
    }
    case stm_kind::op4:  // the manual is above all
    case stm_kind::op5:
      held = {drawn.part, drawn.part};
      break;
    case stm_kind::op6:  // a complex assembly and those beside it
    case stm_kind::op12:
      drawn.assembly = static_cast<std::uint32_t>(random.below(Assembly::kFirstBase));
      held = module_.interval(Assembly::parent(drawn.assembly));
      break;
    case stm_kind::op7:
    case stm_kind::op13:
      held = siblings;
      break;
    case stm_kind::op8:  // the parts that a base assembly links to
    case stm_kind::op14:
      held = home;
      module_.assemblies[drawn.assembly].parts.each([&](std::uint32_t part) { widen(held, part); });
      break;
    case stm_kind::sm3:
      drawn.part = module_.part_near(drawn.assembly, random);
      held = home;
      widen(held, drawn.part);
      break;
    case stm_kind::sm5: {
      held = siblings;
      Random parts{drawn.seed};
      for (std::uint32_t i = 0; i < Assembly::kParts; ++i) {
        widen(held, module_.part_near(drawn.assembly, parts));
      }
      break;
    }
    case stm_kind::sm6:
      held = siblings;
      module_.assemblies[drawn.assembly].parts.each([&](std::uint32_t part) { widen(held, part); });
      break;
    case stm_kind::sm7:
    case stm_kind::sm8:
      drawn.assembly = 1 + static_cast<std::uint32_t>(random.below(Assembly::kFirstBase - 1));
      held = module_.whole();
      break;
    default:  // of the index by dates, of many parts at once, or up to the root
      held = module_.whole();
  }
  return drawn;
}

}  // namespace mxkv::bench
