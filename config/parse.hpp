// Values as people write them: sizes, durations, CPU lists, addresses. Shared by flags, `--set` and YAML.
//
// Strict: no ambiguous unit, no extra text around a number, no value that overflows. Each error quotes the
// text and lists the allowed values. All functions: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::config {

/// "4096", "512MiB", "1GiB": bytes. Units: B, KiB, MiB, GiB, TiB.
[[nodiscard]] runtime::Result<std::size_t> parse_size(std::string_view text);
/// The size that was probably meant by another form of the unit: 2GiB for 2G, 2GB, 2gib. Empty: none.
[[nodiscard]] std::string meant_size(std::string_view text);

/// A size, or a percentage of some memory; both 0: detect.
struct MemoryAmount {
  std::size_t bytes = 0;
  std::uint32_t percent = 0;
};

/// A size, "75%" or "auto". Percent: whole, 1 to 100.
[[nodiscard]] runtime::Result<MemoryAmount> parse_memory(std::string_view text);

/// "2", "2-4", "2+" or "any".
[[nodiscard]] runtime::Result<CountRange> parse_count_range(std::string_view text);

/// "50ms", "60s", "5min", "1h": milliseconds. A unit is required.
[[nodiscard]] runtime::Result<std::uint32_t> parse_duration_ms(std::string_view text);

/// The duration that was probably meant by another form of the unit: 24h for 1d, 5min for 5m. Empty: none.
[[nodiscard]] std::string meant_duration(std::string_view text);

/// "0-3,8": CPUs in the order written, none twice. "all" is the empty list.
[[nodiscard]] runtime::Result<std::vector<runtime::PuId>> parse_cpu_list(std::string_view text);

/// "127.0.0.1:11211", "[::1]:11211", "0.0.0.0:0": an address in numbers and a port; "unix:/run/mxkv.sock":
/// the path of a unix socket.
[[nodiscard]] runtime::Result<ListenAddress> parse_listen(std::string_view text);

/// The path of a unix socket; the system allows 107 bytes.
[[nodiscard]] runtime::Result<std::string> parse_socket_path(std::string_view text);

/// "0660": permissions of a file, three octal digits with or without a 0 in front.
[[nodiscard]] runtime::Result<std::uint32_t> parse_file_mode(std::string_view text);

/// A decimal number of at most 64 bits, no sign.
[[nodiscard]] runtime::Result<std::uint64_t> parse_number(std::string_view text);

/// The shortest text that parses to the same value.
[[nodiscard]] std::string format_size(std::size_t bytes);
/// For people: a tenth of the largest unit that fits, such as 23.4GiB.
[[nodiscard]] std::string format_size_rounded(std::size_t bytes);
[[nodiscard]] std::string format_memory(const MemoryAmount& amount);
[[nodiscard]] std::string format_count_range(const CountRange& range);
[[nodiscard]] std::string format_duration_ms(std::uint32_t milliseconds);
[[nodiscard]] std::string format_cpu_list(const std::vector<runtime::PuId>& cpus);
[[nodiscard]] std::string format_file_mode(std::uint32_t mode);
/// A unix socket without its mode.
[[nodiscard]] std::string format_listen(const ListenAddress& listen);

}  // namespace mxkv::config
