#include "server/net/asio.hpp"

#include <boost/asio/impl/src.hpp>
