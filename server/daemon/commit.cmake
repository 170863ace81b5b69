# Writes FILE with the commit that SOURCES are: of git, with `+changes` where the work tree differs, or GIVEN where
# there is none. Only when it says something else than before, so that nothing is compiled for nothing.
set(commit "${GIVEN}")
find_program(GIT git)
if(GIT AND EXISTS ${SOURCES}/.git)
  # Whoever the work tree belongs to: it is only read.
  set(git ${GIT} -c safe.directory=* -C ${SOURCES})
  execute_process(COMMAND ${git} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(commit ${found})
    execute_process(COMMAND ${git} diff --quiet HEAD -- ERROR_QUIET RESULT_VARIABLE differs)
    if(differs)
      string(APPEND commit "+changes")
    endif()
  endif()
endif()
if(commit STREQUAL "")
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${FILE} CONTENT [[
// Made by commit.cmake.
#pragma once
#define MXKV_COMMIT "@commit@"
]] @ONLY)
