#include "server/net/session_impl.hpp"
#include "server/net/store_session.hpp"

namespace mxkv::server {

template class BasicSession<StoreSessionHost>;

}  // namespace mxkv::server
