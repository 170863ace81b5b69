// Readers of a durable store's changes.
#pragma once

#include <memory>

#include "server/durability/durability.hpp"
#include "server/feed/journal_tail.hpp"

namespace mxkv::server {

/// A reader that begins with what comes. `durability` was started, and outlives it. Null until this process's tag is on
/// disk: the next process would not know a position that was given before. Any thread.
[[nodiscard]] std::unique_ptr<JournalTail> tail_of(Durability& durability);

}  // namespace mxkv::server
