// The daemon's sessions: over its store and runtime. Instantiated once, in session.cpp.
#pragma once

#include "runtime/scheduler/worker.hpp"
#include "server/net/session.hpp"
#include "server/store/batch/batch.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

using StoreSessionHost = SessionHost<Store, ItemBuilder, Batch, runtime::Worker>;
using Session = BasicSession<StoreSessionHost>;

extern template class BasicSession<StoreSessionHost>;

}  // namespace mxkv::server
