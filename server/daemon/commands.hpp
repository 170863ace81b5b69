// What mxkvd can be asked to tell instead of serving: the machine, the configuration, whether a file fits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "config/load.hpp"

namespace mxkv::server {

/// `mxkvd topology`: the machine, or the one that `topology` names.
struct TopologyCommand {
  enum class form : std::uint8_t { table, yaml, json };
  form how = form::table;
  std::string topology;  ///< an XML file or a synthetic description, both of hwloc; empty: this machine
};

/// `mxkvd check FILE`: whether a file is right and fits.
struct CheckCommand {
  std::filesystem::path file;
  std::string topology;  ///< as above
};

/// `mxkvd print-config`: every key, its value and who set it.
struct PrintConfigCommand {
  enum class which : std::uint8_t { given, effective, defaults };
  which values = which::given;
  config::DaemonOptions options;
};

/// `mxkvd hash-password`: the hash of a password, for the file of users.
struct HashPasswordCommand {};

/// Each writes its answer to standard output, or what is wrong to standard error, and returns the exit code.
/// Thread-safety: the main thread.
[[nodiscard]] int run_command(const TopologyCommand& command);
[[nodiscard]] int run_command(const CheckCommand& command);
[[nodiscard]] int run_command(const PrintConfigCommand& command);
[[nodiscard]] int run_command(const HashPasswordCommand& command);

/// All that is wrong with what was read; what does not fit this machine too, as far as one can tell.
/// Thread-safety: the main thread.
[[nodiscard]] runtime::Error everything_wrong(config::Loaded loaded);

}  // namespace mxkv::server
