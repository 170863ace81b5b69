#include "bench/figures/stm_module.hpp"

#include <algorithm>

namespace mxkv::bench {

StmModule::StmModule(const StmSizes& wanted)
    : sizes(wanted),
      parts(wanted.parts + wanted.parts / 10 + 1),
      assemblies(Assembly::kAll),
      manual(wanted.manual_bytes, 'I'),
      by_date(kDates) {
  runtime::Random random{1};
  // Parts that are absent at first lie between the others, as they do everywhere later.
  const std::uint32_t absent = leaves() - sizes.parts;
  for (std::uint32_t part = 0; part < leaves(); ++part) {
    if (std::uint64_t{part + 1} * absent / leaves() == std::uint64_t{part} * absent / leaves()) {
      create_part(part, random);
    }
  }
  for (std::uint32_t base = Assembly::kFirstBase; base < Assembly::kAll; ++base) {
    for (std::uint32_t i = 0; i < Assembly::kParts; ++i) {
      static_cast<void>(link(base, part_near(base, random)));
    }
  }
}

LeafInterval StmModule::interval(std::uint32_t assembly) const noexcept {
  std::uint32_t first = assembly;
  std::uint32_t last = assembly;
  while (!Assembly::base(first)) {
    first = first * Assembly::kFanOut + 1;
    last = last * Assembly::kFanOut + Assembly::kFanOut;
  }
  return {home(first), home(last)};
}

std::uint32_t StmModule::part_near(std::uint32_t base, runtime::Random& random) const noexcept {
  const std::uint32_t width = std::min(sizes.reach, leaves());
  const std::uint32_t middle = home(base);
  const std::uint32_t first = std::min(middle - std::min(middle, width / 2), leaves() - width);
  return first + static_cast<std::uint32_t>(random.below(width));
}

bool StmModule::link(std::uint32_t base, std::uint32_t part) noexcept {
  if (!assemblies[base].present || !parts[part].present || !parts[part].used_in.add(base)) {
    return false;
  }
  if (!assemblies[base].parts.add(part)) {
    static_cast<void>(parts[part].used_in.remove(base));
    return false;
  }
  return true;
}

bool StmModule::unlink(std::uint32_t base, std::uint32_t part) noexcept {
  return assemblies[base].parts.remove(part) && parts[part].used_in.remove(base);
}

void StmModule::create_base(std::uint32_t base,
                            const std::array<std::uint32_t, Assembly::kParts>& linked) noexcept {
  assemblies[base].present = true;
  for (const std::uint32_t part : linked) {
    static_cast<void>(link(base, part));
  }
}

void StmModule::remove_base(std::uint32_t base) noexcept {
  assemblies[base].parts.each([&](std::uint32_t part) { static_cast<void>(unlink(base, part)); });
  assemblies[base].present = false;
}

void StmModule::create_part(std::uint32_t part, runtime::Random& random) {
  CompositePart& created = parts[part];
  created.present = true;
  created.date = static_cast<std::uint32_t>(random.below(kDates));
  created.document.assign(sizes.document_bytes, 'I');
  created.parts.resize(sizes.atomic_parts);
  for (std::uint32_t i = 0; i < sizes.atomic_parts; ++i) {
    AtomicPart& atomic = created.parts[i];
    atomic.x = static_cast<std::uint32_t>(random.below(100'000));
    atomic.y = atomic.x + 1;
    atomic.date = static_cast<std::uint32_t>(random.below(kDates));
    by_date[atomic.date].push_back(part * sizes.atomic_parts + i);
    for (std::uint32_t& to : atomic.to) {
      to = static_cast<std::uint32_t>(random.below(sizes.atomic_parts));
    }
    atomic.to[0] = (i + 1) % sizes.atomic_parts;  // a ring: all are reached from any
  }
}

void StmModule::remove_part(std::uint32_t part) {
  CompositePart& removed = parts[part];
  removed.used_in.each([&](std::uint32_t base) { static_cast<void>(unlink(base, part)); });
  for (std::uint32_t i = 0; i < sizes.atomic_parts; ++i) {
    std::erase(by_date[removed.parts[i].date], part * sizes.atomic_parts + i);
  }
  removed.present = false;
}

void StmModule::change_date(std::uint32_t atomic_part, std::uint32_t date) {
  AtomicPart& atomic = parts[atomic_part / sizes.atomic_parts].parts[atomic_part % sizes.atomic_parts];
  std::erase(by_date[atomic.date], atomic_part);
  by_date[date].push_back(atomic_part);
  atomic.date = date;
}

bool StmModule::consistent() const {
  std::uint64_t links = 0;
  std::uint64_t users = 0;
  std::uint64_t indexed = 0;
  std::uint64_t atomic_parts = 0;
  bool right = true;
  for (const Assembly& assembly : assemblies) {
    assembly.parts.each([&](std::uint32_t part) {
      ++links;
      right = right && assembly.present && parts[part].present;
    });
  }
  for (const CompositePart& part : parts) {
    part.used_in.each([&](std::uint32_t /*base*/) { ++users; });
    atomic_parts += part.present ? sizes.atomic_parts : 0;
    for (const AtomicPart& atomic : part.parts) {
      right = right && (atomic.x + 1 == atomic.y || atomic.y + 1 == atomic.x);
    }
  }
  for (std::uint32_t date = 0; date < kDates; ++date) {
    indexed += by_date[date].size();
    for (const std::uint32_t number : by_date[date]) {
      right = right && parts[number / sizes.atomic_parts].parts[number % sizes.atomic_parts].date == date;
    }
  }
  return right && links == users && indexed == atomic_parts;
}

std::uint64_t StmModule::witnessed() const noexcept {
  std::uint64_t sum = manual_witness.writes() + index_witness.writes();
  for (const Assembly& assembly : assemblies) {
    sum += assembly.witness.writes();
  }
  for (const CompositePart& part : parts) {
    sum += part.witness.writes() + part.atomic_witness.writes() + part.document_witness.writes();
  }
  return sum;
}

}  // namespace mxkv::bench
