#include "server/daemon/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace mxkv::server {

namespace {

spdlog::level::level_enum level_of(config::log_level level) {
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

spdlog::sink_ptr make_sink(const config::LogOptions& options) {
  if (options.file.empty()) {
    return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  }
  return std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file);
}

}  // namespace

struct Log::Sink {
  spdlog::logger logger;
};

Log::Log(const config::LogOptions& options)
    : sink_(std::make_unique<Sink>(Sink{spdlog::logger{"mxkvd", make_sink(options)}})) {
  sink_->logger.set_level(level_of(options.level));
  sink_->logger.set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v");
  sink_->logger.flush_on(spdlog::level::info);
}

Log::~Log() = default;

void Log::info(std::string_view text) {
  sink_->logger.info(text);
}
void Log::warning(std::string_view text) {
  sink_->logger.warn(text);
}
void Log::error(std::string_view text) {
  sink_->logger.error(text);
}

}  // namespace mxkv::server
