// Writes requests as text again, so that a server can forward them to another one. The text parses to the
// same request, so the other server's reply is byte for byte the reply that the client is owed.
//
// The text never has noreply, because the forwarding server has to know when the request was done.
#pragma once

#include <cstdint>
#include <string>

#include "protocol/point_request.hpp"

namespace mxkv::protocol {

/// The value's terms in the line of a storage command.
struct ValueTerms {
  std::uint32_t flags = 0;
  std::int64_t exptime = 0;  ///< of classic commands; others have it in their flags
  std::uint64_t bytes = 0;
};

/// Appends the line of a text request for one key. The caller appends a storage command's value with its CR
/// LF. The line of get and gat has this key alone.
void write_point_line(std::string& out, const PointRequest& request, const ValueTerms& value = {});

/// Appends the line of scan, scans, pscan, pscans, mr, mc, mx or mt. A range that a cursor has cut stays cut.
void write_range_line(std::string& out, const Request& request);

}  // namespace mxkv::protocol
