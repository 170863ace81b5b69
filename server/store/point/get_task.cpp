#include "server/store/point/get_task.hpp"

MXKV_TASK_CLASS(, mxkv::server::GetTask);
