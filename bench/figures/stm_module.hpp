// A module as in STMBench7 [To 4.1]: a tree of assemblies whose leaves, the base assemblies, link to
// composite parts, which several of them share; each part has a document and a graph of atomic parts.
//
// Composite parts are the leaves of the interval numbering. Every base assembly has a home among them, by its
// place in the tree, and a complex assembly is the interval of the homes below it. The holder of an interval
// may write all parts within it, and also read the nodes above: a writer of a node above holds that node's
// whole interval, so the two overlap. The manual and the index by dates belong to the root.
//
// STMBench7 draws the parts of a base assembly from all parts, which makes most intervals wide; `reach` draws
// them from as many parts around its home.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/figures/interval_locks.hpp"
#include "bench/figures/witness.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::bench {

struct StmSizes {
  std::uint32_t parts = 500;         ///< composite parts; there is room for a tenth more
  std::uint32_t atomic_parts = 200;  ///< a composite part
  std::uint32_t document_bytes = 20'000;
  std::uint32_t manual_bytes = 1'000'000;
  std::uint32_t reach = 500;
};

struct AtomicPart {
  static constexpr std::uint32_t kConnections = 6;
  std::uint32_t x;
  std::uint32_t y;
  std::uint32_t date;
  std::array<std::uint32_t, kConnections> to;  ///< in the same composite part
};

/// Atomic and relaxed, because an operation reads links before it holds them, to find out what to hold.
template <std::uint32_t kMost>
class LinkSet {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  [[nodiscard]] std::uint32_t at(std::uint32_t i) const noexcept {
    return links_[i].load(std::memory_order_relaxed);
  }
  bool replace(std::uint32_t from, std::uint32_t to) noexcept {
    for (auto& link : links_) {
      if (link.load(std::memory_order_relaxed) == from) {
        link.store(to, std::memory_order_relaxed);
        return true;
      }
    }
    return false;
  }
  bool add(std::uint32_t link) noexcept { return replace(kNone, link); }
  bool remove(std::uint32_t link) noexcept { return replace(link, kNone); }
  template <class Visit>
  void each(const Visit& visit) const {
    for (const auto& link : links_) {
      if (const std::uint32_t to = link.load(std::memory_order_relaxed); to != kNone) {
        visit(to);
      }
    }
  }

 private:
  struct Link : std::atomic<std::uint32_t> {
    Link() noexcept : std::atomic<std::uint32_t>(kNone) {}
  };
  std::array<Link, kMost> links_;
};

struct CompositePart {
  static constexpr std::uint32_t kMostUsers = 32;
  bool present = false;
  std::uint32_t date = 0;
  LinkSet<kMostUsers> used_in;  ///< base assemblies
  std::vector<AtomicPart> parts;
  std::string document;
  Witness witness;  ///< of the part itself; its contents have their own, because some locks distinguish them
  Witness atomic_witness;
  Witness document_witness;
};

/// A complete tree in an array: the root is 0, the children of i are 3 i + 1 to 3 i + 3. Below an absent
/// assembly all are absent.
struct Assembly {
  static constexpr std::uint32_t kFanOut = 3;
  static constexpr std::uint32_t kLevels = 7;
  static constexpr std::uint32_t kBases = 729;
  static constexpr std::uint32_t kFirstBase = 364;
  static constexpr std::uint32_t kAll = kFirstBase + kBases;
  static constexpr std::uint32_t kMostParts = 8;
  static constexpr std::uint32_t kParts = 3;  ///< at first
  bool present = true;
  std::uint32_t date = 0;
  LinkSet<kMostParts> parts;  ///< of a base assembly
  Witness witness;

  [[nodiscard]] static std::uint32_t parent(std::uint32_t i) noexcept {
    return i == 0 ? 0 : (i - 1) / kFanOut;
  }
  [[nodiscard]] static bool base(std::uint32_t i) noexcept { return i >= kFirstBase; }
};

class StmModule {
 public:
  static constexpr std::uint32_t kDates = 1'000;

  explicit StmModule(const StmSizes& sizes);

  [[nodiscard]] std::uint32_t leaves() const noexcept { return static_cast<std::uint32_t>(parts.size()); }
  [[nodiscard]] LeafInterval whole() const noexcept { return {0, leaves() - 1}; }
  [[nodiscard]] std::uint32_t home(std::uint32_t base) const noexcept {
    return (base - Assembly::kFirstBase) * leaves() / Assembly::kBases;
  }
  [[nodiscard]] LeafInterval interval(std::uint32_t assembly) const noexcept;
  /// A part that an assembly may link to, near its home.
  [[nodiscard]] std::uint32_t part_near(std::uint32_t base, runtime::Random& random) const noexcept;

  // Only for the holder of the changed data: of both ends, of the subtree, of everything.
  bool link(std::uint32_t base, std::uint32_t part) noexcept;
  bool unlink(std::uint32_t base, std::uint32_t part) noexcept;
  void create_base(std::uint32_t base, const std::array<std::uint32_t, Assembly::kParts>& parts) noexcept;
  void remove_base(std::uint32_t base) noexcept;
  void create_part(std::uint32_t part, runtime::Random& random);
  void remove_part(std::uint32_t part);
  void change_date(std::uint32_t atomic_part, std::uint32_t date);

  /// Whether all redundant data agree. Only while no thread writes.
  [[nodiscard]] bool consistent() const;
  [[nodiscard]] std::uint64_t witnessed() const noexcept;  ///< data written since the beginning

  const StmSizes sizes;
  std::vector<CompositePart> parts;
  std::vector<Assembly> assemblies;
  std::string manual;
  Witness manual_witness;
  std::vector<std::vector<std::uint32_t>> by_date;  ///< atomic parts, numbered through
  Witness index_witness;
};

}  // namespace mxkv::bench
