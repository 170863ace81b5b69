// The only place that includes Boost.Beast and Asio's TLS; for the sources of this folder, never for its
// public headers. Compiled once (beast.cpp), with the Asio of server/net.
#pragma once

#include "server/net/sockets/asio.hpp"

#ifndef BOOST_BEAST_SEPARATE_COMPILATION
#define BOOST_BEAST_SEPARATE_COMPILATION
#endif

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message_generator.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

namespace mxkv::server {

namespace beast = boost::beast;
namespace http = boost::beast::http;

}  // namespace mxkv::server
