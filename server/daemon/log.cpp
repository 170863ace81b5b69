#include "server/daemon/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <mutex>
#include <string>

#include "runtime/base/readable.hpp"
#include "server/daemon/log_text.hpp"
#include "server/daemon/rate_limit.hpp"

namespace mxkv::server {

namespace {

using spdlog::level::level_enum;

level_enum level_of(config::log_level level) {
  switch (level) {
    case config::log_level::trace:
      return spdlog::level::trace;
    case config::log_level::debug:
      return spdlog::level::debug;
    case config::log_level::info:
      return spdlog::level::info;
    case config::log_level::warning:
      return spdlog::level::warn;
    case config::log_level::error:
      return spdlog::level::err;
    case config::log_level::off:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

/// Another user's link could make this process write to any file that it may write. Links of root and of its
/// own user are followed: /dev/stderr is one.
std::string lack_of_trust(const std::string& file) {
  struct stat found{};
  const bool foreign = ::lstat(file.c_str(), &found) == 0 && S_ISLNK(found.st_mode) && found.st_uid != 0 &&
                       found.st_uid != ::geteuid();
  return foreign ? file + " is a symbolic link of user " + std::to_string(found.st_uid) +
                       ", and only links of root and of the server's user are followed"
                 : "";
}

/// spdlog alone would make missing folders, and follow any link.
spdlog::file_event_handlers careful_opening() {
  spdlog::file_event_handlers handlers;
  handlers.before_open = [](const std::string& file) {
    for (const std::string& lack : {lack_of_folder(file), lack_of_trust(file)}) {
      if (!lack.empty()) {
        throw spdlog::spdlog_ex{lack};
      }
    }
  };
  return handlers;
}

// Sinks without locks of their own: State's mutex is held around them.
spdlog::sink_ptr make_sink(const config::LogOptions& options) {
  if (options.file.empty()) {
    return std::make_shared<spdlog::sinks::stderr_sink_st>();
  }
  if (options.rotate_bytes == 0) {
    return std::make_shared<spdlog::sinks::basic_file_sink_st>(options.file, false, careful_opening());
  }
  return std::make_shared<spdlog::sinks::rotating_file_sink_st>(
      options.file, options.rotate_bytes, options.rotate_files, false, careful_opening());
}

std::uint64_t this_second() {
  return static_cast<std::uint64_t>(
      std::chrono::floor<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace

std::string lack_of_folder(const std::string& file) {
  std::filesystem::path folder = std::filesystem::path{file}.parent_path();
  if (folder.empty()) {
    folder = ".";
  }
  std::error_code unknown;  // if the folder cannot be looked at, opening the file decides
  const std::filesystem::file_status status = std::filesystem::status(folder, unknown);
  const bool missing = status.type() == std::filesystem::file_type::not_found ||
                       (std::filesystem::exists(status) && !std::filesystem::is_directory(status));
  return missing ? "the folder " + folder.string() + " does not exist" : "";
}

struct Log::State {
  explicit State(const config::LogOptions& options)
      : json(options.format == config::log_format::json),
        rate(options.rate),
        configured(level_of(options.level)),
        logger("mxkvd", make_sink(options)) {
    logger.set_level(configured);
    set_pattern();
    logger.flush_on(spdlog::level::trace);
  }

  // The message is escaped already; the rest of a line needs no escaping.
  void set_pattern() {
    logger.set_pattern(json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","process":%P,%v})"
                            : "%Y-%m-%d %H:%M:%S.%e%z %l %v");
  }
  void write(level_enum level, std::string_view text, const LogEvent& event = {}) {
    const std::scoped_lock lock{mutex};
    if (!logger.should_log(level)) {
      return;
    }
    const std::uint64_t second = this_second();
    note(rate.take_left_out(second));
    if (rate.allows(second)) {
      put(level, text, event);
    }
  }
  void note(std::uint64_t left_out) {
    if (left_out > 0) {
      put(spdlog::level::warn, std::to_string(left_out) + " lines were left out (log.rate: " +
                                   std::to_string(rate.rate()) + " a second)");
    }
  }
  void put(level_enum level, std::string_view text, const LogEvent& event = {}) {
    logger.log(level, spdlog::string_view_t{json ? json_members(text, event) : runtime::readable(text)});
  }

  mutable std::mutex mutex;  ///< guards all members; lines are rare
  bool json;
  RateLimit rate;
  level_enum configured;
  spdlog::logger logger;
};

Log::Log(const config::LogOptions& options) : state_(std::make_unique<State>(options)) {
  note_level();
}

Log::~Log() {
  state_->note(state_->rate.take_left_out());
}

void Log::debug(std::string_view text) {
  state_->write(spdlog::level::debug, text);
}
void Log::trace(std::string_view text) {
  state_->write(spdlog::level::trace, text);
}
void Log::note_level() {
  set_detail(state_->logger.should_log(spdlog::level::debug),
             state_->logger.should_log(spdlog::level::trace));
}
void Log::info(std::string_view text) {
  state_->write(spdlog::level::info, text);
}
void Log::warning(std::string_view text) {
  state_->write(spdlog::level::warn, text);
}
void Log::error(std::string_view text) {
  state_->write(spdlog::level::err, text);
}
void Log::write(config::log_level level, std::string_view text, const LogEvent& event) {
  state_->write(level_of(level), text, event);
}

std::string Log::reopen(const config::LogOptions& options) {
  const std::scoped_lock lock{state_->mutex};
  state_->rate.set_rate(options.rate);
  state_->configured = level_of(options.level);
  state_->logger.set_level(state_->configured);
  note_level();
  try {
    state_->logger.sinks().front() = make_sink(options);
    state_->json = options.format == config::log_format::json;
    state_->set_pattern();  // which belongs to the sink
  } catch (const spdlog::spdlog_ex& error) {
    return error.what();
  }
  return {};
}

std::string Log::lack_of(const config::LogOptions& options) {
  try {
    static_cast<void>(make_sink(options));
  } catch (const spdlog::spdlog_ex& error) {
    return error.what();
  }
  return {};
}

void Log::set_verbosity(std::uint64_t level) {
  const std::scoped_lock lock{state_->mutex};
  const level_enum wanted = level == 0   ? spdlog::level::off
                            : level == 1 ? spdlog::level::debug
                                         : spdlog::level::trace;
  state_->logger.set_level(std::min(wanted, state_->configured));
  note_level();
}

bool Log::owes_note() const {
  const std::scoped_lock lock{state_->mutex};
  return state_->rate.owes_note();
}

void Log::tell_of_dropped() {
  const std::scoped_lock lock{state_->mutex};
  state_->note(state_->rate.take_left_out(this_second()));
}

}  // namespace mxkv::server
