// Views that are drawn repeatedly: in place on a terminal, else one below the other.
#pragma once

#include <cstdint>
#include <functional>

#include <CLI/App.hpp>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/session.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::cli {

struct LiveOptions {
  double interval = 1;  ///< seconds
  std::uint64_t rounds = UINT64_MAX;
};

/// --interval and --rounds.
void add_live_options(CLI::App& app, LiveOptions& options);

/// Waits an interval and calls `draw`, repeatedly, until Ctrl-C or the last round.
Outcome run_live(Session& session, const LiveOptions& options, const std::function<void(Session&)>& draw);

}  // namespace mxkv::cli
