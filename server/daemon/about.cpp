#include "server/daemon/about.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "index/line_compare.hpp"
#include "server/daemon/commit.hpp"
#include "server/daemon/crash_report.hpp"

namespace mxkv::server {

namespace {

#ifdef __clang__
constexpr std::string_view kCompiler = "clang++ " __clang_version__;
#else
constexpr std::string_view kCompiler = "g++ " __VERSION__;
#endif

#if defined(__x86_64__)
constexpr std::string_view kArchitecture = "x86-64";
#elif defined(__aarch64__)
constexpr std::string_view kArchitecture = "arm64";
#else
constexpr std::string_view kArchitecture = "another architecture";
#endif

std::string cpu_features() {
  std::string found;
#ifdef __x86_64__
  const std::array features{std::pair{"sse4.2", __builtin_cpu_supports("sse4.2") != 0},
                            std::pair{"popcnt", __builtin_cpu_supports("popcnt") != 0},
                            std::pair{"avx2", __builtin_cpu_supports("avx2") != 0},
                            std::pair{"bmi2", __builtin_cpu_supports("bmi2") != 0},
                            std::pair{"avx512f", __builtin_cpu_supports("avx512f") != 0},
                            std::pair{"avx512bw", __builtin_cpu_supports("avx512bw") != 0}};
  for (const auto& [name, there] : features) {
    found += there ? std::string{found.empty() ? "" : " "} + name : "";
  }
#endif
  return found.empty() ? "none of those that it uses" : found;
}

std::string_view key_compare() {
  switch (index::line_compare::kVectors) {
    case index::line_compare::vectors::avx512:
      return "by AVX-512";
    case index::line_compare::vectors::avx2:
      return "by AVX2";
    case index::line_compare::vectors::none:
      break;
  }
#ifdef MXKV_VECTOR_COMPARE
  return "by words: this CPU has no AVX2, or is not to use it";
#else
  return "by words: this build has no vector instructions";
#endif
}

}  // namespace

std::string program_text() {
  return "mxkvd " MXKV_VERSION ", commit " MXKV_COMMIT;
}

std::string version_text() {
  std::string text = "mxkvd " MXKV_VERSION "\n";
  text.append("commit:    " MXKV_COMMIT ", build id ").append(build_id()).append("\n");
  text.append("build:     " MXKV_BUILD_TYPE ", ").append(kCompiler).append(", ").append(kArchitecture);
  if (sizeof MXKV_SANITIZERS > 1) {
    text.append(", sanitizers: " MXKV_SANITIZERS);
  }
  text.append("\nlibraries: " MXKV_LIBRARIES "\nparts:     " MXKV_PARTS "\n");
  text.append("CPU:       ").append(cpu_features()).append("; keys are compared ").append(key_compare());
  return text.append("\n");
}

std::string help_footer() {
  return "Flags win over --set, --set over the file, the file over the defaults.\n"
         "\n"
         "Examples:\n"
         "  mxkvd                                             127.0.0.1:11211, all CPUs, 3/4 of the memory\n"
         "  mxkvd --listen 0.0.0.0:11211 --memory 8GiB        all interfaces: anyone may read and write\n"
         "  mxkvd --listen unix:/run/mxkv.sock --workers 2    a unix socket only\n"
         "  mxkvd --config /etc/mxkv/mxkv.yaml --daemonize --pid-file /run/mxkvd.pid\n"
         "  mxkvd check mxkv.yaml                             is the file right, and does it fit this "
         "machine\n"
         "  mxkvd journal verify /var/lib/mxkv                is all that is stored there whole?\n"
         "\n"
         "Signals: SIGTERM, SIGINT and SIGUSR1 end it once all requests are answered, a second one at "
         "once;\n"
         "         SIGHUP reads the file again and opens the log anew.\n"
         "Exit codes: 0 ended in order, 1 the system refused something, 2 flags, file or data directory are "
         "wrong,\n"
         "            70 the disk failed and durability.on_failure is exit.\n"
         "Without durability.directory a restart loses the data. More: man mxkvd";
}

}  // namespace mxkv::server
