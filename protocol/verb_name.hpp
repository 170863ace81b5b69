// What people call a command.
#pragma once

#include <string_view>

#include "protocol/point_request.hpp"

namespace mxkv::protocol {

/// The word that the text protocol has for it, never with a space: what comes behind the first word of a line where
/// that says more. Commands that have no effect here are `lru`. Thread-safety: any thread.
[[nodiscard]] constexpr std::string_view name_of(verb op) noexcept {
  switch (op) {
    case verb::add:
    case verb::append:
    case verb::cas:
    case verb::decr:
    case verb::gat:
    case verb::gats:
    case verb::get:
    case verb::gets:
    case verb::incr:
    case verb::meta_arithmetic:
    case verb::meta_debug:
    case verb::meta_delete:
    case verb::meta_get:
    case verb::meta_set:
    case verb::prepend:
    case verb::remove:
    case verb::replace:
    case verb::set:
    case verb::touch:
      return point_word(op).text;
    case verb::scan:
      return "scan";
    case verb::scans:
      return "scans";
    case verb::pscan:
      return "pscan";
    case verb::pscans:
      return "pscans";
    case verb::meta_range:
      return "mr";
    case verb::meta_count:
      return "mc";
    case verb::meta_range_delete:
      return "mx";
    case verb::meta_range_touch:
      return "mt";
    case verb::stats:
      return "stats";
    case verb::version:
      return "version";
    case verb::verbosity:
      return "verbosity";
    case verb::cache_memlimit:
      return "cache_memlimit";
    case verb::shutdown:
      return "shutdown";
    case verb::debugtime:
      return "debugtime";
    case verb::config_get:
    case verb::config_set:
      return "config";
    case verb::refresh_certs:
      return "refresh_certs";
    case verb::metadump:
      return "metadump";
    case verb::mgdump:
      return "mgdump";
    case verb::cachedump:
      return "cachedump";
    case verb::watch:
      return "watch";
    case verb::client:
      return "client";
    case verb::tune:
      return "lru";
    case verb::flush_all:
      return "flush_all";
    case verb::quit:
      return "quit";
    case verb::meta_batch:
      return "mb";
    case verb::meta_noop:
      return "mn";
  }
  return {};
}

}  // namespace mxkv::protocol
