# Read by cpack once it knows which kind of package it makes: what goes into it.
if(CPACK_GENERATOR STREQUAL "RPM")
  set(CPACK_COMPONENTS_ALL program system_rpm)
  set(CPACK_STRIP_FILES ON)
else()
  set(CPACK_COMPONENTS_ALL program system)
endif()
