#include "server/store/point/where_task.hpp"

MXKV_TASK_CLASS(, mxkv::server::WhereTask);
