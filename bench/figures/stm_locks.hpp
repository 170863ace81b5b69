// STMBench7's own locks, of readers and writers: a coarse one for all, and the medium-grained ones, one for
// every level of assemblies, for composite parts, atomic parts, documents and the manual, and one for the
// structure, which its modifications take alone and all others share.
#pragma once

#include <array>
#include <cstdint>
#include <shared_mutex>

#include "bench/figures/stm_operations.hpp"

namespace mxkv::bench {

class CoarseLock {
 public:
  template <class Body>
  void guard(const StmOperation& operation, const Body& body) {
    if (operation.writes) {
      const std::unique_lock lock{lock_};
      body();
    } else {
      const std::shared_lock lock{lock_};
      body();
    }
  }

 private:
  std::shared_mutex lock_;
};

class MediumLocks {
 public:
  template <class Body>
  void guard(const StmOperation& operation, const Body& body) {
    const Needs needs = needs_of(operation);
    for (std::uint32_t i = 0; i < kLocks; ++i) {  // upwards, so that there is no cycle
      if ((needs.writes >> i & 1U) != 0) {
        locks_[i].lock();
      } else if ((needs.reads >> i & 1U) != 0) {
        locks_[i].lock_shared();
      }
    }
    body();
    for (std::uint32_t i = kLocks; i-- > 0;) {
      if ((needs.writes >> i & 1U) != 0) {
        locks_[i].unlock();
      } else if ((needs.reads >> i & 1U) != 0) {
        locks_[i].unlock_shared();
      }
    }
  }

 private:
  struct Needs {
    std::uint32_t reads;
    std::uint32_t writes;
  };
  static constexpr std::uint32_t kStructure = 1;
  static constexpr std::uint32_t kLevel = 2;  ///< of the root; of level i below it: shifted by i
  static constexpr std::uint32_t kLevels = ((1U << Assembly::kLevels) - 1) * kLevel;
  static constexpr std::uint32_t kBases = kLevel << (Assembly::kLevels - 1);
  static constexpr std::uint32_t kParts = kBases << 1U;
  static constexpr std::uint32_t kAtomicParts = kParts << 1U;  ///< and their index by dates
  static constexpr std::uint32_t kDocuments = kAtomicParts << 1U;
  static constexpr std::uint32_t kManual = kDocuments << 1U;
  static constexpr std::uint32_t kLocks = Assembly::kLevels + 5;

  [[nodiscard]] static std::uint32_t level_of_siblings(std::uint32_t assembly) noexcept {
    std::uint32_t level = kLevel << 1U;  // the root has none, its children stand for them
    for (std::uint32_t i = Assembly::parent(assembly); i != 0; i = Assembly::parent(i)) {
      level <<= 1U;
    }
    return level;
  }
  [[nodiscard]] static Needs needs_of(const StmOperation& operation) noexcept {
    switch (operation.kind) {
      case stm_kind::st1:
      case stm_kind::st9:
        return {kStructure | kLevels | kParts | kAtomicParts, 0};
      case stm_kind::st2:
        return {kStructure | kLevels | kParts | kDocuments, 0};
      case stm_kind::st3:
        return {kStructure | kLevels | kParts, 0};
      case stm_kind::st4:
      case stm_kind::st5:
      case stm_kind::op8:
        return {kStructure | kBases | kParts, 0};
      case stm_kind::st6:
      case stm_kind::st10:
        return {kStructure | kLevels | kParts, kAtomicParts};
      case stm_kind::st7:
        return {kStructure | kLevels | kParts, kDocuments};
      case stm_kind::st8:
        return {kStructure | kParts, kLevels};
      case stm_kind::op1:
      case stm_kind::op2:
      case stm_kind::op3:
        return {kStructure | kAtomicParts, 0};
      case stm_kind::op9:
      case stm_kind::op10:
      case stm_kind::op15:
        return {kStructure, kAtomicParts};
      case stm_kind::op4:
      case stm_kind::op5:
        return {kStructure | kManual, 0};
      case stm_kind::op11:
        return {kStructure, kManual};
      case stm_kind::op6:
      case stm_kind::op7:
        return {kStructure | level_of_siblings(operation.assembly), 0};
      case stm_kind::op12:
      case stm_kind::op13:
        return {kStructure, level_of_siblings(operation.assembly)};
      case stm_kind::op14:
        return {kStructure | kBases, kParts};
      default:
        return {0, kStructure};
    }
  }

  std::array<std::shared_mutex, kLocks> locks_;
};

}  // namespace mxkv::bench
