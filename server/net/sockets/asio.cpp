#include "server/net/sockets/asio.hpp"

#include <boost/asio/impl/src.hpp>
