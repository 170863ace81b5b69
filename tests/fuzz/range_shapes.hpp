// Which replies ranges may get, and the flags that they share with other meta replies. For reply_shapes.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/owed.hpp"
#include "tests/fuzz/reply_reader.hpp"

namespace mxkv::fuzz {

/// The flags behind a meta code: the wanted ones that `shows` has, in their order; k and O with the sent
/// values. Returns the key, if the reply has it.
std::optional<std::string> meta_flags(Reader& in, const Owed& owed, std::vector<std::string_view> words,
                                      std::string_view shows, std::string_view marks);

/// scan scans pscan pscans.
void classic_range(Reader& in, const Owed& owed);
/// The places where a reply of mr may end: with EN, or silently when it is quiet, behind any of its items,
/// since the next bytes may look like an item.
void meta_range(Reader in, const Owed& owed, std::vector<std::size_t>& ends);
/// mc.
void meta_count(Reader& in, const Owed& owed);
/// mx mt: HD A<keys> [O<opaque>]; a cursor only where it went page by page.
void changed_range(Reader& in, const Owed& owed);

}  // namespace mxkv::fuzz
