# What is installed, and the Debian package: `cmake --preset release`, build, then `cpack` in build/release.
#
# Component `program` is what `cmake --install` takes: it goes below the prefix. Component `system` has absolute
# places (the unit, /etc/mxkv) and is for the package, or for `cmake --install DIR --component system`.
include(GNUInstallDirs)

install(TARGETS mxkvd mxkv-ycsb RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(FILES README.md protocol/PROTOCOL.md server/OPERATING.md server/CHANGELOG.md
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/mxkv COMPONENT program)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/mxkv RENAME copyright COMPONENT program)
if(EXISTS ${PROJECT_SOURCE_DIR}/config/examples)
  install(DIRECTORY config/examples DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/mxkv COMPONENT program)
endif()

# Debian wants these compressed, without the time of day in them.
find_program(MXKV_GZIP gzip)
function(mxkv_install_compressed source name destination)
  if(MXKV_GZIP)
    set(compressed ${PROJECT_BINARY_DIR}/package/${name}.gz)
    execute_process(COMMAND ${MXKV_GZIP} -9nc ${source} OUTPUT_FILE ${compressed} COMMAND_ERROR_IS_FATAL ANY)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    install(FILES ${compressed} DESTINATION ${destination} COMPONENT program)
  endif()
endfunction()
configure_file(server/debian/changelog.in package/changelog @ONLY)
mxkv_install_compressed(${PROJECT_BINARY_DIR}/package/changelog changelog.Debian
  ${CMAKE_INSTALL_DATAROOTDIR}/doc/mxkv)
foreach(page server/mxkvd.1 bench/mxkv-ycsb.1)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${page})
    get_filename_component(name ${page} NAME)
    mxkv_install_compressed(${PROJECT_SOURCE_DIR}/${page} ${name} ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
endforeach()

install(FILES server/systemd/mxkvd.service server/systemd/mxkvd.socket DESTINATION /lib/systemd/system
  COMPONENT system EXCLUDE_FROM_ALL)
# A package's upgrade is no reason to lose what is stored.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS config/mxkv.yaml)
file(READ config/mxkv.yaml packaged_config)
foreach(change "directory: none|directory: /var/lib/mxkv" "sync: commit|sync: never")
  string(REPLACE "|" ";" change "${change}")
  list(GET change 0 from)
  list(GET change 1 to)
  string(FIND "${packaged_config}" "\n  ${from}\n" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "config/mxkv.yaml: there is no line \"${from}\", which the package changes")
  endif()
  string(REPLACE "\n  ${from}\n" "\n  ${to}\n" packaged_config "${packaged_config}")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/package/mxkv.yaml CONTENT "${packaged_config}" @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/mxkv.yaml DESTINATION /etc/mxkv COMPONENT system EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mxkv)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_COMPONENTS_ALL program system)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_SET_DESTDIR ON)  # for the absolute places
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "mxkv developers <maintainers@mxkv.invalid>")
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS adduser)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "ordered in-memory key-value server")
set(CPACK_PACKAGE_DESCRIPTION
"mxkvd keeps keys and values in memory, in order. It speaks memcached's text
protocol, so that memcached's clients work, and adds range scans.

mxkv-ycsb is a load client for it, with the workloads of YCSB.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/server/debian/postinst ${PROJECT_SOURCE_DIR}/server/debian/prerm
  ${PROJECT_SOURCE_DIR}/server/debian/postrm ${PROJECT_SOURCE_DIR}/server/debian/conffiles)
include(CPack)
