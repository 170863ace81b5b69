// One of STMBench7's operations under way: the steps that operations are made of. stm_operations.cpp composes
// the operations, and has the modifications of the structure.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bench/figures/stm_operations.hpp"

namespace mxkv::bench {

/// Each function returns whether it found its data.
class StmRun {
 public:
  StmRun(StmModule& module, const StmOperation& operation, Tally& tally) noexcept
      : module_(module), operation_(operation), tally_(tally), random_(operation.seed) {}

  bool run();

 private:
  [[nodiscard]] Assembly& assembly() const noexcept { return module_.assemblies[operation_.assembly]; }
  [[nodiscard]] CompositePart& part() const noexcept { return module_.parts[operation_.part]; }
  [[nodiscard]] bool holds(std::uint32_t leaf) const noexcept {
    return operation_.leaves.overlaps({leaf, leaf});
  }

  void read(const Assembly& read) noexcept {
    const Reading reading{read.witness, tally_};
    tally_.sum += read.date;
  }
  void write(Assembly& written) noexcept {
    const Writing writing{written.witness, tally_};
    written.date = (written.date + 1) % StmModule::kDates;
  }
  /// The assembly and all assemblies above it.
  void read_up(std::uint32_t i) noexcept {
    for (; i != 0; i = Assembly::parent(i)) {
      read(module_.assemblies[i]);
    }
    read(module_.assemblies[0]);
  }
  void read(AtomicPart& atomic) noexcept {
    tally_.sum += atomic.x + atomic.y;
    tally_.disturbed += atomic.x + 1 == atomic.y || atomic.y + 1 == atomic.x ? 0 : 1;
  }

  /// Walks from the root to the part. Returns false if the way has changed.
  bool path() noexcept {
    if (operation_.part >= module_.leaves() || !assembly().present) {
      return false;
    }
    bool linked = false;
    assembly().parts.each([&](std::uint32_t part) { linked = linked || part == operation_.part; });
    if (linked) {
      read_up(operation_.assembly);
    }
    return linked;
  }
  /// Calls act(atomic part) for one atomic part of a composite part, or for all that it leads to.
  template <class Act>
  void traverse(CompositePart& in, bool all, const Act& act) {
    auto at = static_cast<std::uint32_t>(random_.below(in.parts.size()));
    if (!all) {
      act(in.parts[at]);
      return;
    }
    std::vector<bool> seen(in.parts.size(), false);
    std::vector<std::uint32_t> open{at};
    while (!open.empty()) {
      at = open.back();
      open.pop_back();
      if (!seen[at]) {
        seen[at] = true;
        act(in.parts[at]);
        open.insert(open.end(), in.parts[at].to.begin(), in.parts[at].to.end());
      }
    }
  }
  bool read_atomic(bool all) {
    if (!path()) {
      return false;
    }
    const Reading reading{part().atomic_witness, tally_};
    traverse(part(), all, [this](AtomicPart& atomic) { read(atomic); });
    return true;
  }
  bool write_atomic(bool all) {
    if (!path()) {
      return false;
    }
    const Writing writing{part().atomic_witness, tally_};
    traverse(part(), all, [](AtomicPart& atomic) { std::swap(atomic.x, atomic.y); });
    return true;
  }
  bool document(bool writes) {
    if (!path()) {
      return false;
    }
    if (writes) {
      const Writing writing{part().document_witness, tally_};
      change_text(part().document);
    } else {
      const Reading reading{part().document_witness, tally_};
      count_text(part().document);
    }
    return true;
  }
  void count_text(const std::string& text) {
    tally_.sum += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), 'I'));
  }
  static void change_text(std::string& text) {
    const char to = text.front() == 'I' ? 'i' : 'I';
    std::replace(text.begin(), text.end(), text.front(), to);
  }
  bool users(bool writes) {
    const bool found = part().present;
    part().used_in.each([&](std::uint32_t base) {
      if (!writes && holds(module_.home(base))) {
        read_up(base);
      } else if (writes) {
        for (std::uint32_t i = base; i != 0; i = Assembly::parent(i)) {
          write(module_.assemblies[i]);
        }
      }
    });
    return found;
  }
  bool documents_users() {
    for (int i = 0; i < 100; ++i) {
      const CompositePart& titled = module_.parts[random_.below(module_.leaves())];
      titled.used_in.each([this](std::uint32_t base) { read(module_.assemblies[base]); });
    }
    return true;
  }
  bool newer_parts() {
    for (std::uint32_t base = Assembly::kFirstBase; base < Assembly::kAll; ++base) {
      const Assembly& user = module_.assemblies[base];
      const Reading reading{user.witness, tally_};
      user.parts.each(
          [&](std::uint32_t part) { tally_.sum += module_.parts[part].date > user.date ? 1 : 0; });
    }
    return true;
  }

  /// Ten atomic parts by their numbers; act(composite part, number).
  template <class Act>
  bool ten(const Act& act) {
    bool found = false;
    for (int i = 0; i < 10; ++i) {
      const auto in = static_cast<std::uint32_t>(random_.below(module_.leaves()));
      if (module_.parts[in].present) {
        found = true;
        act(module_.parts[in],
            in * module_.sizes.atomic_parts + operation_.part % module_.sizes.atomic_parts);
      }
    }
    return found;
  }
  [[nodiscard]] AtomicPart& atomic(std::uint32_t number) const noexcept {
    return module_.parts[number / module_.sizes.atomic_parts].parts[number % module_.sizes.atomic_parts];
  }
  bool read_dates(std::uint32_t dates) {
    const Reading reading{module_.index_witness, tally_};
    each_of_dates(dates, [this](AtomicPart& found) { read(found); });
    return true;
  }
  template <class Act>
  void each_of_dates(std::uint32_t dates, const Act& act) {
    const auto first = static_cast<std::uint32_t>(random_.below(StmModule::kDates - dates));
    for (std::uint32_t date = first; date < first + dates; ++date) {
      for (const std::uint32_t number : module_.by_date[date]) {
        act(atomic(number));
      }
    }
  }
  bool write_dates() {
    const Writing writing{module_.index_witness, tally_};
    each_of_dates(StmModule::kDates / 100, [](AtomicPart& found) { std::swap(found.x, found.y); });
    return true;
  }
  bool change_dates() {
    const Writing writing{module_.index_witness, tally_};
    return ten([this](CompositePart& /*in*/, std::uint32_t number) {
      module_.change_date(number, static_cast<std::uint32_t>(random_.below(StmModule::kDates)));
    });
  }
  bool siblings(bool writes) {
    if (!assembly().present) {
      return false;
    }
    const std::uint32_t first = Assembly::parent(operation_.assembly) * Assembly::kFanOut + 1;
    for (std::uint32_t i = first; i < first + Assembly::kFanOut; ++i) {
      if (writes) {
        write(module_.assemblies[i]);
      } else {
        read(module_.assemblies[i]);
      }
    }
    return true;
  }
  bool components(bool writes) {
    bool found = false;
    assembly().parts.each([&](std::uint32_t linked) {
      if (!holds(linked)) {
        return;
      }
      found = true;
      CompositePart& component = module_.parts[linked];
      if (writes) {
        const Writing writing{component.witness, tally_};
        component.date = (component.date + 1) % StmModule::kDates;
      } else {
        const Reading reading{component.witness, tally_};
        tally_.sum += component.date;
      }
    });
    return found;
  }
  bool modify();
  bool modify_parts();
  bool modify_subtree(bool creates);
  [[nodiscard]] bool only_child() const noexcept {
    const std::uint32_t first = Assembly::parent(operation_.assembly) * Assembly::kFanOut + 1;
    const auto begin = module_.assemblies.begin() + first;
    return std::count_if(begin, begin + Assembly::kFanOut, [](const Assembly& a) { return a.present; }) == 1;
  }

  StmModule& module_;
  const StmOperation& operation_;
  Tally& tally_;
  runtime::Random random_;
};

}  // namespace mxkv::bench
