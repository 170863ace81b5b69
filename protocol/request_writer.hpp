// Requests as text again: for who hands them on to another server. What is written parses to the same request, so
// that its reply is the very bytes that the client is owed.
//
// It never has noreply: whoever hands a request on has to know when it was done.
#pragma once

#include <cstdint>
#include <string>

#include "protocol/point_request.hpp"

namespace mxkv::protocol {

/// What a storage command's line says of its value.
struct ValueTerms {
  std::uint32_t flags = 0;
  std::int64_t exptime = 0;  ///< of classic commands; of others it is among their flags
  std::uint64_t bytes = 0;
};

/// Appends the line of a request for one key that came as text; a storage command's value is to follow, with its
/// CR LF. Of get and gat it is the line of this key alone.
void write_point_line(std::string& out, const PointRequest& request, const ValueTerms& value = {});

/// Appends the line of scan, scans, pscan, pscans, mr, mc, mx or mt. A range that a cursor has cut stays cut.
void write_range_line(std::string& out, const Request& request);

}  // namespace mxkv::protocol
