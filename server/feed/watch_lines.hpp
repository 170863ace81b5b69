// Writes the lines that tell of changes (protocol/PROTOCOL.md, "Watching ranges").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/feed/change_source.hpp"
#include "server/feed/watch_form.hpp"

namespace mxkv::server {

/// The kind of a record, as a bit of `told`; 0: no watch wants it.
[[nodiscard]] std::uint8_t kind_of(const Record& record) noexcept;
/// The order of a record: it sorts the records of a key.
[[nodiscard]] std::uint64_t order_of(const Record& record) noexcept;
/// The key of a record; empty: it is of a range.
[[nodiscard]] std::string_view key_of(const Record& record) noexcept;
/// The keys of a record of a range.
[[nodiscard]] KeySpan span_of(const Record& record);

/// Appends one line. A record of a range is cut to the span of the form, which it meets. `now_us`: the steady time, from
/// which times to live count. `value_bytes`: larger values are left out. Thread-safety: any thread.
void write_change(std::string& out, const ChangeRecord& change, const WatchForm& form, std::uint64_t now_us,
                  std::size_t value_bytes);
/// Appends the line that says that the next `lines` lines are one batch.
void write_batch(std::string& out, std::size_t lines);

}  // namespace mxkv::server
