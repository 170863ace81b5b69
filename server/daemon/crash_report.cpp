#include "server/daemon/crash_report.hpp"

#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "server/daemon/about.hpp"

namespace mxkv::server {

namespace {

constexpr std::size_t kMostModules = 64;
constexpr std::size_t kMostBuildId = 64;  // in hex; a SHA-1 has 40 digits
constexpr int kMostFrames = 64;
constexpr std::size_t kMostPath = 4096;

struct Named {
  int number;
  std::string_view name;
};
constexpr std::array kFaults{Named{SIGSEGV, "SIGSEGV"}, Named{SIGBUS, "SIGBUS"}, Named{SIGILL, "SIGILL"},
                             Named{SIGFPE, "SIGFPE"}, Named{SIGABRT, "SIGABRT"}};

/// The program, or a library loaded at the start.
struct Module {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uintptr_t base = 0;
  std::array<char, 64> name{};
};

/// Everything that the handler needs, prepared before. A handler has no arguments for it, so this is the one
/// global.
struct Prepared {
  std::array<Module, kMostModules> modules;
  std::size_t module_count = 0;
  std::array<char, kMostBuildId + 1> build_id{};
  std::array<char, 256> program{};
  std::array<char, kMostPath> file{};
  std::array<std::byte, std::size_t{64} << 10U> stack;  ///< of the handler, in the main thread
  std::atomic<bool> reporting{false};
};
Prepared prepared;

template <std::size_t Size>
void keep(std::string_view text, std::array<char, Size>& place) {
  const std::size_t length = std::min(text.size(), Size - 1);
  std::copy_n(text.begin(), length, place.begin());
  place[length] = '\0';
}

/// The text of one report, without allocating.
class Lines {
 public:
  Lines& operator<<(std::string_view text) {
    const std::size_t length = std::min(text.size(), text_.size() - size_);
    std::copy_n(text.begin(), length, text_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += length;
    return *this;
  }
  Lines& decimal(std::uint64_t number) { return digits(number, 10); }
  Lines& hex(std::uint64_t number) { return *this << "0x", digits(number, 16); }

  void write_to(int descriptor) const {
    std::string_view rest{text_.data(), size_};
    while (!rest.empty()) {
      const ssize_t written = ::write(descriptor, rest.data(), rest.size());
      if (written <= 0) {
        return;
      }
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
  }

 private:
  Lines& digits(std::uint64_t number, std::uint64_t radix) {
    std::array<char, 20> place;
    std::size_t begin = place.size();
    do {
      place[--begin] = "0123456789abcdef"[number % radix];
      number /= radix;
    } while (number != 0);
    return *this << std::string_view{place.data() + begin, place.size() - begin};
  }

  std::array<char, 8192> text_;
  std::size_t size_ = 0;
};

void add_place(Lines& lines, std::uintptr_t address) {
  for (const Module& module : std::span{prepared.modules}.first(prepared.module_count)) {
    if (address >= module.begin && address < module.end) {
      lines << module.name.data() << "+";
      lines.hex(address - module.base);
      return;
    }
  }
  lines.hex(address);
}

std::string_view name_of(int number) {
  const auto* found = std::ranges::find(kFaults, number, &Named::number);
  return found == kFaults.end() ? std::string_view{"a signal"} : found->name;
}

void describe(Lines& lines, int number, const siginfo_t& info) {
  std::array<char, 16> thread{};
  prctl(PR_GET_NAME, thread.data());
  lines << "mxkvd: died of " << name_of(number);
  if (info.si_code <= 0) {
    if (number != SIGABRT) {
      lines << ", sent by process ";
      lines.decimal(static_cast<std::uint64_t>(info.si_pid));
    }
  } else {
    lines << " at address ";
    lines.hex(reinterpret_cast<std::uintptr_t>(info.si_addr));
  }
  lines << ", thread " << std::string_view{thread.data()} << "\n";
  lines << "mxkvd: " << prepared.program.data() << ", build id " << prepared.build_id.data() << "\n";
}

void add_stack(Lines& lines) {
  std::array<void*, kMostFrames> frames{};
  const int count = backtrace(frames.data(), kMostFrames);
  for (int i = 0; i < count; ++i) {
    lines << "mxkvd:   ";
    add_place(lines, reinterpret_cast<std::uintptr_t>(frames[static_cast<std::size_t>(i)]));
    lines << "\n";
  }
  lines << "mxkvd: to name these addresses: addr2line -Cfipe FILE ADDRESS.., where FILE is the program with "
           "this build id, or its debug symbols\n";
}

void report(int number, siginfo_t* info, void* /*context*/) {
  // A thread that faults while another one reports waits for the end of the process.
  if (prepared.reporting.exchange(true, std::memory_order_acq_rel)) {
    for (;;) {
      pause();
    }
  }
  Lines lines;
  describe(lines, number, *info);
  add_stack(lines);
  lines.write_to(STDERR_FILENO);
  if (prepared.file[0] != '\0') {
    const int log = ::open(prepared.file.data(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (log >= 0) {
      lines.write_to(log);
    }
  }
  // The handler is reset by now (SA_RESETHAND): a fault is repeated where it was, and then ends the process.
  if (info->si_code <= 0) {
    raise(number);
  }
}

void take_build_id(const dl_phdr_info& info, const ElfW(Phdr) & header) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto* at = reinterpret_cast<const std::byte*>(info.dlpi_addr + header.p_vaddr);
  const auto* end = at + header.p_memsz;
  const auto rounded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const std::byte* name = at + sizeof note;
    const std::byte* text = name + rounded(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      for (std::size_t i = 0; i < std::min<std::size_t>(note.n_descsz, kMostBuildId / 2); ++i) {
        const auto byte = std::to_integer<std::size_t>(text[i]);
        prepared.build_id[2 * i] = kHex[byte / 16];
        prepared.build_id[2 * i + 1] = kHex[byte % 16];
      }
      return;
    }
    at = text + rounded(note.n_descsz);
  }
}

// The first module is the program itself.
int take_module(dl_phdr_info* info, std::size_t /*size*/, void* /*data*/) {
  if (prepared.module_count == kMostModules) {
    return 1;
  }
  const bool program = prepared.module_count == 0;
  Module& module = prepared.modules[prepared.module_count++];
  const std::string_view path = program ? "mxkvd" : info->dlpi_name;
  keep(path.substr(path.rfind('/') + 1), module.name);
  module.base = info->dlpi_addr;
  module.begin = UINTPTR_MAX;
  for (const ElfW(Phdr) & header : std::span{info->dlpi_phdr, info->dlpi_phnum}) {
    if (header.p_type == PT_LOAD) {
      module.begin = std::min<std::uintptr_t>(module.begin, module.base + header.p_vaddr);
      module.end = std::max<std::uintptr_t>(module.end, module.base + header.p_vaddr + header.p_memsz);
    } else if (header.p_type == PT_NOTE && program && prepared.build_id[0] == '\0') {
      take_build_id(*info, header);
    }
  }
  return 0;
}

void look_at_modules() {
  if (prepared.module_count == 0) {
    dl_iterate_phdr(take_module, nullptr);
  }
}

}  // namespace

std::string build_id() {
  look_at_modules();
  return prepared.build_id.data();
}

void report_crashes() {
  if (sizeof MXKV_SANITIZERS > 1) {
    return;
  }
  look_at_modules();
  keep(program_text(), prepared.program);
  std::array<void*, 1> first{};
  backtrace(first.data(), 1);  // loads libraries that it could not load in a handler
  stack_t stack{};
  stack.ss_sp = prepared.stack.data();
  stack.ss_size = prepared.stack.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_sigaction = report;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND);
  for (const Named& fault : kFaults) {
    sigaction(fault.number, &action, nullptr);
  }
}

void report_crashes_also_to(const std::string& file) {
  keep(file, prepared.file);
}

}  // namespace mxkv::server
