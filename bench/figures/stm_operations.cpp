#include "bench/figures/stm_operations.hpp"

#include <array>
#include <utility>

#include "bench/figures/stm_run.hpp"

namespace mxkv::bench {
namespace {

/// All assemblies below an assembly, level by level; at a base assembly `i` is one past the base assemblies.
template <class Visit>
void each_below(std::uint32_t top, const Visit& visit) {
  std::uint32_t first = top;
  std::uint32_t last = top;
  while (first < Assembly::kAll) {
    for (std::uint32_t i = first; i <= last; ++i) {
      visit(i);
    }
    first = first * Assembly::kFanOut + 1;
    last = last * Assembly::kFanOut + Assembly::kFanOut;
  }
}

}  // namespace

bool StmRun::modify_subtree(bool creates) {
  const bool above = module_.assemblies[Assembly::parent(operation_.assembly)].present;
  if (!above || assembly().present == creates || (!creates && only_child())) {
    return false;
  }
  each_below(operation_.assembly, [&](std::uint32_t i) {
    Assembly& changed = module_.assemblies[i];
    const Writing writing{changed.witness, tally_};
    if (!Assembly::base(i)) {
      changed.present = creates;
    } else if (creates) {
      std::array<std::uint32_t, Assembly::kParts> linked{};
      for (std::uint32_t& part : linked) {
        part = module_.part_near(i, random_);
      }
      module_.create_base(i, linked);
    } else {
      module_.remove_base(i);
    }
  });
  return true;
}

bool StmRun::modify_parts() {
  const Writing writing{module_.index_witness, tally_};
  const bool creates = operation_.kind == stm_kind::sm1;
  std::uint32_t at = operation_.part;
  for (std::uint32_t i = 0; creates && i < module_.leaves() && module_.parts[at].present; ++i) {
    at = (at + 1) % module_.leaves();
  }
  if (module_.parts[at].present == creates) {
    return false;
  }
  const Writing changing{module_.parts[at].witness, tally_};
  if (creates) {
    module_.create_part(at, random_);
  } else {
    module_.remove_part(at);
  }
  return true;
}

bool StmRun::modify() {
  switch (operation_.kind) {
    case stm_kind::sm1:
    case stm_kind::sm2:
      return modify_parts();
    case stm_kind::sm3:
    case stm_kind::sm4: {
      if (operation_.part >= module_.leaves()) {
        return false;
      }
      const Writing one{assembly().witness, tally_};
      const Writing other{part().witness, tally_};
      return operation_.kind == stm_kind::sm3 ? module_.link(operation_.assembly, operation_.part)
                                              : module_.unlink(operation_.assembly, operation_.part);
    }
    case stm_kind::sm7:
    case stm_kind::sm8:
      return modify_subtree(operation_.kind == stm_kind::sm7);
    case stm_kind::sm6: {
      bool held = true;
      assembly().parts.each([&](std::uint32_t part) { held = held && holds(part); });
      return held && modify_subtree(false);
    }
    default:
      return modify_subtree(true);
  }
}

bool StmRun::run() {
  switch (operation_.kind) {
    case stm_kind::st1:
      return read_atomic(false);
    case stm_kind::st2:
      return document(false);
    case stm_kind::st3:
      return users(false);
    case stm_kind::st4:
      return documents_users();
    case stm_kind::st5:
      return newer_parts();
    case stm_kind::st6:
      return write_atomic(false);
    case stm_kind::st7:
      return document(true);
    case stm_kind::st8:
      return users(true);
    case stm_kind::st9:
      return read_atomic(true);
    case stm_kind::st10:
      return write_atomic(true);
    case stm_kind::op1:
      return ten([this](CompositePart& in, std::uint32_t number) {
        const Reading reading{in.atomic_witness, tally_};
        read(atomic(number));
      });
    case stm_kind::op9:
      return ten([this](CompositePart& in, std::uint32_t number) {
        const Writing writing{in.atomic_witness, tally_};
        std::swap(atomic(number).x, atomic(number).y);
      });
    case stm_kind::op2:
      return read_dates(StmModule::kDates / 100);
    case stm_kind::op3:
      return read_dates(StmModule::kDates / 10);
    case stm_kind::op10:
      return write_dates();
    case stm_kind::op15:
      return change_dates();
    case stm_kind::op4:
    case stm_kind::op5: {
      const Reading reading{module_.manual_witness, tally_};
      count_text(operation_.kind == stm_kind::op4 ? module_.manual : module_.manual.substr(0, 1));
      return true;
    }
    case stm_kind::op11: {
      const Writing writing{module_.manual_witness, tally_};
      change_text(module_.manual);
      return true;
    }
    case stm_kind::op6:
      return siblings(false);
    case stm_kind::op12:
      return siblings(true);
    case stm_kind::op7:
      return siblings(false);
    case stm_kind::op13:
      return siblings(true);
    case stm_kind::op8:
      return components(false);
    case stm_kind::op14:
      return components(true);
    default:
      return modify();
  }
}

void StmWork::run(const StmOperation& operation, Tally& tally) {
  tally.failed += StmRun{module_, operation, tally}.run() ? 0 : 1;
}

}  // namespace mxkv::bench
