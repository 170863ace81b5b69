# Writes FILE with the commit of SOURCES: from git, with `+changes` if the work tree differs, or else GIVEN.
# Leaves FILE alone if nothing has changed, so that nothing is recompiled.
set(commit "${GIVEN}")
find_program(GIT git)
if(GIT AND EXISTS ${SOURCES}/.git)
  # The work tree may belong to any user: git only reads it.
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
