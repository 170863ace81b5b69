// The parts of a session, which has them by value. An intake of lines or packets gets them all.
#pragma once

#include "server/net/session/batch_intake.hpp"
#include "server/net/session/launcher.hpp"
#include "server/net/session/login_dialog.hpp"
#include "server/net/session/request_meter.hpp"
#include "server/net/session/session_core.hpp"
#include "server/net/session/streams.hpp"
#include "server/net/session/value_intake.hpp"
#include "server/net/session/watches.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only.
struct SessionParts {
  SessionParts(SessionHost& host, ConnectionOwner& owner) : core(host, owner) {}

  SessionCore core;
  RequestMeter meter;
  Launcher launcher;
  ValueIntake values;
  BatchIntake batch;
  LoginDialog login;
  Streams streams;
  Watches watches;
};

}  // namespace mxkv::server
