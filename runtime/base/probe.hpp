// Places that can be watched from outside while the server runs: USDT probes, by bpftrace, perf or SystemTap.
//
// A probe is one nop, and a note in the program's file that says where its arguments are; its arguments are
// values that are at hand. A tracer that attaches has the kernel replace the nop. A build without Debian's
// systemtap-sdt-dev, or with -DMXKV_PROBES=OFF, has no probes. server/OPERATING.md has a table of all, which a test compares with the
// program.
//
// Thread-safety: any thread.
#pragma once

#if __has_include(<sys/sdt.h>) && !defined(MXKV_NO_PROBES)
#include <sys/sdt.h>
#define MXKV_PROBE1(name, one) STAP_PROBE1(mxkv, name, one)
#define MXKV_PROBE2(name, one, two) STAP_PROBE2(mxkv, name, one, two)
#define MXKV_PROBE3(name, one, two, three) STAP_PROBE3(mxkv, name, one, two, three)
#else
#define MXKV_PROBE1(name, one) static_cast<void>(one)
#define MXKV_PROBE2(name, one, two) (static_cast<void>(one), static_cast<void>(two))
#define MXKV_PROBE3(name, one, two, three) \
  (static_cast<void>(one), static_cast<void>(two), static_cast<void>(three))
#endif
