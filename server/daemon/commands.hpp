// Commands that report instead of serving: about the machine, the configuration, and whether a file fits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "config/load.hpp"

namespace mxkv::server {

/// `mxkvd topology`: shows this machine, or the one that `topology` names.
struct TopologyCommand {
  enum class form : std::uint8_t { table, yaml, json };
  form how = form::table;
  std::string topology;  ///< hwloc's XML file or synthetic description; empty: this machine
};

/// `mxkvd check FILE`: checks a file, and whether it fits the machine.
struct CheckCommand {
  std::filesystem::path file;
  std::string topology;  ///< as above
};

/// `mxkvd print-config`: prints every key, its value and the value's origin.
struct PrintConfigCommand {
  enum class which : std::uint8_t { given, effective, defaults };
  which values = which::given;
  config::DaemonOptions options;
};

/// `mxkvd hash-password`: prints the hash of a password, for the file of users.
struct HashPasswordCommand {};

/// Each writes its output to standard output, or errors to standard error, and returns the exit code.
/// Thread-safety: the main thread.
[[nodiscard]] int run_command(const TopologyCommand& command);
[[nodiscard]] int run_command(const CheckCommand& command);
[[nodiscard]] int run_command(const PrintConfigCommand& command);
[[nodiscard]] int run_command(const HashPasswordCommand& command);

/// All errors of the loaded configuration, with those that show only on this machine, as far as they can be
/// found. Thread-safety: the main thread.
[[nodiscard]] runtime::Error everything_wrong(config::Loaded loaded);

}  // namespace mxkv::server
