// Descriptors 0, 1 and 2 are open before a program opens anything else.
//
// A program may be started with its standard output closed. The system gives the lowest free number to the next
// descriptor, so its first socket or file becomes descriptor 1, and the program's output goes there: to a server as
// commands, or into a file of data. main() therefore calls open_standard_streams() first; tests/checks/text_rules.py
// demands it.
#pragma once

namespace mxkv::runtime {

/// Gives each closed standard descriptor to /dev/null, opened for the opposite direction. Reading and writing then
/// fail with EBADF, as they do on a closed descriptor. Ends the process where that is not possible. Start-up only.
void open_standard_streams() noexcept;

}  // namespace mxkv::runtime
