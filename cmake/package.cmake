# cpack, in the build folder: makes a .deb, which names its dependencies, and a .tar.zst of the same
# tree.
set(CPACK_PACKAGE_NAME acid)
set(CPACK_PACKAGE_CONTACT "The maintainers of acid")
set(CPACK_PACKAGE_VENDOR "acid")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "laboratory for asynchronous decentralised training")
set(CPACK_PACKAGE_DESCRIPTION "One recipe trains every algorithm in it, at every setting and seed, \
on any graph of workers, and compares what came of it: simulated, on threads, or under MPI.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_GENERATOR TZST)
set(CPACK_PACKAGE_FILE_NAME acid-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})

find_program(ACID_SHLIBDEPS dpkg-shlibdeps)
if(ACID_SHLIBDEPS)
  list(PREPEND CPACK_GENERATOR DEB)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  # A LibTorch that came without a package is found, but not named as a dependency.
  if(ACID_WITH_TORCH)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${Torch_DIR}/../../../lib)
  endif()
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openmpi-bin)
  set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
endif()
include(CPack)
