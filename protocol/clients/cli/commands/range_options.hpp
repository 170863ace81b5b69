// The arguments that name a range: a prefix, or bounds. Shared by all commands on ranges.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "protocol/clients/cli/session.hpp"
#include "protocol/clients/cli/wire/request_text.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::cli {

struct RangeArguments {
  std::string prefix{};
  std::optional<std::string> from{};
  std::optional<std::string> to{};

  [[nodiscard]] Range range(const Session& session) const;
};

/// PREFIX or --from and --to; neither: all keys.
std::shared_ptr<RangeArguments> add_range(CLI::App& app);

}  // namespace mxkv::cli
