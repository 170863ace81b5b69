# For CMAKE_TOOLCHAIN_FILE: builds for arm64 on a Debian of another kind, with its libraries by multi-arch.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
# Programs run under this emulator, when ctest asks them for their tests and when it runs them.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
