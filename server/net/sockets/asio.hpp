// The only place that includes Boost.Asio; for the sources of this folder, never for its public headers.
//
// It is compiled once (asio.cpp). Each worker has one io_context, with concrete executors: no other thread
// touches it. The path of a request does not go through Asio (socket_events.hpp).
#pragma once

#ifndef BOOST_ASIO_SEPARATE_COMPILATION
#define BOOST_ASIO_SEPARATE_COMPILATION
#endif
#ifndef BOOST_ASIO_NO_DEPRECATED
#define BOOST_ASIO_NO_DEPRECATED
#endif

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

namespace mxkv::server {

namespace asio = boost::asio;

using Executor = asio::io_context::executor_type;
using Descriptor = asio::posix::basic_stream_descriptor<Executor>;
using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                         asio::wait_traits<std::chrono::steady_clock>, Executor>;

}  // namespace mxkv::server
