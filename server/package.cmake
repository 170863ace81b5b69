# Installation and packages: `cmake --preset release`, build, then `cpack` in build/release, for Debian, or
# `cpack -G RPM`, for a system of RPM packages that it is built on.
#
# Component `program` is what `cmake --install` takes: it goes below the prefix. Component `system` has absolute
# places (the unit, /etc/mxkv) and is for the package, or for `cmake --install DIR --component system`; system_rpm
# is the same for RPM packages, which know no /lib, and whose user systemd-sysusers makes.
include(GNUInstallDirs)

set(programs mxkvd mxkv-ycsb mxkv-cli)
add_custom_target(installed_programs DEPENDS ${programs})  # all that an installation or a package needs
install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/mxkv RENAME copyright COMPONENT program)

# Documents, and files that they name, lie at the same paths below doc/mxkv as in the repository, so that links work.
file(GLOB guides RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
  server/guides/*.md server/probes/*.bt config/examples/*.yaml)
set(documents README.md bench/FIGURES.md config/mxkv.yaml protocol/PROTOCOL.md protocol/clients/cli/README.md
  server/CHANGELOG.md server/GLOSSARY.md server/OPERATING.md server/STATS.md server/admin/alerts.yaml
  server/admin/grafana.json server/architecture/cluster.svg server/architecture/server.svg ${guides})
file(REMOVE_RECURSE ${PROJECT_BINARY_DIR}/package/documents)
execute_process(
  COMMAND ${PROJECT_SOURCE_DIR}/server/make-documents ${PROJECT_BINARY_DIR}/package/documents ${documents}
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMAND_ERROR_IS_FATAL ANY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS server/make-documents ${documents})
install(DIRECTORY ${PROJECT_BINARY_DIR}/package/documents/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/mxkv
  COMPONENT program)

# A shell reads the file that is named after the program. Debian's zsh has a folder for packages.
foreach(program IN LISTS programs)
  install(FILES server/completions/mxkv.bash DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions
    RENAME ${program} COMPONENT program)
  install(FILES server/completions/mxkv.fish DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d
    RENAME ${program}.fish COMPONENT program)
endforeach()
install(FILES server/completions/_mxkv DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/vendor-completions
  COMPONENT system EXCLUDE_FROM_ALL)
install(FILES server/completions/_mxkv DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/site-functions
  COMPONENT system_rpm EXCLUDE_FROM_ALL)

# What the programs are made of, found out when they are there.
if(MXKV_HAS_SBOM)
  set(sbom ${PROJECT_BINARY_DIR}/package/mxkv.cdx.json)
  list(TRANSFORM programs REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE program_files)
  list(JOIN program_files " " program_files)
  install(CODE "execute_process(COMMAND ${PROJECT_SOURCE_DIR}/server/make-sbom ${PROJECT_VERSION} ${PROJECT_BINARY_DIR}
    ${program_files}
    OUTPUT_FILE ${sbom} COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
  install(FILES ${sbom} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/mxkv COMPONENT program)
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
foreach(page server/mxkvd.1 bench/mxkv-ycsb.1 protocol/clients/cli/mxkv-cli.1)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${page})
    get_filename_component(name ${page} NAME)
    mxkv_install_compressed(${PROJECT_SOURCE_DIR}/${page} ${name} ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
endforeach()

# Manual pages that are made from other documents: protocol, statistics, configuration.
if(MXKV_HAS_MANUAL)
  foreach(page "protocol;protocol/PROTOCOL.md;mxkv-protocol.7" "stats;server/STATS.md;mxkv-stats.7"
      "config;config/mxkv.yaml;mxkv.yaml.5")
    list(GET page 0 kind)
    list(GET page 1 document)
    list(GET page 2 name)
    execute_process(COMMAND ${PROJECT_SOURCE_DIR}/server/make-manual ${kind} ${document} ${PROJECT_VERSION}
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_FILE ${PROJECT_BINARY_DIR}/package/${name}
      COMMAND_ERROR_IS_FATAL ANY)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS server/make-manual ${document})
    string(REGEX MATCH "[0-9]$" section ${name})
    mxkv_install_compressed(${PROJECT_BINARY_DIR}/package/${name} ${name} ${CMAKE_INSTALL_MANDIR}/man${section})
  endforeach()
endif()

# CPack takes every file of an absolute place for configuration in RPM packages.
set(units server/systemd/mxkvd.service server/systemd/mxkvd.socket)
install(FILES ${units} DESTINATION /lib/systemd/system COMPONENT system EXCLUDE_FROM_ALL)
install(FILES ${units} DESTINATION lib/systemd/system COMPONENT system_rpm EXCLUDE_FROM_ALL)
install(FILES server/rpm/sysusers.conf DESTINATION lib/sysusers.d RENAME mxkv.conf
  COMPONENT system_rpm EXCLUDE_FROM_ALL)
# The packaged configuration stores the data, so that an upgrade of the package does not lose it.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS config/mxkv.yaml)
file(READ config/mxkv.yaml packaged_config)
foreach(change "every key with its default.|every key with its default, but durability.directory and sync."
    "  directory: none\n|  directory: /var/lib/mxkv\n" "  sync: commit\n|  sync: never\n")
  string(REPLACE "|" ";" change "${change}")
  list(GET change 0 from)
  list(GET change 1 to)
  string(FIND "${packaged_config}" "${from}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "config/mxkv.yaml: does not have \"${from}\", which the package changes")
  endif()
  string(REPLACE "${from}" "${to}" packaged_config "${packaged_config}")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/package/mxkv.yaml CONTENT "${packaged_config}" @ONLY)
foreach(component system system_rpm)
  install(FILES ${PROJECT_BINARY_DIR}/package/mxkv.yaml DESTINATION /etc/mxkv COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mxkv)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_COMPONENTS_ALL program system system_rpm)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/server/package-kind.cmake)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_SET_DESTDIR ON)  # for the absolute places
set(CPACK_INSTALL_PREFIX /usr)
# Strips the packaged programs. Their debug symbols, for cores and crash reports, are a second package, mxkv-dbgsym.
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)
set(CPACK_BUILD_SOURCE_DIRS ${PROJECT_SOURCE_DIR};${PROJECT_BINARY_DIR})
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "mxkv developers <maintainers@mxkv.invalid>")
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3, python3-matplotlib")  # mxkv-ycsb plot
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "ordered in-memory key-value server")
set(CPACK_PACKAGE_DESCRIPTION
"mxkvd keeps keys and values in memory, in order. It speaks memcached's text
and binary protocols, so that memcached's clients work, and adds range scans.

mxkv-ycsb is a load client for it, with the workloads of YCSB.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/server/debian/postinst ${PROJECT_SOURCE_DIR}/server/debian/prerm
  ${PROJECT_SOURCE_DIR}/server/debian/postrm ${PROJECT_SOURCE_DIR}/server/debian/conffiles)

set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELEASE 1)
set(CPACK_RPM_PACKAGE_LICENSE MIT)
set(CPACK_RPM_PACKAGE_GROUP "Applications/Databases")
set(CPACK_RPM_PACKAGE_VENDOR "mxkv developers")
set(CPACK_RPM_PACKAGE_REQUIRES_PRE shadow-utils)
set(CPACK_RPM_PRE_INSTALL_SCRIPT_FILE ${PROJECT_SOURCE_DIR}/server/rpm/pre)
set(CPACK_RPM_POST_INSTALL_SCRIPT_FILE ${PROJECT_SOURCE_DIR}/server/rpm/post)
set(CPACK_RPM_PRE_UNINSTALL_SCRIPT_FILE ${PROJECT_SOURCE_DIR}/server/rpm/preun)
set(CPACK_RPM_POST_UNINSTALL_SCRIPT_FILE ${PROJECT_SOURCE_DIR}/server/rpm/postun)
set(CPACK_RPM_USER_FILELIST "%config(noreplace) /etc/mxkv/mxkv.yaml")
# Folders that belong to others.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
  /usr/lib/systemd /usr/lib/systemd/system /usr/lib/sysusers.d /usr/share/man /usr/share/man/man1 /usr/share/man/man5
  /usr/share/man/man7 /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/fish
  /usr/share/fish/vendor_completions.d /usr/share/zsh /usr/share/zsh/site-functions)
include(CPack)
