#include "server/store/range/flush_task.hpp"

MXKV_TASK_CLASS(, mxkv::server::FlushTask);
