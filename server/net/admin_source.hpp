// Where sessions send what does not concern keys: the seam between net/ and those that know the whole server.
#pragma once

#include <string>

#include "protocol/request.hpp"

namespace mxkv::server {

/// `run(context, request)` carries out stats, verbosity, cache_memlimit, shutdown or debugtime and returns
/// the whole reply. Thread-safety: called on any worker.
struct AdminSource {
  void* context = nullptr;
  std::string (*run)(void* context, const protocol::Request& request) = nullptr;
};

}  // namespace mxkv::server
